/* test_worker.c - a worker that is made and not started: another one could not listen. Here, where store and
 * auth are no fakes. */
#include "worker/worker.h"

#include <criterion/criterion.h>

#include "auth/auth.h"
#include "base/buf.h"
#include "base/log.h"
#include "body/journals.h"
#include "config/config.h"
#include "run/service.h"
#include "store/store.h"

void __lsan_disable(void) __attribute__((weak));
void __lsan_enable(void) __attribute__((weak));

static struct hl_config *config;
static struct hl_journals journals;
static struct hl_limiter_seat *seats[1];
static struct hl_worker *workers[1];
static struct hl_service service = {.journals = &journals,
    .seats = seats,
    .workers = workers,
    .worker_count = HL_ARRAY_LEN(workers)};

static void begin(void)
{
    struct hl_buf problems, warnings;
    char why[256];
    char *variables[] = {"HOOKLINE_STORE=memory", "HOOKLINE_DATA_DIR=/nonexistent",
        "HOOKLINE_APP_URL=http://127.0.0.1:1", "HOOKLINE_LISTEN=127.0.0.1:0", NULL};
    hl_buf_init(&problems, 0);
    hl_buf_init(&warnings, 0);
    hl_log_setup(HL_LOG_ERROR, HL_LOG_PLAIN);
    cr_assert_eq(hl_config_load(&config, variables, &problems, &warnings), HL_OK);
    cr_assert_eq(config->auth, HL_AUTH_JWT, "the default");
    service.config = config;
    cr_assert_eq(hl_store_open(&service.store, config, why, sizeof(why)), HL_OK, "%s", why);
    cr_assert_eq(
        hl_auth_open(&service.auth, config, service.store, why, sizeof(why)), HL_OK, "%s", why);
    hl_journals_init(&journals, 1);
    hl_pool_group_init(&service.connections, true, 0);
}

static void end(void)
{
    hl_auth_stop(service.auth);
    hl_auth_free(service.auth);
    hl_store_close(service.store);
    hl_config_free(config);
}

TestSuite(worker, .init = begin, .fini = end, .timeout = 180);

Test(worker, that_never_ran_is_told_of_no_revocation)
{
    const struct hl_id account = {.b = {1}};
    char why[256];
    if (__lsan_disable) /* a loop that never ran is not closed: the process ends then */
        __lsan_disable();
    cr_assert_eq(hl_worker_new(&workers[0], &service, 0, why, sizeof(why)), HL_OK, "%s", why);
    if (__lsan_enable)
        __lsan_enable();
    hl_worker_free(workers[0]);
    hl_auth_revoke(service.auth, &account); /* whoever follows is looked at */
}
