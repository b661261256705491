/* test_follower.c - somebody who reads a run's events: what he is answered, and what he gets from the run's
 * journal, its file, the store and another replica. */
#include "base/buf.h"
#include "base/clock.h"
#include "body/follow.h"
#include "body/follower.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "body/follow_desk.h"
#include "body/journal.h"
#include "fake_store.h"
#include "loop_fixture.h"
#include "replica.h"
#include "store/body_file.h"
#include "store/claim.h"
#include "store/question.h"

#define NOBODY_ASKED UINT32_MAX
#define EVENT_STREAM "text/event-stream"

static const struct hl_id run_id = {.b = {1, 2, 3}};

static struct hl_follow_desk desk;
static struct hl_journals journals;
static struct hl_journal *journal; /* NULL: the run is not inside */
static int file = -1;

/* Whoever follows: what it was told. It frees the follower where that is its own to free. */
struct listener {
    struct hl_follower *f;
    unsigned answers, writes;
    enum hl_follow_answer answer;
    enum hl_run_state state;
    bool is_blocked, is_ended, is_whole;
    bool leaves_at_write;
    struct hl_buf text;
};
static struct listener me, other;

/* What the store knows of the run. */
static struct {
    enum hl_err rc;
    enum hl_run_state state;
    enum hl_run_reason reason;
    uint32_t attempt;
    uint16_t http_status;
    const char *log, *type, *coding, *bytes, *home;
    enum hl_body_where where;
} stored;
static unsigned asked;
static struct hl_watch *watching;

static void begin(void)
{
    loop_begin();
    fake_store_begin();
    hl_journals_init(&journals, 1000);
    desk = (struct hl_follow_desk){.loop = &loop,
        .wheel = &wheel,
        .reader = &reader,
        .store = replica_store(),
        .journals = &journals};
    cr_assert_eq(hl_follow_desk_init(&desk), 0);
    stored.type = EVENT_STREAM;
    stored.log = stored.coding = "";
    stored.http_status = 200;
    stored.attempt = 1;
}

static void serve(void);

static void end(void)
{
    hl_follower_free(me.f);
    hl_follower_free(other.f);
    hl_journals_close(journal);
    serve();
    cr_assert_null(watching, "nobody waits for the run's end any more");
    hl_follow_desk_close(&desk);
    UNTIL(loop_is_idle());
    cr_assert_eq(journals.map.n, 0);
    cr_assert_eq(hl_journals_followers(&journals), 0, "the place is given back");
    hl_buf_fini(&me.text);
    hl_buf_fini(&other.text);
    loop_end();
    hl_follow_desk_fini(&desk);
    hl_journals_fini(&journals);
    if (file >= 0)
        close(file);
}

TestSuite(follower, .init = begin, .fini = end, .timeout = 180);

/* ---- the store ---- */

static void give_back(struct hl_store_msg *m, enum hl_err rc)
{
    m->rc = rc;
    hl_mailbox_post(m->reply_to, &m->msg);
}

static void answer_run(struct hl_get_run *g)
{
    asked++;
    cr_assert(hl_id_eq(&g->run_id, &run_id));
    cr_assert_str_eq(g->project, "shop");
    cr_assert_str_eq(g->app, "mail");
    size_t n = stored.bytes ? strlen(stored.bytes) : 0;
    size_t left = g->range_from < n ? n - g->range_from : 0;
    g->run.state = stored.state;
    g->run.attempt = stored.attempt;
    g->run.attempt_log = hl_str_from(stored.log);
    g->run.project = HL_STR("shop");
    g->run.app = HL_STR("mail");
    g->outcome.state = stored.state;
    g->outcome.reason = stored.reason;
    g->outcome.http_status = stored.http_status;
    g->outcome.body = (struct hl_body){.where = stored.where, .size = n};
    snprintf(g->outcome.content_type, sizeof(g->outcome.content_type), "%s", stored.type);
    snprintf(g->outcome.content_encoding, sizeof(g->outcome.content_encoding), "%s", stored.coding);
    hl_buf_init(&g->range, 0);
    hl_buf_init(&g->home, 0);
    hl_buf_init(&g->progress, 0);
    if (left > 0)
        cr_assert_eq(hl_buf_append_str(&g->range, (struct hl_str){stored.bytes + g->range_from,
                                                      left < g->range_max ? left : g->range_max}),
            HL_OK);
    if (stored.home)
        cr_assert_eq(hl_buf_append_str(&g->home, hl_str_from(stored.home)), HL_OK);
    give_back(&g->m, stored.rc);
}

/* Answers all that was asked. */
static void serve(void)
{
    while (fake_store.count > 0) {
        struct hl_store_msg *m = fake_store_take(fake_store.posted[0]->msg.type);
        struct hl_watch *watch = (struct hl_watch *)m;
        if (m->msg.type == HL_STORE_GET_RUN) {
            answer_run((struct hl_get_run *)m);
        } else if (m->msg.type == HL_STORE_WATCH) {
            cr_assert_null(watching);
            watching = watch;
        } else if (hl_id_is_nil(&watch->run_id)) {
            give_back(m, HL_OK);
        } else {
            give_back(m, HL_OK);
            if (watching)
                give_back(&watching->m, HL_ERR_CANCELLED);
            watching = NULL;
        }
    }
}

#define UNTIL_SERVED(claim) UNTIL_WITH(serve(), claim)

/* Its end is on disk. */
static void end_in_store(enum hl_run_state state, const char *bytes)
{
    stored.state = state;
    stored.bytes = bytes;
    stored.where = bytes ? HL_BODY_INLINE : HL_BODY_NONE;
    if (watching)
        give_back(&watching->m, HL_OK);
    watching = NULL;
}

/* ---- whoever follows ---- */

static void leave(struct listener *l)
{
    hl_follower_free(l->f);
    l->f = NULL;
}

