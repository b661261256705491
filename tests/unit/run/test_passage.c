/* test_passage.c - what one read of the app becomes for the caller and for the copy. */
#include "caller/client.h"
#include "caller/taker.h"
#include "callers_fixture.h"
#include "loop_fixture.h"
#include "run/passage.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "run/run.h"
#include "runs_fixture.h"

static int caller;
static struct hl_run *run;
static struct hl_passage pass;
static char got[256 * 1024];
static size_t got_n;

static void begin(void)
{
    runs_begin();
    run = run_called(&caller);
    hl_passage_init(&pass);
}

TestSuite(passage, .init = begin, .fini = runs_end, .timeout = 180);

static void add(const char *text)
{
    cr_assert(hl_passage_add(run, &pass, hl_str_from(text)));
}

static size_t hear(void)
{
    const char *more = caller_hear(caller);
    size_t n = strlen(more);
    memcpy(got + got_n, more, n);
    return got_n += n;
}

static void assert_got(const char *text)
{
    UNTIL(hear() >= strlen(text));
    cr_assert_str_eq(got, text);
}

Test(passage, is_one_write)
{
    run->response.framing = HL_FRAMING_LENGTH;
    add("one ");
    add("two");
    loop_turns(3);
    cr_assert_eq(hear(), 0, "nothing goes out before the flush");
    cr_assert(hl_passage_flush(run, &pass));
    assert_got("one two");
}

Test(passage, frames_each_slice_for_a_caller_of_chunks)
{
    run->response.framing = HL_FRAMING_CHUNKED;
    add("0123456789abcdef");
    add("x");
    cr_assert(hl_passage_add_end(run, &pass, HL_STR("X-T: 1\r\n")));
    cr_assert(hl_passage_flush(run, &pass));
    assert_got("10\r\n0123456789abcdef\r\n1\r\nx\r\n0\r\nX-T: 1\r\n\r\n");
}

Test(passage, has_no_end_where_the_length_says_it)
{
    run->response.framing = HL_FRAMING_LENGTH;
    add("x");
    cr_assert(hl_passage_add_end(run, &pass, HL_STR("X-T: 1\r\n")));
    cr_assert(hl_passage_flush(run, &pass));
    assert_got("x");
}

Test(passage, keeps_the_order_of_long_slices_and_short_ones)
{
    static char text[3 * 20000 + 16];
    size_t n = 0;
    run->response.framing = HL_FRAMING_LENGTH;
    for (int i = 0; i < 3; i++) {
        memset(text + n, 'a' + i, 20000);
        cr_assert(hl_passage_add(run, &pass, (struct hl_str){text + n, 20000}));
        n += 20000;
        memcpy(text + n, "-", 1);
        cr_assert(hl_passage_add(run, &pass, (struct hl_str){text + n, 1}));
        n++;
    }
    cr_assert(hl_passage_flush(run, &pass));
    assert_got(text);
}

Test(passage, writes_in_between_when_there_are_too_many_slices)
{
    char text[3 * HL_PASSAGE_VIEWS];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    run->response.framing = HL_FRAMING_LENGTH;
    for (size_t i = 0; i < sizeof(text) - 1; i++)
        add("x");
    cr_assert(hl_passage_flush(run, &pass));
    assert_got(text);
}

/* ---- the copy ---- */

static struct {
    bool is_done;
    struct hl_body body;
} copy;

static void on_room(void *owner)
{
    (void)owner;
}

static void on_done(void *owner, struct hl_spool *spool, enum hl_err err, struct hl_body *body)
{
    (void)owner;
    (void)spool;
    cr_assert_eq(err, HL_OK);
    run->spool = NULL;
    copy.is_done = true;
    copy.body = *body;
}

static const struct hl_spool_events events = {.on_room = on_room, .on_done = on_done};

static void assert_copy(const char *text)
{
    hl_spool_end(run->spool);
    UNTIL(copy.is_done);
    cr_assert_eq(copy.body.size, strlen(text));
    cr_assert_eq(memcmp(copy.body.bytes, text, copy.body.size), 0);
    hl_body_fini(&copy.body);
}

Test(passage, shows_the_copy_the_body_without_its_framing)
{
    run->spool = hl_spool_new(&runs.spools, UINT64_MAX, true, false, &events, run);
    run->response.framing = HL_FRAMING_CHUNKED;
    add("abc");
    add("def");
    cr_assert(hl_passage_add_end(run, &pass, HL_STR("")));
    cr_assert(hl_passage_flush(run, &pass));
    assert_got("3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n");
    assert_copy("abcdef");
}

Test(passage, goes_to_the_copy_alone_when_the_caller_has_gone)
{
    run->spool = hl_spool_new(&runs.spools, UINT64_MAX, true, false, &events, run);
    run->response.framing = HL_FRAMING_CHUNKED;
    run->client = NULL;
    add("abc");
    cr_assert(hl_passage_add_end(run, &pass, HL_STR("")));
    cr_assert(hl_passage_flush(run, &pass));
    assert_copy("abc");
}

/* What the run's taker does when nobody else waits. */
static void end_run(void *owner)
{
    (void)owner;
    taker.client = NULL;
    run->client = NULL;
    hl_run_free(run);
}

Test(passage, says_that_the_run_has_ended_with_its_caller)
{
    taker.table.caller_gone = end_run;
    run->response.framing = HL_FRAMING_LENGTH;
    run->spool = hl_spool_new(&runs.spools, UINT64_MAX, true, false, &events, run);
    hl_stream_shutdown(&run->client->stream); /* as if it were reset: writing fails */
    UNTIL(run->client->stream.is_shut);
    loop_turns(2);
    add("x");
    cr_assert_not(hl_passage_flush(run, &pass));
    cr_assert(hl_run_has_ended(run));
}
