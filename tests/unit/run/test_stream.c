/* test_stream.c - which event streams are kept, what their callers see of that, and that they go on without
 * them, for so long. */
#include "base/clock.h"
#include "body/journal.h"
#include "body/journals.h"
#include "caller/client.h"
#include "callers_fixture.h"
#include "config/config.h"
#include "fake_store.h"
#include "loop_fixture.h"
#include "run/runs_fixture.h"
#include "run/stream.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_app.h"
#include "run/ending.h"
#include "run/report.h"
#include "run/respond.h"
#include "store/accept.h"
#include "store/claim.h"

#define SHARE (1 << 20)
#define MOST  (SHARE + SHARE / 8)
#define HEAD                                                                                       \
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

static int caller, app;
static struct hl_run *run;

static void ask_to_keep(void)
{
    run->terms.keeps_stream = run->terms.asks_keep = true;
    run->store.accept = calloc(1, sizeof(*run->store.accept));
    run->store.accept->run_id = run->id;
    run->store.accept->project = HL_STR("shop");
    run->store.accept->app = HL_STR("mail");
    hl_progress_record(run, HL_RECORD_DUE);
}

/* A call is inside the app whose stream is to be kept. */
static void begin(void)
{
    app_begin();
    config.sse_heartbeat_ms = 600000;
    config.response_grace_period_ms = 600000;
    hl_counter_set(&fake_store.gauges.max_stream_bytes, SHARE);
    run = app_call(&caller);
    ask_to_keep();
    app = app_accept();
    app_await(app, APP_GET);
}

TestSuite(run_stream, .init = begin, .fini = app_end, .timeout = 180);

/* The store has been told of it, and answers. */
static void answer_record(enum hl_err rc)
{
    UNTIL(fake_store.count > 0);
    struct hl_store_msg *m = fake_store_take(HL_STORE_RECORD);
    m->rc = rc;
    struct hl_run *held = hl_report_on_record(&runs, HL_CONTAINER_OF(m, struct hl_accept, m));
    if (held)
        hl_respond_take_held(held);
}

static void record(void)
{
    answer_record(HL_OK);
}

static void begin_stream(void)
{
    app_say(app, HEAD);
    record();
    caller_await(caller, "\r\n\r\n");
    cr_assert(hl_run_stream_adds_ids(run));
}

/* What the store is told of its end, which it takes. */
static struct hl_finish *take_finish(void)
{
    UNTIL(fake_store.count == 1);
    return HL_CONTAINER_OF(fake_store_take(HL_STORE_FINISH), struct hl_finish, m);
}

static void assert_finished(enum hl_run_state state, enum hl_run_reason reason, const char *bytes)
{
    struct hl_finish *f = take_finish();
    cr_assert_eq(f->outcome.state, state);
    cr_assert_eq(f->outcome.reason, reason);
    cr_assert_eq(f->outcome.http_status, 200);
    cr_assert(
        hl_str_eq((struct hl_str){f->outcome.body.bytes, f->outcome.body.size}, hl_str_from(bytes)),
        "%.*s", (int)f->outcome.body.size, f->outcome.body.bytes);
    f->m.rc = HL_OK;
    hl_report_on_finish(&runs, f);
    cr_assert_eq(run_count(), 0);
}

/* ---- which are kept ---- */

Test(run_stream, is_kept_with_ids_for_its_caller_and_the_bytes_of_the_app_for_the_store)
{
    app_say(app, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 18\r\n\r\n"
                 "data: a\n\n");
    record();
    const char *text = caller_await(caller, "data: a\nid: 1\n\n");
    cr_assert(strstr(text, "Transfer-Encoding: chunked"), "%s", text);
    cr_assert_null(strstr(text, "Content-Length"));
    cr_assert_null(strstr(text, "X-Run-Kept"));
    app_say(app, "data: b\n\n");
    caller_await(caller, "data: b\nid: 2\n\n");
    assert_finished(HL_RUN_SUCCESS, HL_REASON_NONE, "data: a\n\ndata: b\n\n");
}

