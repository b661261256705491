/* test_forward.c - the request half of a run: a slot of the app, a connection, the head and the
 * body. */
#include "app/gate.h"
#include "app/limiter.h"
#include "app/pool.h"
#include "app/upstream_wait.h"
#include "caller/client.h"
#include "callers_fixture.h"
#include "config/config.h"
#include "loop_fixture.h"
#include "run/forward.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "app/upstream.h"
#include "fake_app.h"
#include "run/admission.h"
#include "run/progress.h"
#include "run/run.h"
#include "run/runs.h"
#include "run/runs_fixture.h"
#include "run/service.h"

#define GET   APP_GET
#define POST  "POST /x HTTP/1.1\r\nHost: h\r\n"
#define OK    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
#define LIMIT 1

static int caller;

TestSuite(forward, .init = app_begin, .fini = app_end, .timeout = 180);

static struct hl_run *call(void)
{
    return app_call(&caller);
}

static struct hl_run *call_with_body(const char *lines, enum hl_framing framing)
{
    return app_call_with_body(&caller, lines, framing);
}

/* The one deadline of the run has passed. */
static void fire(struct hl_run *run)
{
    run->timer.on_fire(&run->timer);
}

/* ---- the body ---- */

Test(forward, sends_the_head_and_then_the_body_as_it_comes)
{
    struct hl_run *run = call_with_body("Content-Length: 5", HL_FRAMING_LENGTH);
    int app = app_accept();
    app_await(app, "Content-Length: 5\r\n\r\n");
    caller_say(caller, "he");
    app_await(app, "\r\n\r\nhe");
    cr_assert_eq(run->request.half, HL_REQUEST_SENDING);
    caller_say(caller, "llo");
    app_await(app, "\r\n\r\nhello");
    UNTIL(run->request.half == HL_REQUEST_SENT);
    app_say(app, OK);
    caller_await(caller, "\r\n\r\nok");
}

Test(forward, sends_a_body_without_a_length_in_chunks_of_its_own)
{
    call_with_body("Transfer-Encoding: chunked", HL_FRAMING_CHUNKED);
    int app = app_accept();
    caller_say(caller, "3;ext\r\nabc\r\n");
    app_await(app, "\r\n\r\n3\r\nabc\r\n");
    caller_say(caller, "0\r\nX-Sum: 1\r\n\r\n");
    app_await(app, "abc\r\n0\r\nX-Sum: 1\r\n\r\n");
}

Test(forward, takes_nothing_of_a_body_before_the_head_is_sent)
{
    struct hl_run *run = call_with_body("Content-Length: 5", HL_FRAMING_LENGTH);
    cr_assert_eq(run->stage, HL_STAGE_CONNECTING);
    cr_assert(hl_forward_taker.is_blocked(run));
    app_accept();
    UNTIL(run->request.half == HL_REQUEST_SENDING);
    cr_assert_not(hl_forward_taker.is_blocked(run));
}

/* ---- an app that answers before it has read ---- */

#define CHUNK 4096 /* of the answer */

static void say_chunk(int app)
{
    static char text[CHUNK + 32];
    int n = snprintf(text, sizeof(text), "%x\r\n", CHUNK);
    memset(text + n, 'Q', CHUNK);
    memcpy(text + n + CHUNK, "\r\n", 3);
    app_say(app, text);
}

/* The caller writes, and reads nothing, until the app's socket takes no more. */
static void fill_app(struct hl_run *run)
{
    static char piece[65536];
    while (!hl_stream_is_blocked(&run->app.upstream->stream)) {
        (void)!send(caller, piece, sizeof(piece), MSG_DONTWAIT | MSG_NOSIGNAL);
        loop_turns(1);
    }
}

static size_t count(const char *text, char c)
{
    size_t n = 0;
    for (; *text; text++)
        n += *text == c;
    return n;
}