static bool on_answer(void *owner, enum hl_follow_answer answer, enum hl_run_state state)
{
    struct listener *l = owner;
    l->answers++;
    l->answer = answer;
    l->state = state;
    if (answer != HL_FOLLOW_OK)
        leave(l);
    return answer == HL_FOLLOW_OK;
}

static bool on_is_blocked(void *owner)
{
    return ((struct listener *)owner)->is_blocked;
}

static bool on_write(void *owner, struct hl_str bytes)
{
    struct listener *l = owner;
    cr_assert_eq(l->answers, 1, "the answer comes first, once");
    cr_assert_leq(bytes.n, HL_FOLLOW_PIECE);
    cr_assert_not(l->is_blocked);
    cr_assert_eq(hl_buf_append_str(&l->text, bytes), HL_OK);
    l->writes++;
    if (l->leaves_at_write)
        leave(l);
    return !l->leaves_at_write;
}

static void on_end(void *owner, bool is_whole)
{
    struct listener *l = owner;
    cr_assert_eq(l->answer, HL_FOLLOW_OK);
    l->is_ended = true;
    l->is_whole = is_whole;
    leave(l);
}

static const struct hl_follower_events events = {
    .answer = on_answer, .is_blocked = on_is_blocked, .write = on_write, .end = on_end};

static struct hl_follow *make_grant(enum hl_run_state state, const char *wanted)
{
    struct hl_follow *grant = calloc(1, sizeof(*grant));
    cr_assert_not_null(grant);
    grant->run_id = run_id;
    strcpy(grant->project, "shop");
    strcpy(grant->app, "mail");
    grant->state = state;
    grant->attempt = state == HL_RUN_QUEUED ? 0 : 1;
    grant->wanted_n = (uint16_t)strlen(wanted);
    memcpy(grant->wanted, wanted, grant->wanted_n);
    cr_assert_eq(
        hl_journals_enter(&journals, &run_id, HL_STR("ann"), &grant->place), HL_FOLLOW_GRANTED);
    return grant;
}

static void start(struct listener *l, struct hl_follow *grant, bool is_chunked)
{
    hl_buf_init(&l->text, 0);
    l->f = hl_follower_new(&desk, grant, is_chunked, &events, l);
    cr_assert_not_null(l->f);
    hl_follower_start(l->f);
}

static void follow(enum hl_run_state state, const char *wanted)
{
    start(&me, make_grant(state, wanted), false);
}

static void follow_with_progress(enum hl_run_state state)
{
    struct hl_follow *grant = make_grant(state, "");
    grant->wants_progress = true;
    start(&me, grant, false);
}

static bool has(const struct listener *l, const char *text)
{
    return hl_str_eq(hl_buf_str(&l->text), hl_str_from(text));
}

/* A turn of a busy machine may have had two heartbeats. */
static bool begins(const struct listener *l, const char *text)
{
    return hl_str_starts_with(hl_buf_str(&l->text), hl_str_from(text));
}

#define ASSERT_TEXT(all) cr_assert(has(&me, all), "%.*s", HL_STR_ARG(hl_buf_str(&me.text)))

static bool is_refused(enum hl_follow_answer answer)
{
    return me.answers == 1 && me.answer == answer && !me.f;
}

/* ---- the run ---- */

static void open_run(uint32_t attempt, uint64_t before)
{
    journal = hl_journals_open(&journals, &run_id, attempt, before);
    cr_assert_not_null(journal);
}

static void begin_stream(void)
{
    open_run(1, 0);
    hl_journal_begin_stream(journal, false);
}

static void begin_stream_in_file(void)
{
    char path[] = "/tmp/hl-follower-XXXXXX";
    file = mkstemp(path);
    cr_assert_geq(file, 0);
    unlink(path);
    open_run(1, 0);
    hl_journal_begin_stream(journal, true);
}

static void add_bytes(struct hl_str bytes)
{
    if (file >= 0)
        cr_assert_eq(hl_body_file_write(file, bytes), HL_OK);
    hl_journal_expect(journal, bytes.n);
    cr_assert(hl_journal_add(journal, bytes, file));
}

static void add(const char *text)
{
    add_bytes(hl_str_from(text));
}

static void end_run(enum hl_run_state state)
{
    hl_journal_end(journal, state, HL_REASON_NONE, false);
}

static void close_run(void)
{
    hl_journals_close(journal);
    journal = NULL;
}

/* What followers are told of: the store has its end. */
static void finish_run(enum hl_run_state state)
{
    end_run(state);
    close_run();
}

/* An event with an id of its own, so that it goes out as it is, `n` bytes long. */
static char *make_event(size_t n)
{
    char *event = malloc(n + 1);
    memset(event, 'x', n);
    memcpy(event, "id: e\ndata: ", 12);
    memcpy(event + n - 2, "\n\n", 3);
    return event;
}

/* ---- of a run that is inside this process ---- */

Test(follower, gets_each_event_with_its_id_as_it_comes)
{
    begin_stream();
    follow(HL_RUN_RUNNING, "");
    cr_assert_eq(me.answer, HL_FOLLOW_OK);
    cr_assert_eq(me.state, HL_RUN_RUNNING);
    add("data: a\n\n");
    UNTIL(has(&me, "data: a\nid: 1\n\n"));
    add("data: b\n");
    add("\n");
    UNTIL(has(&me, "data: a\nid: 1\n\ndata: b\nid: 2\n\n"));
    cr_assert_not(me.is_ended);
    finish_run(HL_RUN_SUCCESS);
    UNTIL(me.is_ended);
    cr_assert(me.is_whole);
    cr_assert_eq(asked, 0, "no store is asked for it");
}

Test(follower, gets_what_came_before_it_did)
{
    begin_stream();
    add("data: a\n\nid: x\ndata: b\n\n");
    follow(HL_RUN_RUNNING, "");
    ASSERT_TEXT("data: a\nid: 1\n\nid: x\ndata: b\n\n");
}