Test(run_stream, is_seen_by_others_as_it_comes)
{
    char got[32];
    bool is_file;
    begin_stream();
    cr_assert(hl_journals_has_run(&journals, &run->id, "shop", "mail"));
    app_say(app, "9\r\ndata: a\n\n\r\n");
    caller_await(caller, "data: a\nid: 1\n\n");
    cr_assert_eq(hl_journal_read(run->stream->journal, 0, got, sizeof(got), &is_file), 9);
    cr_assert_arr_eq(got, "data: a\n\n", 9);
}

/* ---- its head waits for the record ---- */

static void assert_silent(void)
{
    uint64_t until = hl_clock_mono_ms() + 100;
    UNTIL_WITH(cr_assert_str_empty(caller_hear(caller)), hl_clock_mono_ms() > until);
}

Test(run_stream, is_seen_by_its_caller_only_when_the_store_has_it)
{
    app_say(app, HEAD "9\r\ndata: a\n\n\r\n");
    UNTIL(fake_store.count == 1);
    app_say(app, "9\r\ndata: b\n\n\r\n0\r\n\r\n");
    assert_silent();
    record();
    cr_assert(strstr(caller_await(caller, "data: b\nid: 2\n\n"), "data: a\nid: 1\n\n"));
    assert_finished(HL_RUN_SUCCESS, HL_REASON_NONE, "data: a\n\ndata: b\n\n");
}

Test(run_stream, passes_on_what_came_before_a_head_that_waits)
{
    app_say(app, "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" HEAD "9\r\ndata: a\n\n\r\n");
    caller_await(caller, "Link: </a>");
    record();
    const char *text = caller_await(caller, "data: a\nid: 1\n\n");
    cr_assert_null(strstr(text, "Link"), "once: %s", text);
}

Test(run_stream, goes_on_unkept_where_the_store_refuses_it)
{
    app_say(app, HEAD "9\r\ndata: a\n\n\r\n");
    answer_record(HL_ERR_IO);
    const char *got = caller_await(caller, "data: a\n\n");
    cr_assert(strstr(got, "\r\nX-Run-Kept: false\r\n"), "%s", got);
    cr_assert_null(run->stream);
    app_say(app, "0\r\n\r\n");
    UNTIL(run_count() == 0);
    cr_assert_eq(fake_store.count, 0);
}

Test(run_stream, goes_on_unkept_where_the_store_does_not_answer)
{
    app_say(app, HEAD "9\r\ndata: a\n\n\r\n");
    UNTIL(run->stream && run->stream->holds_head);
    hl_respond_stop_holding(run);
    const char *got = caller_await(caller, "data: a\n\n");
    cr_assert(strstr(got, "\r\nX-Run-Kept: false\r\n"), "%s", got);
    cr_assert_null(strstr(got, "id: 1"));
    record();
    app_say(app, "9\r\ndata: b\n\n\r\n0\r\n\r\n");
    struct hl_finish *f = take_finish();
    cr_assert_eq(f->outcome.state, HL_RUN_SUCCESS);
    cr_assert_eq(f->outcome.body.where, HL_BODY_UNKEPT);
    hl_report_on_finish(&runs, f);
}

Test(run_stream, that_waits_does_so_no_longer_for_what_its_request_still_brings)
{
    config.app_head_timeout_ms = 600000;
    begin_stream();
    app_say(app, "0\r\n\r\n");
    assert_finished(HL_RUN_SUCCESS, HL_REASON_NONE, "");
    run = app_call_with_body(&caller, "Content-Length: 5", HL_FRAMING_LENGTH);
    ask_to_keep();
    app_await(app, "Content-Length: 5\r\n\r\n"); /* on the same connection */
    app_say(app, HEAD);
    UNTIL(run->stream && run->stream->holds_head);
    uint64_t bound = run->timer.deadline;
    caller_say(caller, "he");
    app_await(app, "\r\n\r\nhe");
    cr_assert_eq(run->timer.deadline, bound);
    caller_say(caller, "llo");
    app_await(app, "\r\n\r\nhello");
    UNTIL(run->request.half == HL_REQUEST_SENT);
    cr_assert_eq(run->timer.deadline, bound);
    answer_record(HL_ERR_IO);
    app_say(app, "0\r\n\r\n");
    UNTIL(run_count() == 0);
}

