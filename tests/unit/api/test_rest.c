#include <criterion/criterion.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

#include "api/job_listing.h"
#include "api/rest.h"
#include "api/rest_call.h"
#include "auth/auth.h"
#include "auth/seat.h"
#include "base/clock.h"
#include "base/log.h"
#include "config/config.h"
#include "loop_fixture.h"
#include "store/accept.h"
#include "store/store.h"

static struct hl_config *config;
static struct hl_store *store;
static struct hl_auth *auth;
static struct hl_rest *rest;

static void begin(void)
{
    struct hl_buf problems, warnings;
    char why[256];
    char *variables[] = {"HOOKLINE_STORE=memory", "HOOKLINE_DATA_DIR=/nonexistent", NULL};
    hl_buf_init(&problems, 0);
    hl_buf_init(&warnings, 0);
    hl_log_setup(HL_LOG_ERROR, HL_LOG_PLAIN);
    cr_assert_eq(hl_config_load(&config, variables, &problems, &warnings), HL_OK);
    cr_assert_eq(hl_store_open(&store, config, why, sizeof(why)), HL_OK, "%s", why);
    cr_assert_eq(hl_auth_open(&auth, config, store, why, sizeof(why)), HL_OK, "%s", why);
    loop_begin();
    struct hl_rest_parts parts = {.config = config, .store = store, .auth = auth};
    cr_assert(rest = hl_rest_new(&loop, &parts));
    hl_rest_keep_loop(rest, true);
}

static void end(void)
{
    hl_auth_stop(auth);
    hl_store_close(store);
    hl_rest_close(rest);
    loop_end();
    hl_rest_free(rest);
    hl_auth_free(auth);
    hl_config_free(config);
}

TestSuite(rest, .init = begin, .fini = end, .timeout = 180);

static bool is_answered;
static struct hl_rest_calls *calls; /* of the call that was answered last */

static void on_reply(struct hl_rest_call *call)
{
    calls = call->all;
    is_answered = true;
}

static struct hl_rest_call make_call(enum hl_method method, const char *path, const char *body)
{
    return (struct hl_rest_call){.method = method,
        .path = hl_str_from(path),
        .query = HL_STR(""),
        .body = hl_str_from(body),
        .is_operator = true,
        .on_reply = on_reply};
}

/* The answer's body, to be released. */
static json_t *ask(enum hl_method method, const char *path, const char *body)
{
    struct hl_rest_call call = make_call(method, path, body);
    json_error_t error;
    is_answered = false;
    hl_rest_begin(rest, &call);
    UNTIL(is_answered);
    json_t *value = json_loadb(call.reply.body.p, call.reply.body.n, 0, &error);
    cr_assert(value, "%u %s", call.reply.status, call.reply.detail);
    hl_reply_fini(&call.reply);
    return value;
}

static bool is_checked;

static void on_checked(struct hl_auth_wait *wait)
{
    (void)wait;
    is_checked = true;
}

static bool is_good(const char *token)
{
    struct hl_auth_wait wait;
    const struct hl_principal *who;
    struct hl_refusal why;
    enum hl_auth_verdict verdict;
    hl_auth_wait_init(&wait, on_checked);
    while ((verdict = hl_auth_check(hl_rest_seat(rest), hl_str_from(token), HL_STR("p"), &who, &why,
                &wait)) == HL_AUTH_PENDING) {
        is_checked = false;
        UNTIL(is_checked);
    }
    return verdict == HL_AUTH_GRANTED;
}

Test(rest, a_revocation_holds_though_nobody_waits_for_its_answer)
{
    char path[128], body[128];
    snprintf(body, sizeof(body), "{\"name\": \"ci\", \"expires_at\": %" PRId64 "}",
        hl_clock_wall_ms() + 3600 * 1000);
    json_t *account = ask(HL_METHOD_POST, "/v2/projects/p/service-accounts", body);
    const char *token = json_string_value(json_object_get(account, "token"));
    cr_assert(is_good(token));
    snprintf(path, sizeof(path), "/v2/service-accounts/%s",
        json_string_value(json_object_get(account, "id")));
    struct hl_rest_call call = make_call(HL_METHOD_DELETE, path, "");
    hl_rest_begin(rest, &call);
    UNTIL(call.audited.author); /* who asks is known: the store is asked for the revocation */
    hl_rest_abandon(&call);
    UNTIL(!is_good(token)); /* the store's answer has come */
    json_decref(account);
}

static void nobody_waits(void *arg)
{
    (void)arg;
}

/* A queued run of that time. */
static struct hl_id accept_run(int64_t ms)
{
    static struct hl_mailbox box;
    struct hl_msg *reply = NULL;
    struct hl_accept run = {.run_id = hl_id_first_at(ms),
        .created_ms = ms,
        .project = HL_STR("p"),
        .app = HL_STR("a"),
        .method = HL_STR("POST"),
        .target = HL_STR("/run"),
        .head = HL_STR("POST /run HTTP/1.1\r\nHost: a\r\n")};
    struct hl_accept *a = hl_accept_new(HL_STORE_ACCEPT, &run);
    hl_mailbox_init(&box, nobody_waits, NULL);
    a->m.reply_to = &box;
    cr_assert_eq(hl_store_post(store, &a->m), HL_OK);
    UNTIL((reply = hl_mailbox_take(&box)) != NULL);
    cr_assert_eq(a->m.rc, HL_OK);
    hl_accept_free(a);
    return run.run_id;
}

static bool is_paged;

static void on_page(struct hl_job_listing *listing)
{
    (void)listing;
    is_paged = true;
}

Test(rest, a_job_is_about_nothing_younger_whatever_its_filter_says)
{
    struct hl_job_listing listing = {.project = "p", .on_page = on_page};
    struct hl_job_plan plan;
    int64_t ms = hl_clock_wall_ms();
    struct hl_id older = accept_run(ms);
    accept_run(ms + 1);
    json_t *body = ask(HL_METHOD_GET, "/v2/projects/p/runs", "");
    cr_assert_eq(json_array_size(json_object_get(body, "runs")), 2);
    json_decref(body);
    body = json_pack("{s:s,s:{s:s}}", "what", "cancel", "filter", "until", "9999-12-31T00:00:00Z");
    cr_assert_eq(hl_job_plan_read(body, &plan), HL_REFUSAL_NONE);
    listing.plan = &plan;
    listing.until_ms = ms + 1;
    hl_job_listing_ask(calls, &listing);
    UNTIL(is_paged);
    cr_assert_eq(listing.err, HL_OK);
    cr_assert_eq(listing.n, 1);
    cr_assert(hl_id_eq(&listing.items[0].id, &older));
    hl_job_listing_fini(&listing);
    hl_job_plan_fini(&plan);
    json_decref(body);
}