Test(follower, is_answered_before_the_app_is)
{
    open_run(1, 0);
    follow(HL_RUN_RUNNING, "");
    cr_assert_eq(me.answers, 1);
    cr_assert_eq(me.answer, HL_FOLLOW_OK);
    hl_journal_begin_stream(journal, false);
    add("data: a\n\n");
    UNTIL(has(&me, "data: a\nid: 1\n\n"));
}

Test(follower, is_refused_for_a_response_that_is_no_stream)
{
    open_run(1, 0);
    hl_journal_begin_other(journal);
    follow(HL_RUN_RUNNING, "");
    cr_assert(is_refused(HL_FOLLOW_NO_STREAM));
}

Test(follower, that_was_answered_ends_with_a_response_that_is_no_stream)
{
    open_run(1, 0);
    follow(HL_RUN_RUNNING, "");
    hl_journal_begin_other(journal);
    loop_turns(3);
    cr_assert_not(me.is_ended, "its end is still said");
    finish_run(HL_RUN_SUCCESS);
    UNTIL(me.is_ended);
    cr_assert(me.is_whole);
    ASSERT_TEXT("");
}

Test(follower, is_told_that_a_stream_is_not_kept_any_more)
{
    begin_stream();
    hl_journal_drop(journal);
    follow(HL_RUN_RUNNING, "");
    cr_assert(is_refused(HL_FOLLOW_GONE));
}

Test(follower, is_broken_off_when_its_stream_is_dropped)
{
    begin_stream();
    add("data: a\n\n");
    follow(HL_RUN_RUNNING, "");
    hl_journal_drop(journal);
    UNTIL(me.is_ended);
    cr_assert_not(me.is_whole);
}

Test(follower, has_nothing_of_a_stream_that_ended_empty)
{
    begin_stream();
    end_run(HL_RUN_SUCCESS);
    follow(HL_RUN_RUNNING, "");
    close_run();
    UNTIL(me.answers == 1);
    cr_assert(is_refused(HL_FOLLOW_NOTHING));
    cr_assert_eq(me.state, HL_RUN_SUCCESS);
}

Test(follower, has_nothing_of_a_stream_that_ended_without_a_whole_event)
{
    begin_stream();
    add(": nothing\n\nretry: 5\n\ndata: unfinished");
    end_run(HL_RUN_SUCCESS);
    follow(HL_RUN_RUNNING, "");
    close_run();
    UNTIL(me.answers == 1);
    cr_assert(is_refused(HL_FOLLOW_NOTHING));
}

Test(follower, gets_the_unfinished_last_event_without_an_id)
{
    begin_stream();
    add("data: a\n\ndata: b");
    end_run(HL_RUN_FAILURE);
    follow(HL_RUN_RUNNING, "");
    close_run();
    UNTIL(me.is_ended);
    ASSERT_TEXT("data: a\nid: 1\n\ndata: b");
    cr_assert(me.is_whole);
}

Test(follower, frames_what_it_writes_as_chunks_where_that_is_wanted)
{
    begin_stream();
    add("data: a\n\n");
    start(&me, make_grant(HL_RUN_RUNNING, ""), true);
    ASSERT_TEXT("f\r\ndata: a\nid: 1\n\n\r\n");
}

Test(follower, reads_a_long_stream_from_its_file_and_goes_on_with_what_comes)
{
    size_t n = 3 * HL_BODY_INLINE_MAX + 777;
    char *event = make_event(n);
    begin_stream_in_file();
    add_bytes((struct hl_str){event, n});
    follow(HL_RUN_RUNNING, "");
    UNTIL(me.text.n == n);
    cr_assert_eq(memcmp(me.text.p, event, n), 0);
    add("data: last\n\n");
    UNTIL(me.text.n > n);
    cr_assert(
        hl_str_eq((struct hl_str){me.text.p + n, me.text.n - n}, HL_STR("data: last\nid: 2\n\n")));
    free(event);
}

Test(follower, is_woken_with_all_others_however_many_they_are)
{
    enum { MANY = 90 };
    static struct listener many[MANY];
    begin_stream();
    for (size_t i = 0; i < MANY; i++)
        start(&many[i], make_grant(HL_RUN_RUNNING, ""), false);
    add("data: a\n\n");
    for (size_t i = 0; i < MANY; i++)
        UNTIL(has(&many[i], "data: a\nid: 1\n\n"));
    finish_run(HL_RUN_SUCCESS);
    for (size_t i = 0; i < MANY; i++) {
        UNTIL(many[i].is_ended);
        hl_buf_fini(&many[i].text);
    }
}

/* ---- from where on ---- */

Test(follower, begins_after_the_event_that_it_names)
{
    begin_stream();
    add("data: a\n\nid: x\ndata: b\n\ndata: c\n\n");
    follow(HL_RUN_RUNNING, "x");
    ASSERT_TEXT("data: c\nid: 3\n\n");
    start(&other, make_grant(HL_RUN_RUNNING, "1"), false);
    cr_assert(has(&other, "id: x\ndata: b\n\ndata: c\nid: 3\n\n"));
}

Test(follower, begins_after_an_event_that_is_in_the_file_alone)
{
    size_t n = 2 * HL_BODY_INLINE_MAX;
    char *event = make_event(n);
    begin_stream_in_file();
    add("id: early\ndata: a\n\n");
    add_bytes((struct hl_str){event, n});
    add("data: z\n\n");
    follow(HL_RUN_RUNNING, "early");
    UNTIL(me.text.n > n);
    cr_assert_eq(memcmp(me.text.p, event, n), 0);
    free(event);
}

Test(follower, is_refused_for_an_id_that_the_stream_does_not_have)
{
    begin_stream();
    add("data: a\n\n");
    follow(HL_RUN_RUNNING, "x");
    cr_assert(is_refused(HL_FOLLOW_BAD_ID));
}