Test(run_stream, that_waits_can_be_cancelled)
{
    app_say(app, HEAD);
    UNTIL(run->stream && run->stream->holds_head);
    hl_ending_cancel(run);
    caller_await(caller, "HTTP/1.1 410 ");
    record();
    struct hl_finish *f = take_finish();
    cr_assert_eq(f->outcome.state, HL_RUN_CANCELLED);
    hl_report_on_finish(&runs, f);
    cr_assert_eq(run_count(), 0);
}

/* The caller is told; the store, and others, hear nothing of it. */
static void assert_unkept(const char *text)
{
    app_say(app, text);
    const char *got = caller_await(caller, "\r\n\r\n");
    cr_assert(strstr(got, "\r\nX-Run-Kept: false\r\n"), "%s", got);
    cr_assert_eq(fake_store.count, 0);
    cr_assert_null(strstr(got, "id: 1"));
    UNTIL(!run_count() || run->store.record == HL_RECORD_NONE);
    cr_assert_eq(journals.map.n, 0);
}

Test(run_stream, is_none_where_the_answer_is_no_event_stream)
{
    assert_unkept(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}");
}

Test(run_stream, is_none_with_another_status)
{
    assert_unkept("HTTP/1.1 201 Created\r\nContent-Type: text/event-stream\r\n"
                  "Transfer-Encoding: chunked\r\n\r\n9\r\ndata: a\n\n\r\n");
}

Test(run_stream, is_none_that_comes_encoded)
{
    assert_unkept("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip\r\n"
                  "Transfer-Encoding: chunked\r\n\r\n9\r\ndata: a\n\n\r\n");
}

Test(run_stream, is_kept_that_is_said_not_to_be_encoded)
{
    app_say(app, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
                 "Content-Encoding: identity\r\nTransfer-Encoding: chunked\r\n\r\n"
                 "9\r\ndata: a\n\n\r\n");
    record();
    caller_await(caller, "data: a\nid: 1\n\n");
}

Test(run_stream, is_none_that_was_not_to_be_kept)
{
    run->terms.keeps_stream = run->terms.asks_keep = false;
    app_say(app, HEAD "9\r\ndata: a\n\n\r\n");
    const char *got = caller_await(caller, "data: a\n\n");
    cr_assert_null(strstr(got, "X-Run-Kept"));
    cr_assert_null(run->stream);
    cr_assert_eq(fake_store.count, 0);
}

Test(run_stream, that_all_calls_have_is_spoken_of_where_there_would_be_one)
{
    run->terms.asks_keep = false;
    app_say(
        app, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}");
    cr_assert_null(strstr(caller_await(caller, "{}"), "X-Run-Kept"));
}

/* ---- what there is no room for ---- */

Test(run_stream, is_not_kept_beyond_the_share)
{
    fake_store.live_streams = SHARE;
    assert_unkept(HEAD "9\r\ndata: a\n\n\r\n");
}

Test(run_stream, is_not_kept_beyond_the_share_where_all_calls_have_one)
{
    run->terms.asks_keep = false;
    fake_store.live_streams = SHARE;
    assert_unkept(HEAD "9\r\ndata: a\n\n\r\n");
}

Test(run_stream, is_not_kept_by_a_store_that_is_full)
{
    hl_counter_set(&fake_store.gauges.is_full, 1);
    assert_unkept(HEAD "9\r\ndata: a\n\n\r\n");
}

Test(run_stream, is_not_kept_by_a_store_that_fails)
{
    hl_counter_set(&fake_store.gauges.is_failing, 1);
    assert_unkept(HEAD "9\r\ndata: a\n\n\r\n");
}

Test(run_stream, is_not_kept_by_a_store_that_takes_nothing)
{
    fake_store.refusal = HL_ERR_UNAVAILABLE;
    assert_unkept(HEAD "9\r\ndata: a\n\n\r\n");
}

Test(run_stream, counts_in_the_share_until_its_end)
{
    begin_stream();
    app_say(app, "9\r\ndata: a\n\n\r\n");
    UNTIL(fake_store.live_streams == 9);
    app_say(app, "9\r\ndata: b\n\n\r\n0\r\n\r\n");
    assert_finished(HL_RUN_SUCCESS, HL_REASON_NONE, "data: a\n\ndata: b\n\n");
    cr_assert_eq(fake_store.live_streams, 0);
}