Test(forward, passes_an_early_answer_on_whole_to_a_caller_who_reads_slowly)
{
    size_t said = 0, got = 0;
    struct hl_run *run = call_with_body("Content-Length: 1000000000", HL_FRAMING_LENGTH);
    int app = app_accept();
    app_await(app, "Content-Length: 1000000000\r\n\r\n");
    fill_app(run);
    app_say(app, "HTTP/1.1 413 Content Too Large\r\nTransfer-Encoding: chunked\r\n\r\n");
    UNTIL(run->response.half == HL_RESPONSE_BODY);
    for (; run->app.upstream->stream.is_reading; said += CHUNK) {
        say_chunk(app);
        loop_turns(1);
    }
    say_chunk(app); /* this waits in the kernel */
    app_say(app, "0\r\n\r\n");
    UNTIL(app_is_acknowledged(app));
    app_close(app); /* with bytes that it has not read: a reset */
    UNTIL(run->request.half == HL_REQUEST_BROKEN);
    cr_assert_eq(run_count(), 1);
    UNTIL_WITH(got += count(caller_hear(caller), 'Q'), got >= said + CHUNK);
    cr_assert_eq(got, said + CHUNK);
    UNTIL(run_count() == 0);
    cr_assert_eq(hl_counter_get(&metrics.runs_finished[HL_MODE_SYNC][HL_RUN_FAILURE]), 1);
    cr_assert_eq(hl_counter_get(&metrics.upstream_errors[HL_REASON_UPSTREAM_RESET]), 0);
}

/* ---- a connection ---- */

Test(forward, says_why_there_is_no_connection)
{
    app_stop();
    config.connect_timeout_ms = 1;
    call();
    caller_await(caller, "HTTP/1.1 502 ");
    cr_assert_eq(run_count(), 0);
    cr_assert_eq(hl_counter_get(&metrics.upstream_errors[HL_REASON_UPSTREAM_UNREACHABLE]), 1);
}

Test(forward, counts_no_connect_for_a_connection_that_came_back)
{
    int other;
    call();
    int app = app_accept();
    app_await(app, APP_GET);
    app_stop();
    struct hl_run *waiting = app_call(&other);
    UNTIL(!hl_upstream_wait_is_connecting(&waiting->app.wait) &&
          hl_timer_is_armed(&waiting->app.wait.timer));
    app_say(app, "HTTP/1.1 204 No Content\r\n\r\n");
    UNTIL(waiting->stage == HL_STAGE_CALLING);
    cr_assert_eq(hl_counter_get(&metrics.upstream_connects), 1);
}

/* A kept connection to the app, over which one call has gone. */
static int keep_connection(void)
{
    call();
    int app = app_accept();
    app_await(app, GET);
    app_say(app, OK);
    caller_await(caller, "\r\n\r\nok");
    return app;
}

Test(forward, uses_a_kept_connection_again)
{
    int app = keep_connection();
    call();
    app_await(app, GET GET);
    cr_assert_not(app_is_called());
}

Test(forward, sends_a_get_again_when_a_kept_connection_dies)
{
    int app = keep_connection();
    struct hl_run *run = call();
    app_await(app, GET GET);
    app_close(app);
    app_await(app_accept(), GET);
    cr_assert_eq(run->request.repeat, HL_REPEAT_SPENT);
    cr_assert_eq(hl_counter_get(&metrics.upstream_resent), 1);
}

Test(forward, never_sends_a_post_again)
{
    int app = keep_connection();
    struct hl_run *run = run_called(&caller);
    run->request.method = HL_METHOD_POST;
    run_set_page(run, POST "Content-Length: 0\r\n\r\n", HL_FRAMING_NONE);
    hl_client_give_to(run->client, &hl_forward_taker, run);
    hl_forward_begin(run);
    UNTIL(run->request.half == HL_REQUEST_SENT);
    app_close(app);
    caller_await(caller, "HTTP/1.1 502 ");
    cr_assert_not(app_is_called());
    cr_assert_eq(hl_counter_get(&metrics.upstream_resent), 0);
}

Test(forward, never_sends_twice_when_an_answer_had_begun)
{
    int app = keep_connection();
    struct hl_run *run = call();
    app_await(app, GET GET);
    app_say(app, "HTTP/1.1");
    UNTIL(run->response.has_begun);
    app_close(app);
    caller_await(caller, "HTTP/1.1 502 ");
    cr_assert_not(app_is_called());
}