Test(follower, waits_for_an_event_that_is_on_its_way_to_the_file)
{
    begin_stream();
    hl_journal_expect(journal, 18);
    follow(HL_RUN_RUNNING, "x");
    cr_assert_eq(me.answers, 0, "its caller may have seen it");
    cr_assert(hl_journal_add(journal, HL_STR("id: x\ndata: a\n\nda"), -1));
    UNTIL(me.answers == 1);
    cr_assert_eq(me.answer, HL_FOLLOW_OK);
    UNTIL(has(&me, "da"));
}

Test(follower, that_names_an_ordinal_beyond_a_running_stream_begins_with_the_next_event)
{
    begin_stream();
    add("data: a\n\n");
    follow(HL_RUN_RUNNING, "7");
    cr_assert_eq(me.answer, HL_FOLLOW_OK);
    ASSERT_TEXT("");
    add("data: b\n\n");
    UNTIL(has(&me, "data: b\nid: 2\n\n"));
}

Test(follower, that_has_the_last_event_of_an_ended_stream_is_told_to_stop)
{
    begin_stream();
    add("data: a\n\n");
    end_run(HL_RUN_SUCCESS);
    follow(HL_RUN_RUNNING, "1");
    start(&other, make_grant(HL_RUN_RUNNING, "9"), false);
    close_run();
    UNTIL(me.answers == 1 && other.answers == 1);
    cr_assert(is_refused(HL_FOLLOW_NOTHING));
    cr_assert_eq(other.answer, HL_FOLLOW_NOTHING);
}

Test(follower, that_names_an_id_of_an_earlier_attempt_begins_with_the_first_event)
{
    static const char *ids[] = {"3", "x"};
    open_run(2, 5);
    hl_journal_begin_stream(journal, false);
    add("data: a\n\n");
    for (size_t i = 0; i < HL_ARRAY_LEN(ids); i++) {
        struct listener l = {0};
        start(&l, make_grant(HL_RUN_RUNNING, ids[i]), false);
        cr_assert(has(&l, "data: a\nid: 6\n\n"), "%s", ids[i]);
        leave(&l);
        hl_buf_fini(&l.text);
    }
}

Test(follower, is_refused_for_an_id_before_there_is_an_event)
{
    open_run(1, 0);
    follow(HL_RUN_RUNNING, "x");
    cr_assert(is_refused(HL_FOLLOW_BAD_ID));
    start(&other, make_grant(HL_RUN_RUNNING, "3"), false);
    cr_assert_eq(other.answer, HL_FOLLOW_OK, "a number may have been one of an earlier stream");
}

/* ---- what is not the app's ---- */

Test(follower, is_kept_alive_between_events_only)
{
    desk.beat_ms = 40;
    begin_stream();
    add("data: a\n");
    follow(HL_RUN_RUNNING, "");
    uint64_t until = hl_clock_mono_ms() + 200;
    UNTIL(hl_clock_mono_ms() > until);
    ASSERT_TEXT("data: a\n");
    add("\n");
    UNTIL(begins(&me, "data: a\nid: 1\n\n: keep-alive\n\n: keep-alive\n\n"));
}

Test(follower, is_kept_alive_while_the_run_is_queued)
{
    desk.beat_ms = 40;
    stored.state = HL_RUN_QUEUED;
    follow(HL_RUN_QUEUED, "");
    UNTIL_SERVED(begins(&me, ": keep-alive\n\n"));
}

Test(follower, is_not_kept_alive_while_it_takes_nothing)
{
    desk.beat_ms = 40;
    begin_stream();
    follow(HL_RUN_RUNNING, "");
    me.is_blocked = true;
    uint64_t until = hl_clock_mono_ms() + 150;
    UNTIL(hl_clock_mono_ms() > until);
    cr_assert_eq(me.writes, 0);
}

Test(follower, hears_of_progress_and_of_the_end_where_it_wants_to)
{
    begin_stream();
    follow_with_progress(HL_RUN_RUNNING);
    start(&other, make_grant(HL_RUN_RUNNING, ""), false);
    hl_journals_set_progress(&journals, &run_id, HL_STR("{\"done\":1}"));
    UNTIL(has(&me, "event: progress\ndata: {\"done\":1}\n\n"));
    add("data: a\n\n");
    hl_journal_end(journal, HL_RUN_FAILURE, HL_REASON_TIMEOUT, false);
    close_run();
    UNTIL(me.is_ended && other.is_ended);
    ASSERT_TEXT("event: progress\ndata: {\"done\":1}\n\n"
                "data: a\nid: 1\n\n"
                "event: run\ndata: {\"run_id\":\"01020300-0000-0000-0000-000000000000\","
                "\"state\":\"failure\",\"reason\":\"timeout\"}\n\n");
    cr_assert(has(&other, "data: a\nid: 1\n\n"));
}

Test(follower, hears_of_an_end_without_a_reason)
{
    begin_stream();
    follow_with_progress(HL_RUN_RUNNING);
    finish_run(HL_RUN_SUCCESS);
    UNTIL(me.is_ended);
    ASSERT_TEXT("event: run\ndata: {\"run_id\":\"01020300-0000-0000-0000-000000000000\","
                "\"state\":\"success\",\"reason\":null}\n\n");
}

Test(follower, hears_of_the_last_progress_twice_a_second_at_most)
{
    begin_stream();
    follow_with_progress(HL_RUN_RUNNING);
    hl_journal_set_progress(journal, HL_STR("1"));
    UNTIL(has(&me, "event: progress\ndata: 1\n\n"));
    uint64_t first = hl_clock_mono_ms();
    hl_journal_set_progress(journal, HL_STR("2"));
    loop_turns(3);
    hl_journal_set_progress(journal, HL_STR("3"));
    UNTIL(has(&me, "event: progress\ndata: 1\n\nevent: progress\ndata: 3\n\n"));
    cr_assert_geq(hl_clock_mono_ms() - first, 400);
}

Test(follower, hears_of_progress_between_events_only)
{
    begin_stream();
    add("data: a\n");
    follow_with_progress(HL_RUN_RUNNING);
    hl_journal_set_progress(journal, HL_STR("1"));
    UNTIL(has(&me, "event: progress\ndata: 1\n\n"));
    add("\n");
    UNTIL(has(&me, "event: progress\ndata: 1\n\ndata: a\nid: 1\n\n"));
}

