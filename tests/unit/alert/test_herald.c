/* test_herald.c - what is told to the store and when, whatever it answers; between a store and a sender that the test
 * plays. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alert/herald.h"
#include "app/readiness.h"
#include "base/clock.h"
#include "config/config.h"
#include "run/service.h"
#include "store/accept.h"
#include "store/alert.h"
#include "store/claim.h"
#include "store/gauges.h"
#include "store/store.h"
#include "webhook/news.h"
#include "webhook/sender.h"

#define PATIENCE_MS 60000
#define THEIRS                                                                                     \
    "{\"told\":[{\"kind\":\"queue_age\",\"subject\":\"\",\"since\":1,\"at\":%lld,\"id\":"          \
    "\"0193b5a0-0000-7000-8000-000000000001\"}]}"

static struct hl_store_gauges gauges;
static bool is_shared;
static struct hl_store_msg *posted;
static struct hl_direct *sent;

enum hl_err hl_store_post(struct hl_store *store, struct hl_store_msg *m)
{
    (void)store;
    cr_assert_null(posted, "one request is with the store at a time");
    posted = m;
    return HL_OK;
}

const struct hl_store_gauges *hl_store_get_gauges(const struct hl_store *store)
{
    (void)store;
    return &gauges;
}

bool hl_store_is_shared(const struct hl_store *store)
{
    (void)store;
    return is_shared;
}

void hl_sender_send(struct hl_sender *sender, struct hl_direct *direct)
{
    (void)sender;
    cr_assert_null(sent);
    direct->msg = (struct hl_msg){.type = HL_DIRECT};
    sent = direct;
}

/* ---- a process ---- */

static struct hl_config config;
static struct hl_readiness readiness;
static struct hl_service service;
static uv_loop_t loop;
static struct hl_wheel wheel;
static struct hl_herald herald;

static void start(void)
{
    config.alert_url = HL_STR("https://alerts.example/");
    config.alert_queue_age_ms = config.alert_app_after_ms = 1000;
    config.replica = HL_STR("r");
    atomic_store(&readiness.is_ready, true);
    service.config = &config;
    service.readiness = &readiness;
    cr_assert_eq(uv_loop_init(&loop), 0);
    cr_assert_eq(hl_wheel_init(&wheel, &loop), 0);
    cr_assert(hl_herald_init(&herald, &service, &loop, &wheel));
    hl_herald_start(&herald, NULL, NULL);
}

static void stop(void)
{
    if (!herald.service)
        return;
    hl_herald_stop(&herald);
    hl_herald_close(&herald);
    hl_wheel_close(&wheel);
    uv_run(&loop, UV_RUN_DEFAULT);
    hl_herald_fini(&herald);
    uv_loop_close(&loop);
}

TestSuite(herald, .fini = stop);