/* ---- deadlines ---- */

Test(forward, fails_a_call_that_the_app_does_not_answer)
{
    struct hl_run *run = call();
    int app = app_accept();
    UNTIL(run->request.half == HL_REQUEST_SENT);
    fire(run);
    caller_await(caller, "HTTP/1.1 504 ");
    UNTIL(app_is_left(app));
}

Test(forward, gives_the_app_time_while_it_waits_for_the_request)
{
    struct hl_run *run = call_with_body("Content-Length: 5", HL_FRAMING_LENGTH);
    app_accept();
    UNTIL(run->request.half == HL_REQUEST_SENDING);
    fire(run);
    cr_assert_not(hl_run_has_ended(run));
    cr_assert(hl_timer_is_armed(&run->timer));
}

/* ---- the gate ---- */

static void shut_gate(void)
{
    runs.gate.gate->rule = HL_APP_GATE_START;
    gate_close();
}

Test(forward, waits_for_the_gate_and_goes_on_at_once_when_it_opens)
{
    shut_gate();
    struct hl_run *run = call();
    cr_assert_eq(run->stage, HL_STAGE_AT_GATE);
    cr_assert_eq(hl_counter_get(&metrics.waiting_at_gate), 1);
    loop_turns(3);
    cr_assert_not(app_is_called());
    gate_open();
    cr_assert_eq(run->stage, HL_STAGE_CONNECTING);
    cr_assert_eq(hl_counter_get(&metrics.waiting_at_gate), 0);
    cr_assert_gt(run->times.gate_us, 0);
    cr_assert_eq(run->times.gate_us, run->times.queued_us, "it waited for nothing else");
    app_await(app_accept(), GET);
    cr_assert_gt(run->times.connect_us, 0);
    cr_assert_eq(run->times.connecting_from_us, 0);
}

Test(forward, says_when_to_come_again_when_the_gate_stays_shut)
{
    shut_gate();
    fire(call());
    caller_await(caller, "Retry-After: 10\r\n");
    cr_assert_eq(hl_counter_get(&metrics.waiting_at_gate), 0);
}

Test(forward, uses_no_kept_connection_while_the_gate_is_shut)
{
    call();
    int app = app_accept();
    app_await(app, GET);
    app_say(app, OK);
    caller_await(caller, &OK[15]);
    shut_gate();
    cr_assert_eq(runs.pool.member.idle_count, 0);
    struct hl_run *run = call();
    cr_assert_eq(run->stage, HL_STAGE_AT_GATE);
    gate_open();
    app_await(app_accept(), GET);
    cr_assert(app_is_left(app));
}

Test(forward, forgets_who_leaves_while_the_gate_is_shut)
{
    shut_gate();
    struct hl_run *run = call();
    hl_client_lose(run->client);
    cr_assert_eq(run_count(), 0);
    gate_open();
    loop_turns(3);
    cr_assert_not(app_is_called());
}

/* ---- a slot ---- */

static void set_limit(uint32_t queue)
{
    config.app_concurrency = LIMIT;
    hl_limiter_init(&runs.service->limiter, LIMIT, queue, runs.service->seats, 1);
}

Test(forward, waits_for_a_slot_and_then_calls_the_app)
{
    set_limit(10);
    struct hl_run *first = call();
    int app = app_accept();
    app_await(app, GET);
    struct hl_run *second = call();
    cr_assert_eq(first->stage, HL_STAGE_CALLING);
    cr_assert_eq(second->stage, HL_STAGE_QUEUED);
    cr_assert_eq(hl_counter_get(&metrics.waiting_for_slot), 1);
    app_say(app, OK);
    app_await(app, GET GET);
    cr_assert_eq(second->stage, HL_STAGE_CALLING);
    cr_assert_eq(hl_counter_get(&metrics.waiting_for_slot), 0);
}