#define RUN_ENDED                                                                                  \
    "event: run\ndata: {\"run_id\":\"01020300-0000-0000-0000-000000000000\","                      \
    "\"state\":\"failure\",\"reason\":null}\n\n"

Test(follower, hears_of_the_end_behind_the_last_whole_event)
{
    begin_stream();
    add("data: a\n\ndata: b\nid: x\n");
    follow_with_progress(HL_RUN_RUNNING);
    UNTIL(has(&me, "data: a\nid: 1\n\n"));
    add("data: c");
    finish_run(HL_RUN_FAILURE);
    UNTIL(me.is_ended);
    ASSERT_TEXT("data: a\nid: 1\n\n" RUN_ENDED);
}

Test(follower, that_hears_of_the_end_has_an_event_that_comes_in_pieces_whole)
{
    size_t n = 3 * HL_FOLLOW_READ;
    char *event = make_event(n);
    begin_stream_in_file();
    follow_with_progress(HL_RUN_RUNNING);
    for (size_t at = 0; at < n; at += 1000)
        add_bytes((struct hl_str){event + at, n - at < 1000 ? n - at : 1000});
    add("data: b\r\n\r");
    add("\ndata: c\r\rdata: d");
    finish_run(HL_RUN_FAILURE);
    UNTIL(me.is_ended);
    struct hl_buf expected;
    hl_buf_init(&expected, 0);
    cr_assert_eq(hl_buf_append(&expected, event, n), HL_OK);
    cr_assert_eq(hl_buf_append_str(&expected, HL_STR("data: b\r\nid: 2\r\n\r\n"
                                                     "data: c\rid: 3\r\r" RUN_ENDED)),
        HL_OK);
    cr_assert(hl_str_eq(hl_buf_str(&me.text), hl_buf_str(&expected)));
    hl_buf_fini(&expected);
    free(event);
}

/* ---- at its own pace ---- */

Test(follower, that_takes_nothing_is_read_nothing_and_goes_on_where_it_was)
{
    size_t n = 2 * HL_BODY_INLINE_MAX;
    char *event = make_event(n);
    begin_stream_in_file();
    follow(HL_RUN_RUNNING, "");
    me.is_blocked = true;
    add_bytes((struct hl_str){event, n});
    add("data: b\n\n");
    loop_turns(5);
    cr_assert(loop_is_idle(), "nothing is with the pool for it");
    cr_assert_eq(me.writes, 0);
    me.is_blocked = false;
    hl_follower_go_on(me.f);
    UNTIL(me.text.n == n + strlen("data: b\nid: 2\n\n"));
    cr_assert_eq(memcmp(me.text.p, event, n), 0);
    free(event);
}

Test(follower, that_takes_nothing_keeps_no_other_waiting)
{
    begin_stream();
    follow(HL_RUN_RUNNING, "");
    me.is_blocked = true;
    start(&other, make_grant(HL_RUN_RUNNING, ""), false);
    add("data: a\n\n");
    UNTIL(has(&other, "data: a\nid: 1\n\n"));
    ASSERT_TEXT("");
}

Test(follower, may_leave_while_its_file_is_read)
{
    size_t n = 2 * HL_BODY_INLINE_MAX;
    char *event = make_event(n);
    begin_stream_in_file();
    add_bytes((struct hl_str){event, n});
    follow(HL_RUN_RUNNING, "");
    cr_assert_eq(me.writes, 0, "it is with the pool");
    leave(&me);
    close_run();
    UNTIL(loop_is_idle());
    free(event);
}

Test(follower, may_leave_in_the_middle_of_a_write)
{
    size_t n = 2 * HL_BODY_INLINE_MAX;
    char *event = make_event(n);
    begin_stream_in_file();
    add_bytes((struct hl_str){event, n});
    me.leaves_at_write = true;
    follow(HL_RUN_RUNNING, "");
    UNTIL(!me.f);
    cr_assert_eq(me.writes, 1);
    free(event);
}

/* ---- a further attempt ---- */

Test(follower, ends_with_the_attempt_when_another_follows)
{
    begin_stream();
    add("data: a\n\n");
    follow_with_progress(HL_RUN_RUNNING);
    hl_journal_end(journal, HL_RUN_FAILURE, HL_REASON_TIMEOUT, true);
    close_run();
    UNTIL(me.is_ended);
    cr_assert(me.is_whole);
    ASSERT_TEXT("data: a\nid: 1\n\n");
}

Test(follower, that_comes_between_two_attempts_gets_the_second_one)
{
    begin_stream();
    add("data: a\n\n");
    hl_journal_end(journal, HL_RUN_FAILURE, HL_REASON_TIMEOUT, true);
    stored.state = HL_RUN_QUEUED;
    follow(HL_RUN_QUEUED, "1");
    close_run();
    UNTIL_SERVED(me.answers == 1);
    open_run(2, 1);
    hl_journal_begin_stream(journal, false);
    add("data: b\n\n");
    UNTIL_SERVED(has(&me, "data: b\nid: 2\n\n"));
}

/* ---- of a run that waits ---- */

Test(follower, of_a_queued_run_is_answered_and_gets_its_events_when_it_starts)
{
    stored.state = HL_RUN_QUEUED;
    follow(HL_RUN_QUEUED, "");
    cr_assert_eq(me.answer, HL_FOLLOW_OK);
    cr_assert_eq(me.state, HL_RUN_QUEUED);
    UNTIL_SERVED(watching);
    begin_stream();
    add("data: a\n\n");
    UNTIL_SERVED(has(&me, "data: a\nid: 1\n\n"));
    UNTIL_SERVED(!watching);
}

