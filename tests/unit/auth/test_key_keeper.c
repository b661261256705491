/* Who may ask the keeper of keys for a name that is not known. */
#include "auth/key_keeper.h"

#include <criterion/criterion.h>
#include <stdint.h>

#include "auth/checker.h"
#include "auth/registry.h"
#include "auth/seat.h"
#include "config/config.h"

static void wake(void *arg)
{
    (void)arg;
}

Test(key_keeper, takes_a_name_that_was_looked_for_among_older_keys)
{
    struct hl_config config = {.jwt_jwks_file = HL_STR("keys.json")};
    struct hl_registry registry = {.version = 2};
    struct hl_key_keeper keeper = {
        .config = &config, .registry = &registry, .asked_again_ms = UINT64_MAX};
    struct hl_jwt jwt = {0};
    struct hl_check *check = hl_check_new(HL_STR("token"), &jwt, NULL, 0);
    cr_assert(check);
    hl_mailbox_init(&keeper.mail, wake, NULL);
    cr_assert_not(hl_key_keeper_park(&keeper, check, 2), "it was tried just now");
    cr_assert(hl_key_keeper_park(&keeper, check, 1), "they may have come since");
    cr_assert_eq(hl_mailbox_take(&keeper.mail), &check->msg);
    hl_check_free(check);
}