static bool is_dropped(void)
{
    struct hl_journal_look now;
    hl_journal_observe(run->stream->journal, &now);
    return now.is_dropped;
}

Test(run_stream, that_outgrows_the_share_goes_on_for_its_caller_alone)
{
    begin_stream();
    fake_store.live_streams = MOST - 9; /* of others */
    app_say(app, "9\r\ndata: a\n\n\r\n");
    caller_await(caller, "data: a\nid: 1\n\n");
    cr_assert_eq(fake_store.live_streams, MOST);
    cr_assert_not(is_dropped());
    app_say(app, "9\r\ndata: b\n\n\r\n");
    caller_await(caller, "data: b\nid: 2\n\n");
    UNTIL(is_dropped());
    cr_assert_eq(fake_store.live_streams, MOST - 9);
    app_say(app, "9\r\ndata: c\n\n\r\n0\r\n\r\n");
    caller_await(caller, "data: c\nid: 3\n\n");
    struct hl_finish *f = take_finish();
    cr_assert_eq(f->outcome.state, HL_RUN_SUCCESS);
    cr_assert_eq(f->outcome.body.where, HL_BODY_UNKEPT);
    cr_assert_eq(fake_store.live_streams, MOST - 9);
    hl_report_on_finish(&runs, f);
}

/* ---- without its caller ---- */

Test(run_stream, goes_on_without_its_caller)
{
    begin_stream();
    hl_client_lose(run->client);
    cr_assert_eq(run_count(), 1);
    app_say(app, "9\r\ndata: a\n\n\r\n0\r\n\r\n");
    assert_finished(HL_RUN_SUCCESS, HL_REASON_NONE, "data: a\n\n");
}

Test(run_stream, that_is_not_kept_ends_with_its_caller)
{
    fake_store.live_streams = SHARE;
    app_say(app, HEAD);
    caller_await(caller, "\r\n\r\n");
    hl_client_lose(run->client);
    cr_assert_eq(run_count(), 0);
    UNTIL(app_is_left(app));
}

Test(run_stream, goes_on_without_a_caller_who_left_before_the_head)
{
    hl_client_lose(run->client);
    cr_assert_eq(run_count(), 1);
    app_say(app, HEAD "9\r\ndata: a\n\n\r\n");
    record();
    app_say(app, "0\r\n\r\n");
    assert_finished(HL_RUN_SUCCESS, HL_REASON_NONE, "data: a\n\n");
}