Test(follower, of_a_queued_run_that_is_cancelled_hears_of_its_end)
{
    stored.state = HL_RUN_QUEUED;
    follow_with_progress(HL_RUN_QUEUED);
    UNTIL_SERVED(watching);
    stored.http_status = 0;
    end_in_store(HL_RUN_CANCELLED, NULL);
    UNTIL_SERVED(me.is_ended);
    cr_assert(me.is_whole);
    ASSERT_TEXT("event: run\ndata: {\"run_id\":\"01020300-0000-0000-0000-000000000000\","
                "\"state\":\"cancelled\",\"reason\":null}\n\n");
}

Test(follower, of_a_run_that_is_not_inside_is_sent_away_when_the_listener_closes)
{
    stored.state = HL_RUN_QUEUED;
    follow(HL_RUN_QUEUED, "");
    serve();
    hl_follow_desk_drain(&desk);
    cr_assert(me.is_ended);
    cr_assert_not(me.is_whole);
    start(&other, make_grant(HL_RUN_QUEUED, ""), false);
    cr_assert_eq(other.answer, HL_FOLLOW_FAILED);
}

Test(follower, of_a_running_run_stays_when_the_listener_closes)
{
    begin_stream();
    follow(HL_RUN_RUNNING, "");
    hl_follow_desk_drain(&desk);
    add("data: a\n\n");
    UNTIL(has(&me, "data: a\nid: 1\n\n"));
    finish_run(HL_RUN_SUCCESS);
    UNTIL(me.is_ended);
    cr_assert(me.is_whole);
}

/* ---- from the store ---- */

Test(follower, gets_the_events_of_an_ended_run)
{
    end_in_store(HL_RUN_SUCCESS, "data: a\n\nid: x\ndata: b\n\n");
    follow(HL_RUN_SUCCESS, "");
    UNTIL_SERVED(me.is_ended);
    cr_assert(me.is_whole);
    cr_assert_eq(me.state, HL_RUN_SUCCESS);
    ASSERT_TEXT("data: a\nid: 1\n\nid: x\ndata: b\n\n");
}

Test(follower, asks_for_the_events_of_an_ended_run_piece_by_piece)
{
    size_t n = 5 * HL_FOLLOW_PIECE + 100;
    char *event = make_event(n);
    end_in_store(HL_RUN_SUCCESS, event);
    follow(HL_RUN_SUCCESS, "");
    UNTIL_SERVED(me.is_ended);
    cr_assert_geq(asked, 6);
    cr_assert_eq(me.text.n, n);
    cr_assert_eq(memcmp(me.text.p, event, n), 0);
    free(event);
}

Test(follower, of_an_ended_run_begins_after_the_event_that_it_names)
{
    end_in_store(HL_RUN_SUCCESS, "data: a\n\ndata: b\n\n");
    follow(HL_RUN_SUCCESS, "1");
    UNTIL_SERVED(me.is_ended);
    ASSERT_TEXT("data: b\nid: 2\n\n");
}

Test(follower, of_an_ended_run_counts_on_from_its_earlier_attempts)
{
    stored.attempt = 2;
    stored.log = "1 100 200 500 1 41;";
    end_in_store(HL_RUN_SUCCESS, "data: a\n\n");
    follow(HL_RUN_SUCCESS, "");
    UNTIL_SERVED(me.is_ended);
    ASSERT_TEXT("data: a\nid: 42\n\n");
}

static const struct stored_case {
    const char *wanted, *bytes, *type, *coding;
    uint16_t status;
    enum hl_body_where where;
    enum hl_err rc;
    enum hl_follow_answer answer;
} refusals[] = {
    {"1", "data: a\n\n", EVENT_STREAM, "", 200, HL_BODY_INLINE, HL_OK, HL_FOLLOW_NOTHING},
    {"2", "data: a\n\n", EVENT_STREAM, "", 200, HL_BODY_INLINE, HL_OK, HL_FOLLOW_NOTHING},
    {"", NULL, EVENT_STREAM, "", 200, HL_BODY_NONE, HL_OK, HL_FOLLOW_NOTHING},
    {"", "", EVENT_STREAM, "", 200, HL_BODY_INLINE, HL_OK, HL_FOLLOW_NOTHING},
    {"", NULL, "", "", 0, HL_BODY_NONE, HL_OK, HL_FOLLOW_NOTHING}, /* it never answered */
    {"x", "data: a\n\n", EVENT_STREAM, "", 200, HL_BODY_INLINE, HL_OK, HL_FOLLOW_BAD_ID},
    {"", "{}", "application/json", "", 200, HL_BODY_INLINE, HL_OK, HL_FOLLOW_NO_STREAM},
    {"", "data: a\n\n", EVENT_STREAM, "", 500, HL_BODY_INLINE, HL_OK, HL_FOLLOW_NO_STREAM},
    {"", "data: a\n\n", EVENT_STREAM, "gzip", 200, HL_BODY_INLINE, HL_OK, HL_FOLLOW_NO_STREAM},
    {"", NULL, EVENT_STREAM, "", 200, HL_BODY_DROPPED, HL_OK, HL_FOLLOW_GONE},
    {"", NULL, EVENT_STREAM, "", 200, HL_BODY_UNKEPT, HL_OK, HL_FOLLOW_GONE},
    {"", NULL, EVENT_STREAM, "", 200, HL_BODY_NONE, HL_ERR_NOT_FOUND, HL_FOLLOW_GONE},
    {"", NULL, EVENT_STREAM, "", 200, HL_BODY_NONE, HL_ERR_UNAVAILABLE, HL_FOLLOW_FAILED},
};

Test(follower, of_an_ended_run_is_told_why_it_gets_nothing)
{
    for (size_t i = 0; i < HL_ARRAY_LEN(refusals); i++) {
        const struct stored_case *c = &refusals[i];
        me = (struct listener){0};
        end_in_store(HL_RUN_SUCCESS, c->bytes);
        stored.rc = c->rc;
        stored.where = c->where;
        stored.type = c->type;
        stored.coding = c->coding;
        stored.http_status = c->status;
        follow(HL_RUN_SUCCESS, c->wanted);
        UNTIL_SERVED(me.answers == 1);
        cr_assert_eq(me.answer, c->answer, "case %zu: %d", i, me.answer);
    }
}