Test(forward, has_no_slot_while_it_waits_for_the_gate)
{
    set_limit(10);
    call();
    int app = app_accept();
    app_await(app, GET);
    struct hl_run *second = call();
    cr_assert_eq(second->stage, HL_STAGE_QUEUED);
    shut_gate();
    app_close(app);
    UNTIL(second->stage == HL_STAGE_AT_GATE);
    cr_assert_eq(runs.service->limiter.in_use, 0);
    cr_assert_eq(hl_counter_get(&metrics.waiting_for_slot), 0);
    struct hl_run *third = call();
    cr_assert_eq(third->stage, HL_STAGE_AT_GATE, "before it asks for one");
    gate_open();
    cr_assert_eq(second->stage, HL_STAGE_CONNECTING, "in the order in which they came");
    cr_assert_eq(third->stage, HL_STAGE_QUEUED);
}

Test(forward, refuses_a_call_when_enough_of_them_wait)
{
    set_limit(1);
    call();
    call();
    call();
    caller_await(caller, "HTTP/1.1 429 ");
    cr_assert_eq(run_count(), 2);
    cr_assert_eq(hl_counter_get(&metrics.waiting_for_slot), 1);
}

Test(forward, fails_a_call_that_has_waited_for_a_slot_for_too_long)
{
    set_limit(10);
    call();
    fire(call());
    caller_await(caller, "HTTP/1.1 429 ");
    cr_assert_eq(hl_counter_get(&metrics.waiting_for_slot), 0);
}

Test(forward, does_not_call_the_app_for_one_who_has_left_while_it_waited)
{
    set_limit(10);
    call();
    int app = app_accept();
    app_await(app, GET);
    call();
    caller_say(caller, "GET /next HTTP/1.1\r\nHost: h\r\n\r\n"); /* hides the FIN from reading */
    loop_turns(2);
    caller_end(caller);
    app_say(app, OK);
    UNTIL(run_count() == 0);
    cr_assert_not(app_has_got(app, GET GET) || app_is_called());
    cr_assert_eq(runs.service->limiter.in_use, 0);
}

Test(forward, has_the_body_before_it_asks_for_one_of_few_slots)
{
    set_limit(10);
    struct hl_run *slow = call_with_body("Content-Length: 5", HL_FRAMING_LENGTH);
    cr_assert_eq(slow->stage, HL_STAGE_GATHERING);
    caller_say(caller, "he");
    int slow_caller = caller;
    struct hl_run *quick = call();
    cr_assert(quick->app.has_slot, "nobody is in its way");
    int app = app_accept();
    app_await(app, GET);
    cr_assert_not(app_is_called());
    caller_say(slow_caller, "llo");
    UNTIL(slow->stage == HL_STAGE_QUEUED);
    app_say(app, OK);
    app_await(app, "\r\n\r\nhello");
}

Test(forward, tells_a_caller_to_send_the_body_that_it_gathers)
{
    set_limit(10);
    call_with_body("Expect: 100-continue\r\nContent-Length: 5", HL_FRAMING_LENGTH);
    caller_await(caller, "HTTP/1.1 100 Continue\r\n\r\n");
    cr_assert_not(app_is_called());
    caller_say(caller, "hello");
    app_await(app_accept(), "\r\n\r\nhello");
}

Test(forward, asks_for_a_slot_when_256_KiB_of_the_body_are_there)
{
    struct hl_run *run = run_new();
    struct hl_client client = {.body_seen = 256 * 1024 - 1};
    run->client = &client;
    cr_assert_not(hl_admission_has_enough(run));
    client.body_seen++;
    cr_assert(hl_admission_has_enough(run));
    run->client = NULL;
}

Test(forward, gathers_only_where_callers_share_few_slots_and_a_body_is_still_to_come)
{
    struct hl_run *run = run_new();
    struct hl_client client;
    run->client = &client;
    cr_assert_not(hl_admission_needs_body(run));
    config.app_concurrency = 1;
    cr_assert(hl_admission_needs_body(run));
    run->request.is_whole = true;
    cr_assert_not(hl_admission_needs_body(run));
    run->request.is_whole = false;
    run->client = NULL;
    cr_assert_not(hl_admission_needs_body(run), "a stored body waits for nobody");
}
