/* test_relay.c - one run's events as another replica writes them. */
#include "base/buf.h"
#include "base/clock.h"
#include "body/relay.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "body/relay_name.h"
#include "loop_fixture.h"
#include "replica.h"
#include "store/relay_pass.h"

static const struct hl_id run_id = {.b = {1, 2, 3}};

static struct hl_relay *relay;
static struct hl_relay_names names;
static struct hl_relay_parts parts;
static struct hl_relay_request request;
static bool drops_at_answer, drops_at_bytes;

/* What it told its owner. */
static struct {
    unsigned answers, ends;
    uint16_t status;
    enum hl_run_state state;
    struct hl_buf text;
    bool is_whole;
} told;

static void on_answer(void *owner, uint16_t status, enum hl_run_state state)
{
    cr_assert_eq(owner, &told);
    told.answers++;
    told.status = status;
    told.state = state;
    if (drops_at_answer)
        hl_relay_drop(relay);
}

static void on_bytes(void *owner, struct hl_str bytes)
{
    (void)owner;
    cr_assert_eq(told.answers, 1);
    cr_assert_eq(hl_buf_append_str(&told.text, bytes), HL_OK);
    if (drops_at_bytes)
        hl_relay_drop(relay);
}

static void on_end(void *owner, bool is_whole)
{
    (void)owner;
    told.ends++;
    told.is_whole = is_whole;
    relay = NULL;
}

static const struct hl_relay_events events = {
    .answer = on_answer, .bytes = on_bytes, .end = on_end};

static void begin(void)
{
    loop_begin();
    hl_buf_init(&told.text, 0);
    hl_relay_names_init(&names, &loop);
    replica_listen();
    parts = (struct hl_relay_parts){.loop = &loop,
        .reader = &reader,
        .wheel = &wheel,
        .names = &names,
        .store = replica_store(),
        .events = &events,
        .owner = &told};
    request = (struct hl_relay_request){.home = hl_str_from(replica_url),
        .project = HL_STR("shop"),
        .app = HL_STR("mail"),
        .run_id = run_id};
}

static void end(void)
{
    hl_relay_names_close(&names);
    replica_close();
    hl_buf_fini(&told.text);
    loop_end();
}

TestSuite(relay, .init = begin, .fini = end, .timeout = 180);

static void ask(void)
{
    relay = hl_relay_begin(&parts, &request);
    cr_assert_not_null(relay);
    cr_assert_eq(told.ends, 0, "it says nothing before the return");
    UNTIL(replica_has_got("\r\n\r\n"));
}

static bool has(const char *text)
{
    return hl_str_eq(hl_buf_str(&told.text), hl_str_from(text));
}

/* ---- what it asks ---- */

Test(relay, asks_for_the_run_with_a_pass_for_it)
{
    struct hl_id id;
    ask();
    cr_assert(replica_has_got("GET /v2/projects/shop/apps/mail/runs/"
                              "01020300-0000-0000-0000-000000000000/events?progress=false "
                              "HTTP/1.1\r\n"));
    cr_assert_str_eq(replica_field("Host"), replica_url + strlen("http://"));
    cr_assert_null(replica_field("Last-Event-ID"));
    const char *pass = replica_field(HL_RELAY_PASS_NAME);
    cr_assert_not_null(pass);
    cr_assert(hl_relay_pass_read(parts.store, hl_str_from(pass), hl_clock_wall_ms(), &id));
    cr_assert(hl_id_eq(&id, &run_id));
    hl_relay_drop(relay);
}

/* Whatever the id holds, it is no part of the request. */
Test(relay, asks_for_progress_and_from_an_event_on)
{
    request.wants_progress = true;
    request.last_event_id = HL_STR("4 x\r\n ");
    ask();
    cr_assert(
        replica_has_got("/events?progress=true&last_event_id=%34%20%78%0d%0a%20 HTTP/1.1\r\n"));
    hl_relay_drop(relay);
}

Test(relay, asks_nobody_whose_address_is_none)
{
    static const char *homes[] = {"", "nothing", "https://127.0.0.1:1", "http://"};
    for (size_t i = 0; i < HL_ARRAY_LEN(homes); i++) {
        request.home = hl_str_from(homes[i]);
        cr_assert_null(hl_relay_begin(&parts, &request), "%s", homes[i]);
    }
}

/* ---- what it is answered ---- */

#define OK "HTTP/1.1 200 OK\r\n" REPLICA_ABOUT

Test(relay, passes_the_bytes_of_the_answer_without_their_framing)
{
    ask();
    replica_say(OK "X-Run-State: queued\r\nTransfer-Encoding: chunked\r\n\r\n"
                   "4\r\nab");
    UNTIL(has("ab"));
    cr_assert_eq(told.status, 200);
    cr_assert_eq(told.state, HL_RUN_QUEUED);
    replica_say("cd\r\n1\r\ne\r\n");
    UNTIL(has("abcde"));
    cr_assert_eq(told.ends, 0);
    replica_say("0\r\n\r\n");
    UNTIL(told.ends == 1);
    cr_assert(told.is_whole);
}