Test(follower, goes_on_from_the_store_once_the_journal_is_closed)
{
    begin_stream();
    follow(HL_RUN_RUNNING, "");
    me.is_blocked = true;
    add("data: a\n\ndata: b\n\n");
    free(hl_journal_take(journal));
    end_run(HL_RUN_SUCCESS);
    end_in_store(HL_RUN_SUCCESS, "data: a\n\ndata: b\n\n");
    close_run();
    loop_turns(3);
    me.is_blocked = false;
    hl_follower_go_on(me.f);
    UNTIL_SERVED(me.is_ended);
    cr_assert(me.is_whole);
    ASSERT_TEXT("data: a\nid: 1\n\ndata: b\nid: 2\n\n");
}

Test(follower, waits_for_the_store_between_the_end_and_its_commit)
{
    begin_stream();
    add("data: a\n\n");
    free(hl_journal_take(journal));
    end_run(HL_RUN_SUCCESS);
    follow(HL_RUN_RUNNING, "");
    loop_turns(3);
    cr_assert_eq(asked + fake_store.count, 0, "it does not have them yet");
    end_in_store(HL_RUN_SUCCESS, "data: a\n\n");
    close_run();
    UNTIL_SERVED(me.is_ended);
    ASSERT_TEXT("data: a\nid: 1\n\n");
}

Test(follower, may_leave_while_the_store_is_asked)
{
    end_in_store(HL_RUN_SUCCESS, "data: a\n\n");
    follow(HL_RUN_SUCCESS, "");
    leave(&me);
    serve();
    loop_turns(3);
    cr_assert_eq(me.answers, 0);
}

/* ---- of a run that another process has ---- */

Test(follower, of_a_run_that_was_said_to_run_looks_whether_it_has_ended)
{
    end_in_store(HL_RUN_SUCCESS, "data: a\n\n");
    follow(HL_RUN_RUNNING, "");
    UNTIL_SERVED(me.is_ended);
    ASSERT_TEXT("data: a\nid: 1\n\n");
}

Test(follower, gets_what_others_have_written_and_looks_for_more_each_second)
{
    fake_store.is_shared = true;
    stored.state = HL_RUN_RUNNING;
    stored.bytes = "data: a\n\n";
    follow(HL_RUN_RUNNING, "");
    UNTIL_SERVED(has(&me, "data: a\nid: 1\n\n"));
    stored.bytes = "data: a\n\ndata: b\n\n";
    UNTIL_SERVED(has(&me, "data: a\nid: 1\n\ndata: b\nid: 2\n\n"));
    cr_assert_lt(asked, 10, "it does not ask without a pause");
    end_in_store(HL_RUN_SUCCESS, "data: a\n\ndata: b\n\ndata: c\n\n");
    UNTIL_SERVED(me.is_ended);
    cr_assert(me.is_whole);
    ASSERT_TEXT("data: a\nid: 1\n\ndata: b\nid: 2\n\ndata: c\nid: 3\n\n");
}

Test(follower, ends_when_another_process_begins_a_further_attempt)
{
    fake_store.is_shared = true;
    stored.state = HL_RUN_RUNNING;
    stored.bytes = "data: a\n\n";
    follow(HL_RUN_RUNNING, "");
    UNTIL_SERVED(has(&me, "data: a\nid: 1\n\n"));
    stored.attempt = 2;
    stored.bytes = "data: z\n\n";
    UNTIL_SERVED(me.is_ended);
    cr_assert(me.is_whole);
    ASSERT_TEXT("data: a\nid: 1\n\n");
}

Test(follower, ends_when_a_further_attempt_has_ended_before_it_looked)
{
    fake_store.is_shared = true;
    stored.state = HL_RUN_RUNNING;
    stored.bytes = "data: a\n\n";
    follow_with_progress(HL_RUN_RUNNING);
    UNTIL_SERVED(has(&me, "data: a\nid: 1\n\n"));
    stored.attempt = 2;
    end_in_store(HL_RUN_SUCCESS, "data: y\n\ndata: z\n\n");
    UNTIL_SERVED(me.is_ended);
    cr_assert(me.is_whole);
    ASSERT_TEXT("data: a\nid: 1\n\n");
}

Test(follower, that_looks_for_its_event_begins_with_the_first_one_of_a_further_attempt)
{
    static const enum hl_run_state states[] = {HL_RUN_RUNNING, HL_RUN_SUCCESS};
    char *event = make_event(5 * HL_FOLLOW_PIECE);
    fake_store.is_shared = true;
    for (size_t i = 0; i < HL_ARRAY_LEN(states); i++) {
        stored.attempt = 1;
        stored.log = "";
        stored.state = HL_RUN_RUNNING;
        stored.bytes = event;
        me = (struct listener){0};
        serve();
        follow(HL_RUN_RUNNING, "x");
        UNTIL(fake_store.count == 1);
        serve();
        UNTIL_WITH(stored.attempt = 2, fake_store.count == 1); /* it asks for the next piece */
        stored.log = "1 1 2 503 1 5;";
        end_in_store(states[i], "data: z\n\n");
        UNTIL_SERVED(has(&me, "data: z\nid: 6\n\n"));
        leave(&me);
        hl_buf_fini(&me.text);
    }
    free(event);
}

static void run_elsewhere(void)
{
    replica_listen();
    fake_store.is_shared = true;
    stored.state = HL_RUN_RUNNING;
    stored.home = replica_url;
}