/* Until the claim holds. */
#define RUN_UNTIL(claim)                                                                           \
    do {                                                                                           \
        uint64_t give_up = hl_clock_mono_ms() + PATIENCE_MS;                                       \
        while (!(claim)) {                                                                         \
            cr_assert_lt(hl_clock_mono_ms(), give_up, "never came true: " #claim);                 \
            uv_run(&loop, UV_RUN_ONCE);                                                            \
        }                                                                                          \
    } while (0)

static void *wait_for(enum hl_store_op op)
{
    RUN_UNTIL(posted);
    cr_assert_eq(posted->msg.type, op);
    return posted;
}

static void answer(enum hl_err rc)
{
    struct hl_store_msg *m = posted;
    posted = NULL;
    m->rc = rc;
    hl_mailbox_post(m->reply_to, &m->msg);
}

static void answer_book(const char *text)
{
    struct hl_get_alerts *g = wait_for(HL_STORE_GET_ALERTS);
    cr_assert_eq(hl_buf_append_str(&g->value, hl_str_from(text)), HL_OK);
    answer(text[0] ? HL_OK : HL_ERR_NOT_FOUND);
}

static struct hl_alert *only(void)
{
    cr_assert_eq(herald.count, 1);
    return HL_CONTAINER_OF(herald.alerts.next, struct hl_alert, node);
}

static void make_queue_old(void)
{
    hl_counter_set(&gauges.oldest_queued_ms, (uint64_t)hl_clock_wall_ms() - 60000);
}

static bool says(struct hl_str text, const char *part)
{
    char copy[2048];
    cr_assert_lt(text.n, sizeof(copy));
    hl_str_put_cut(copy, sizeof(copy), text);
    return strstr(copy, part) != NULL;
}

static struct hl_str body_of(const struct hl_tell_alert *t)
{
    return (struct hl_str){t->end->outcome.body.bytes, t->end->outcome.body.size};
}

Test(herald, tells_the_store_and_then_its_end)
{
    start();
    make_queue_old();
    answer_book("");
    struct hl_tell_alert *t = wait_for(HL_STORE_TELL_ALERT);
    cr_assert_eq(t->former.n, 0);
    cr_assert(says(hl_buf_str(&t->value), "queue_age"));
    cr_assert(hl_str_eq(t->run->app, HL_STR("hookline.alerts")));
    cr_assert(hl_str_eq(t->run->project, HL_STR("hookline")));
    cr_assert(hl_str_eq(t->run->webhook_url, config.alert_url));
    cr_assert(hl_id_eq(&t->run->run_id, &t->end->run_id));
    cr_assert(says(body_of(t), "\"status\":\"firing\""));
    answer(HL_OK);
    RUN_UNTIL(only()->state == HL_ALERT_FIRING);
    hl_counter_set(&gauges.oldest_queued_ms, 0);
    t = wait_for(HL_STORE_TELL_ALERT);
    cr_assert(says(hl_buf_str(&t->former), "queue_age"));
    cr_assert_not(says(hl_buf_str(&t->value), "queue_age"));
    cr_assert(says(body_of(t), "\"status\":\"resolved\""));
    answer(HL_OK);
    RUN_UNTIL(herald.count == 0);
}

Test(herald, reads_what_others_have_told_when_its_text_is_stale_and_does_not_tell_it_again)
{
    char theirs[200];
    is_shared = true;
    start();
    make_queue_old();
    answer_book("");
    wait_for(HL_STORE_TELL_ALERT);
    answer(HL_ERR_STALE);
    snprintf(theirs, sizeof(theirs), THEIRS, (long long)hl_clock_wall_ms());
    answer_book(theirs);
    RUN_UNTIL(only()->state == HL_ALERT_FIRING);
    cr_assert_null(posted);
    hl_counter_set(&gauges.oldest_queued_ms, 0); /* they have told its end, too */
    wait_for(HL_STORE_TELL_ALERT);
    answer(HL_ERR_STALE);
    answer_book("{\"told\":[]}");
    RUN_UNTIL(herald.count == 0);
    cr_assert_null(posted);
}

Test(herald, takes_up_what_an_earlier_process_has_told)
{
    char theirs[200];
    start();
    make_queue_old();
    snprintf(theirs, sizeof(theirs), THEIRS, (long long)hl_clock_wall_ms());
    answer_book(theirs);
    RUN_UNTIL(only()->state == HL_ALERT_FIRING);
    cr_assert_eq(only()->since_ms, 1);
    hl_counter_set(&gauges.oldest_queued_ms, 0);
    struct hl_tell_alert *t = wait_for(HL_STORE_TELL_ALERT);
    cr_assert(says(body_of(t), "\"alert_id\":\"0193b5a0-0000-7000-8000-000000000001\""));
    answer(HL_OK);
    RUN_UNTIL(herald.count == 0);
}

Test(herald, tells_the_end_of_what_has_ended_while_no_process_was_there)
{
    char theirs[200];
    start();
    hl_counter_set(&gauges.oldest_queued_ms, 0);
    snprintf(theirs, sizeof(theirs), THEIRS, (long long)hl_clock_wall_ms());
    answer_book(theirs);
    struct hl_tell_alert *t = wait_for(HL_STORE_TELL_ALERT);
    cr_assert(says(body_of(t), "resolved"));
    answer(HL_OK);
    RUN_UNTIL(herald.count == 0);
}

Test(herald, sends_what_the_store_does_not_take_with_the_same_id_and_notes_it_later)
{
    start();
    make_queue_old();
    answer_book("");
    struct hl_tell_alert *t = wait_for(HL_STORE_TELL_ALERT);
    struct hl_id id = t->run->run_id;
    answer(HL_ERR_FULL);
    RUN_UNTIL(sent);
    cr_assert(hl_id_eq(&sent->run_id, &id));
    cr_assert(says(sent->body, "queue_age"));
    sent->is_delivered = true;
    hl_mailbox_post(sent->reply_to, &sent->msg);
    sent = NULL;
    t = wait_for(HL_STORE_TELL_ALERT);
    cr_assert_null(t->run, "it is only noted");
    cr_assert(says(hl_buf_str(&t->value), "queue_age"));
    answer(HL_OK);
    RUN_UNTIL(!only()->is_unnoted);
}

Test(herald, ends_what_others_told_of_a_destination_when_it_answers_here)
{
    static const char theirs[] =
        "{\"told\":[{\"kind\":\"destination_failing\",\"subject\":\"https://"
        "a.example\",\"since\":1,"
        "\"at\":9000000000000,\"id\":\"0193b5a0-0000-7000-8000-000000000001\"}]}";
    is_shared = true;
    start();
    answer_book("");
    RUN_UNTIL(herald.has_book);
    hl_news_post(hl_herald_news(&herald), HL_NEWS_ANSWERS, 0, "https://b.example", "");
    hl_news_post(hl_herald_news(&herald), HL_NEWS_ANSWERS, 0, "https://a.example", "");
    answer_book(theirs);
    struct hl_tell_alert *t = wait_for(HL_STORE_TELL_ALERT);
    cr_assert(says(body_of(t), "https://a.example"));
    cr_assert(says(body_of(t), "resolved"));
    answer(HL_OK);
    RUN_UNTIL(herald.count == 0);
}

Test(herald, does_nothing_without_a_url)
{
    struct hl_herald none = {0};
    service.config = &config;
    cr_assert(hl_herald_init(&none, &service, &loop, &wheel));
    cr_assert_null(hl_herald_news(&none));
    hl_herald_start(&none, NULL, NULL);
    hl_herald_stop(&none);
    hl_herald_close(&none);
    hl_herald_fini(&none);
}