Test(relay, reads_a_head_that_comes_in_pieces_after_interim_ones)
{
    static const char *pieces[] = {"HTTP/1.1 103 Early Hints\r\nX: y\r\n", "\r\nHTTP/1.1 20",
        "0 OK\r\n" REPLICA_ABOUT "X-Run-State: success\r\nContent-Len", "gth: 3\r\n\r", "\nabc"};
    ask();
    for (size_t i = 0; i < HL_ARRAY_LEN(pieces); i++) {
        replica_say(pieces[i]);
        loop_turns(3);
    }
    UNTIL(told.ends == 1);
    cr_assert(told.is_whole);
    cr_assert_eq(told.answers, 1);
    cr_assert_eq(told.state, HL_RUN_SUCCESS);
    cr_assert(has("abc"));
}

Test(relay, tells_of_another_answer)
{
    ask();
    replica_say("HTTP/1.1 409 Conflict\r\n" REPLICA_ABOUT "Content-Length: 2\r\n\r\n{}");
    UNTIL(told.ends == 1);
    cr_assert_eq(told.status, 409);
}

Test(relay, fails_for_an_answer_that_does_not_name_the_run)
{
    ask();
    replica_say("HTTP/1.1 200 OK\r\nX-Request-Id: 01020300-0000-0000-0000-000000000001\r\n"
                "Content-Length: 3\r\n\r\nabc");
    UNTIL(told.ends == 1);
    cr_assert_eq(told.answers, 0);
    cr_assert_not(told.is_whole);
}

Test(relay, ends_broken_off_with_its_connection)
{
    ask();
    replica_say(OK "Transfer-Encoding: chunked\r\n\r\n4\r\nab");
    UNTIL(has("ab"));
    replica_close();
    UNTIL(told.ends == 1);
    cr_assert_not(told.is_whole);
}

Test(relay, ends_broken_off_by_framing_that_is_none)
{
    ask();
    replica_say(OK "Transfer-Encoding: chunked\r\n\r\nxyz\r\n");
    UNTIL(told.ends == 1);
    cr_assert_not(told.is_whole);
}

/* ---- what fails ---- */

Test(relay, fails_where_nobody_listens)
{
    replica_close();
    relay = hl_relay_begin(&parts, &request);
    cr_assert_not_null(relay);
    cr_assert_eq(told.ends, 0);
    UNTIL(told.ends == 1);
    cr_assert_not(told.is_whole);
    cr_assert_eq(told.answers, 0);
}

Test(relay, fails_for_an_answer_that_is_no_http)
{
    ask();
    replica_say("SSH-2.0-x\r\n\r\n");
    UNTIL(told.ends == 1);
    cr_assert_eq(told.answers, 0);
    cr_assert_not(told.is_whole);
}

Test(relay, fails_for_a_head_without_end)
{
    char line[1024];
    memset(line, 'x', sizeof(line));
    memcpy(line, "A: ", 3);
    memcpy(line + sizeof(line) - 3, "\r\n", 3);
    ask();
    replica_say(OK);
    for (int i = 0; i < 20; i++)
        replica_say(line);
    UNTIL(told.ends == 1);
    cr_assert_eq(told.answers, 0);
}

Test(relay, fails_when_a_head_does_not_come_in_five_seconds)
{
    ask();
    uint64_t asked = hl_clock_mono_ms();
    replica_say(OK);
    UNTIL(told.ends == 1);
    cr_assert_not(told.is_whole);
    cr_assert_eq(told.answers, 0);
    cr_assert_geq(hl_clock_mono_ms() - asked, 4500);
    UNTIL(replica_is_left());
}

Test(relay, ends_broken_off_by_a_silence)
{
    parts.silence_ms = 100;
    ask();
    replica_say(OK "Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n");
    UNTIL(has("ab"));
    UNTIL(told.ends == 1);
    cr_assert_not(told.is_whole);
}

/* ---- its pace ---- */

Test(relay, takes_no_more_while_it_is_paused)
{
    static char much[64 * 1024];
    size_t sent = 0, more;
    parts.silence_ms = 200;
    memset(much, 'x', sizeof(much));
    ask();
    replica_say(OK "Content-Length: 1000000000\r\n\r\n");
    UNTIL(told.answers == 1);
    hl_relay_pause(relay);
    while ((more = replica_pour(much, sizeof(much))) > 0)
        sent += more;
    uint64_t until = hl_clock_mono_ms() + 400;
    UNTIL(hl_clock_mono_ms() > until);
    cr_assert_eq(told.text.n, 0);
    cr_assert_eq(told.ends, 0, "whoever pauses it bears the silence");
    hl_relay_resume(relay);
    UNTIL(told.text.n >= sent);
    hl_relay_drop(relay);
}

/* ---- who asked has left ---- */

Test(relay, is_dropped_before_it_has_connected)
{
    relay = hl_relay_begin(&parts, &request);
    hl_relay_drop(relay);
    hl_relay_drop(NULL);
    UNTIL(loop_is_idle());
    cr_assert_eq(told.ends, 0);
}

Test(relay, is_dropped_from_inside_its_answer)
{
    drops_at_answer = true;
    ask();
    replica_say(OK "Content-Length: 3\r\n\r\nabc");
    UNTIL(told.answers == 1);
    UNTIL(replica_is_left());
    cr_assert_eq(told.text.n, 0);
    cr_assert_eq(told.ends, 0);
}

Test(relay, is_dropped_from_inside_its_bytes)
{
    drops_at_bytes = true;
    ask();
    replica_say(OK "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n1\r\nb\r\n");
    UNTIL(replica_is_left());
    cr_assert(has("a"));
    cr_assert_eq(told.ends, 0);
}