Test(follower, is_passed_to_the_replica_that_has_the_run)
{
    run_elsewhere();
    follow(HL_RUN_RUNNING, "4");
    UNTIL_WITH(serve(), replica_has_got("\r\n\r\n"));
    cr_assert(replica_has_got("GET /v2/projects/shop/apps/mail/runs/"));
    cr_assert(replica_has_got("last_event_id=%34"));
    replica_say("HTTP/1.1 200 OK\r\n" REPLICA_ABOUT
                "X-Run-State: running\r\nTransfer-Encoding: chunked\r\n\r\n"
                "f\r\ndata: e\nid: 5\n\n\r\n");
    UNTIL_SERVED(has(&me, "data: e\nid: 5\n\n"));
    replica_say("0\r\n\r\n");
    UNTIL_SERVED(me.is_ended);
    cr_assert(me.is_whole);
    replica_close();
}

Test(follower, is_answered_as_the_other_replica_answers)
{
    static const struct {
        const char *line;
        enum hl_follow_answer answer;
    } answers[] = {{"204 No Content", HL_FOLLOW_NOTHING}, {"400 Bad Request", HL_FOLLOW_BAD_ID},
        {"409 Conflict", HL_FOLLOW_NO_STREAM}, {"410 Gone", HL_FOLLOW_GONE}};
    for (size_t i = 0; i < HL_ARRAY_LEN(answers); i++) {
        char text[256];
        me = (struct listener){0};
        run_elsewhere();
        follow(HL_RUN_RUNNING, "4");
        UNTIL_WITH(serve(), replica_has_got("\r\n\r\n"));
        snprintf(text, sizeof(text), "HTTP/1.1 %s\r\n" REPLICA_ABOUT "Content-Length: 0\r\n\r\n",
            answers[i].line);
        replica_say(text);
        UNTIL_SERVED(me.answers == 1);
        cr_assert_eq(me.answer, answers[i].answer, "%s", answers[i].line);
        replica_close();
    }
}

Test(follower, gets_what_the_store_has_when_the_other_replica_is_not_there)
{
    run_elsewhere();
    replica_close();
    stored.bytes = "data: a\n\n";
    follow(HL_RUN_RUNNING, "");
    UNTIL_SERVED(has(&me, "data: a\nid: 1\n\n"));
}

Test(follower, gets_what_the_store_has_when_the_other_replica_cannot_tell)
{
    run_elsewhere();
    stored.bytes = "data: a\n\n";
    follow(HL_RUN_RUNNING, "");
    UNTIL_WITH(serve(), replica_has_got("\r\n\r\n"));
    replica_say("HTTP/1.1 503 Service Unavailable\r\n" REPLICA_ABOUT "Content-Length: 0\r\n\r\n");
    UNTIL_SERVED(has(&me, "data: a\nid: 1\n\n"));
    replica_close();
}

Test(follower, is_broken_off_with_the_replica_that_had_the_run)
{
    run_elsewhere();
    follow(HL_RUN_RUNNING, "");
    UNTIL_WITH(serve(), replica_has_got("\r\n\r\n"));
    replica_say(
        "HTTP/1.1 200 OK\r\n" REPLICA_ABOUT "Transfer-Encoding: chunked\r\n\r\n5\r\ndata:\r\n");
    UNTIL_SERVED(has(&me, "data:"));
    replica_close();
    UNTIL_SERVED(me.is_ended);
    cr_assert_not(me.is_whole);
}

Test(follower, that_another_replica_asks_for_is_passed_to_no_third_one)
{
    struct hl_follow *grant = make_grant(HL_RUN_RUNNING, "");
    grant->is_relayed = true;
    run_elsewhere();
    stored.bytes = "data: a\n\n";
    start(&me, grant, false);
    UNTIL_SERVED(has(&me, "data: a\nid: 1\n\n"));
    cr_assert_not(replica_is_called());
    replica_close();
}

/* ---- who may follow no longer ---- */

static const struct hl_id account = {.b = {7}};
static bool is_revoked;

static bool admits(void *keeper, const struct hl_id *id, uint64_t key)
{
    cr_assert_eq(keeper, &is_revoked);
    cr_assert(hl_id_eq(id, &account));
    cr_assert_eq(key, 3);
    return !is_revoked;
}

static void follow_with_token(struct listener *l, int64_t expires_in_ms)
{
    struct hl_follow *grant = make_grant(HL_RUN_RUNNING, "");
    grant->account = account;
    grant->key = 3;
    grant->refused_from_ms = hl_clock_wall_ms() + expires_in_ms;
    desk.admits = admits;
    desk.keeper = &is_revoked;
    start(l, grant, false);
}

Test(follower, is_broken_off_when_its_account_is_revoked)
{
    begin_stream();
    follow_with_token(&me, 3600000);
    start(&other, make_grant(HL_RUN_RUNNING, ""), false);
    add("data: a\n\n");
    UNTIL_WITH(serve(), has(&me, "data: a\nid: 1\n\n") && has(&other, "data: a\nid: 1\n\n"));
    hl_bell_ring(&desk.look);
    add("data: b\n\n");
    UNTIL(has(&me, "data: a\nid: 1\n\ndata: b\nid: 2\n\n"));
    is_revoked = true;
    hl_bell_ring(&desk.look);
    hl_bell_ring(&desk.look);
    UNTIL(me.is_ended);
    cr_assert_not(me.is_whole);
    add("data: c\n\n");
    UNTIL(has(&other, "data: a\nid: 1\n\ndata: b\nid: 2\n\ndata: c\nid: 3\n\n"));
    cr_assert_not(other.is_ended, "nobody was asked for a token");
}

Test(follower, is_broken_off_when_its_token_expires)
{
    begin_stream();
    follow_with_token(&me, 300);
    add("data: a\n\n");
    UNTIL_WITH(serve(), has(&me, "data: a\nid: 1\n\n"));
    cr_assert_not(me.is_ended);
    UNTIL(me.is_ended);
    cr_assert_not(me.is_whole);
}

Test(follower, is_not_begun_with_a_token_that_is_good_no_longer)
{
    begin_stream();
    is_revoked = true;
    follow_with_token(&me, 3600000);
    hl_bell_ring(&desk.look);
    UNTIL_WITH(serve(), me.is_ended || me.answers > 0);
    UNTIL(!me.f);
    ASSERT_TEXT("");
}
