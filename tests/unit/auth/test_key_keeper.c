/* Who may ask the keeper of keys for a name that is not known. */
#include "auth/key_keeper.h"

#include <criterion/criterion.h>
#include <semaphore.h>
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

static void post(void *arg)
{
    sem_post(arg);
}

/* When the next name may be asked for, after one that was not among the keys of version `looked_at`. */
static uint64_t asked_again_after(uint64_t looked_at)
{
    struct hl_config config = {.jwt_jwks_file = HL_STR("/nowhere/keys.json")};
    struct hl_registry registry = {.version = 2};
    struct hl_key_keeper keeper = {.config = &config, .registry = &registry, .trust.fd = -1};
    struct hl_jwt jwt = {0};
    struct hl_check *check = hl_check_new(HL_STR("token"), &jwt, NULL, 0);
    struct hl_mailbox answers;
    sem_t answered;
    cr_assert(check);
    sem_init(&answered, 0, 0);
    hl_mailbox_init(&answers, post, &answered);
    check->reply_to = &answers;
    cr_assert_eq(hl_key_keeper_start(&keeper), 0);
    cr_assert(hl_key_keeper_park(&keeper, check, looked_at));
    sem_wait(&answered);
    hl_check_free(check);
    hl_key_keeper_stop(&keeper);
    hl_key_keeper_fini(&keeper);
    sem_destroy(&answered);
    return atomic_load(&keeper.asked_again_ms);
}

Test(key_keeper, asks_for_nothing_that_may_have_come_since)
{
    cr_assert_gt(asked_again_after(2), 0);
    cr_assert_eq(asked_again_after(1), 0, "a new name may be asked for at once");
}