Test(run_stream, is_cut_when_the_answer_is_none_and_its_caller_has_left)
{
    hl_client_lose(run->client);
    app_say(app, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 100\r\n\r\nab");
    UNTIL(run_count() == 0);
    UNTIL(app_is_left(app));
    cr_assert_eq(fake_store.count, 0);
}

Test(run_stream, has_the_grace_period_from_its_start_without_its_caller)
{
    config.response_grace_period_ms = 400;
    uint64_t started_us = run->times.started_us;
    begin_stream();
    hl_client_lose(run->client);
    app_say(app, "9\r\ndata: a\n\n\r\n");
    assert_finished(HL_RUN_FAILURE, HL_REASON_TIMEOUT, "data: a\n\n");
    uint64_t ms = (hl_clock_mono_us() - started_us) / 1000;
    cr_assert(ms >= 400 && ms < 5000, "%llu", (unsigned long long)ms);
    UNTIL(app_is_left(app));
}

Test(run_stream, has_the_grace_period_also_when_its_caller_left_before_the_head)
{
    config.response_grace_period_ms = 300;
    hl_client_lose(run->client);
    UNTIL(run_count() == 0);
    UNTIL(app_is_left(app));
}

Test(run_stream, has_no_grace_period_while_its_caller_is_there)
{
    config.response_grace_period_ms = 100;
    begin_stream();
    uint64_t until = hl_clock_mono_ms() + 400;
    UNTIL(hl_clock_mono_ms() > until);
    app_say(app, "9\r\ndata: a\n\n\r\n");
    caller_await(caller, "data: a\nid: 1\n\n");
}

Test(run_stream, too_long_to_be_kept_goes_on_for_its_caller_alone)
{
    config.max_kept_response = 10;
    begin_stream();
    app_say(app, "9\r\ndata: a\n\n\r\n9\r\ndata: b\n\n\r\n");
    caller_await(caller, "data: b\nid: 2\n\n");
    struct hl_journal_look now;
    hl_journal_observe(run->stream->journal, &now);
    cr_assert(now.is_dropped);
    app_say(app, "9\r\ndata: c\n\n\r\n");
    caller_await(caller, "data: c\nid: 3\n\n");
    hl_client_lose(run->client);
    UNTIL(app_is_left(app)); /* nobody is left for whom it would be */
    struct hl_finish *f = take_finish();
    cr_assert_eq(f->outcome.state, HL_RUN_CANCELLED);
    cr_assert_eq(f->outcome.body.where, HL_BODY_DROPPED);
    hl_report_on_finish(&runs, f);
}

/* ---- progress ---- */

static bool is_at(const char *json)
{
    char got[HL_JOURNAL_PROGRESS + 1];
    return hl_journals_get_progress(&journals, &run->id, got) && strcmp(got, json) == 0;
}

Test(run_stream, takes_progress_off_what_its_caller_sees)
{
    app_say(app, "HTTP/1.1 103 Early Hints\r\nX-Run-Progress: {\"done\":1}\r\nX-Other: 1\r\n\r\n");
    UNTIL(is_at("{\"done\":1}"));
    app_say(app, "HTTP/1.1 103 Early Hints\r\nx-run-progress: 2\r\n\r\n");
    UNTIL(is_at("2"));
    app_say(app, "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n");
    const char *got = caller_await(caller, "Link: </a>");
    cr_assert_null(strstr(got, "X-Other"));
    cr_assert(is_at("2"));
}

Test(run_stream, takes_no_progress_that_is_no_json_or_too_long)
{
    static char text[HL_JOURNAL_PROGRESS + 200];
    char longest[HL_JOURNAL_PROGRESS + 2];
    app_say(app, "HTTP/1.1 103 Early Hints\r\nX-Run-Progress: 1\r\n\r\n"
                 "HTTP/1.1 103 Early Hints\r\nX-Run-Progress: {half\r\n\r\n");
    memset(longest, '1', sizeof(longest));
    longest[HL_JOURNAL_PROGRESS + 1] = '\0';
    snprintf(text, sizeof(text), "HTTP/1.1 103 Early Hints\r\nX-Run-Progress: %s\r\n\r\n", longest);
    app_say(app, text);
    app_say(app, "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n");
    const char *got = caller_await(caller, "Link: </a>");
    cr_assert_null(strstr(got, "Progress"), "it is taken off all the same");
    cr_assert(is_at("1"));
}

/* ---- what other replicas see ---- */

static struct hl_keep_stream *take_part(uint64_t at, const char *bytes)
{
    UNTIL(fake_store.count == 1);
    struct hl_keep_stream *part =
        HL_CONTAINER_OF(fake_store_take(HL_STORE_KEEP_STREAM), struct hl_keep_stream, m);
    cr_assert(hl_id_eq(&part->run_id, &run->id));
    cr_assert_eq(part->epoch, hl_run_epoch(run));
    cr_assert_eq(part->at, at);
    cr_assert(hl_str_eq(hl_buf_str(&part->bytes), hl_str_from(bytes)), "%.*s",
        HL_STR_ARG(hl_buf_str(&part->bytes)));
    return part;
}

static void answer_part(struct hl_keep_stream *part, enum hl_err rc)
{
    part->m.rc = rc;
    hl_stream_share_on_reply(&runs, &part->m);
}

Test(run_stream, goes_to_a_shared_store_each_second_in_order_and_one_part_at_a_time)
{
    fake_store.is_shared = true;
    begin_stream();
    app_say(app, "9\r\ndata: a\n\n\r\n");
    caller_await(caller, "data: a\nid: 1\n\n");
    uint64_t since = hl_clock_mono_ms();
    app_say(app, "9\r\ndata: b\n\n\r\n");
    struct hl_keep_stream *part = take_part(0, "data: a\n\ndata: b\n\n");
    cr_assert_geq(hl_clock_mono_ms() - since, 700);
    app_say(app, "9\r\ndata: c\n\n\r\n");
    uint64_t until = hl_clock_mono_ms() + 1300;
    UNTIL(hl_clock_mono_ms() > until);
    cr_assert_eq(fake_store.count, 0, "one is on its way");
    answer_part(part, HL_OK);
    answer_part(take_part(18, "data: c\n\n"), HL_OK);
}

Test(run_stream, goes_to_a_shared_store_at_once_when_much_has_come)
{
    enum { MUCH = HL_STREAM_PART_MAX + 1 };
    static char much[MUCH], head[32];
    size_t sent = 0;
    fake_store.is_shared = true;
    memset(much, 'x', MUCH);
    begin_stream();
    snprintf(head, sizeof(head), "%x\r\n", MUCH);
    app_say(app, head);
    uint64_t since = hl_clock_mono_ms();
    UNTIL_WITH((sent += app_pour(app, much + sent, MUCH - sent), caller_hear(caller)),
        fake_store.count == 1);
    cr_assert_lt(hl_clock_mono_ms() - since, 900);
    struct hl_keep_stream *part =
        HL_CONTAINER_OF(fake_store_take(HL_STORE_KEEP_STREAM), struct hl_keep_stream, m);
    cr_assert_eq(part->at, 0);
    cr_assert_eq(part->bytes.n, HL_STREAM_PART_MAX);
    answer_part(part, HL_OK);
    answer_part(take_part(HL_STREAM_PART_MAX, "x"), HL_OK);
}

Test(run_stream, goes_to_a_shared_store_again_after_an_error)
{
    fake_store.is_shared = true;
    begin_stream();
    app_say(app, "9\r\ndata: a\n\n\r\n");
    answer_part(take_part(0, "data: a\n\n"), HL_ERR_BUSY);
    app_say(app, "9\r\ndata: b\n\n\r\n");
    caller_await(caller, "data: b\nid: 2\n\n");
    answer_part(take_part(0, "data: a\n\ndata: b\n\n"), HL_OK);
}

Test(run_stream, goes_to_no_store_that_gave_the_run_to_another)
{
    fake_store.is_shared = true;
    begin_stream();
    app_say(app, "9\r\ndata: a\n\n\r\n");
    answer_part(take_part(0, "data: a\n\n"), HL_ERR_STALE);
    app_say(app, "9\r\ndata: b\n\n\r\n");
    uint64_t until = hl_clock_mono_ms() + 1300;
    UNTIL(hl_clock_mono_ms() > until);
    cr_assert_eq(fake_store.count, 0);
}

Test(run_stream, tells_a_shared_store_of_progress_and_of_the_last_one_before_its_end)
{
    fake_store.is_shared = true;
    begin_stream();
    hl_journals_set_progress(&journals, &run->id, HL_STR("1"));
    hl_stream_share_say(&run->stream->share);
    cr_assert_eq(fake_store.count, 1, "the first one at once");
    struct hl_say_progress *said =
        HL_CONTAINER_OF(fake_store_take(HL_STORE_SAY_PROGRESS), struct hl_say_progress, m);
    cr_assert_str_eq(said->json, "1");
    hl_stream_share_on_reply(&runs, &said->m);
    hl_journals_set_progress(&journals, &run->id, HL_STR("2"));
    hl_stream_share_say(&run->stream->share);
    hl_journals_set_progress(&journals, &run->id, HL_STR("3"));
    hl_stream_share_say(&run->stream->share);
    cr_assert_eq(fake_store.count, 0, "not before five seconds are over");
    app_say(app, "0\r\n\r\n");
    UNTIL(fake_store.count == 2);
    said = HL_CONTAINER_OF(fake_store_take(HL_STORE_SAY_PROGRESS), struct hl_say_progress, m);
    cr_assert_str_eq(said->json, "3");
    hl_stream_share_on_reply(&runs, &said->m);
    assert_finished(HL_RUN_SUCCESS, HL_REASON_NONE, "");
}
