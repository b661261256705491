/* test_stream.c - event streams that can be followed: what is read of them part by part, how long those of
 * synchronous calls stay, and what is left of one whose process was lost. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/metric.h"
#include "config/config.h"
#include "fixture.h"
#include "store/attempt.h"
#include "store/body_file.h"
#include "store/accept.h"
#include "store/claim.h"
#include "store/gauges.h"
#include "store/notice.h"
#include "store/postgres/param.h"
#include "store/postgres/row.h"
#include "store/postgres/session.h"
#include "store/postgres/statement.h"
#include "store/question.h"
#include "store/store.h"

#define PATIENCE_MS 60000
#define STREAM_TYPE "text/event-stream"
#define EVENTS      "data: a\n\ndata: b\n\n"

static struct hl_claimed *begin_one(struct fixture *f, struct hl_id *id)
{
    cr_assert_eq(accept_run(f, (struct run_spec){.body = "ping"}, id), HL_OK);
    give_credit(f, &f->worker, 1, false);
    return party_wait(&f->worker, HL_STORE_CLAIMED);
}

/* ---- parts of an answer ---- */

static enum hl_err get_range(
    struct fixture *f, const struct hl_id *id, uint64_t from, uint32_t max, struct hl_get_run *g)
{
    *g = (struct hl_get_run){
        .m.msg.type = HL_STORE_GET_RUN, .run_id = *id, .range_from = from, .range_max = max};
    return ask(f, &f->asker, &g->m);
}

static bool has_range(
    struct fixture *f, const struct hl_id *id, uint64_t from, uint32_t max, const char *expected)
{
    struct hl_get_run g;
    cr_assert_eq(get_range(f, id, from, max, &g), HL_OK);
    cr_assert_null(g.outcome.body.bytes, "it is not asked for all of it");
    bool is = hl_str_eq(hl_buf_str(&g.range), hl_str_from(expected));
    hl_get_run_fini(&g);
    return is;
}

STORE_TEST(part_of_an_answer_is_what_stands_there)
{
    struct hl_id id;
    struct hl_claimed *c = begin_one(f, &id);
    cr_assert(has_range(f, &id, 0, 10, ""), "there is none yet");
    cr_assert_eq(finish_run(f, &id, c->epoch, "0123456789"), HL_OK);
    hl_claimed_free(c);
    cr_assert(has_range(f, &id, 0, 10, "0123456789"));
    cr_assert(has_range(f, &id, 0, 1, "0"));
    cr_assert(has_range(f, &id, 3, 4, "3456"));
    cr_assert(has_range(f, &id, 8, 100, "89"));
    cr_assert(has_range(f, &id, 10, 100, ""));
    cr_assert(has_range(f, &id, 1000000, 100, ""));
}

STORE_TEST(part_of_an_answer_is_nobody_elses)
{
    struct hl_id id;
    struct hl_claimed *c = begin_one(f, &id);
    cr_assert_eq(finish_run(f, &id, c->epoch, "0123456789"), HL_OK);
    hl_claimed_free(c);
    struct hl_get_run g = {
        .m.msg.type = HL_STORE_GET_RUN, .run_id = id, .project = "other", .range_max = 10};
    cr_assert_eq(ask(f, &f->asker, &g.m), HL_ERR_NOT_FOUND);
    cr_assert_eq(g.range.n, 0);
    hl_get_run_fini(&g);
}

static char *make_long(size_t n)
{
    char *text = malloc(n + 1);
    for (size_t i = 0; i < n; i++)
        text[i] = (char)('a' + (i * 7 + i / 253) % 26);
    text[n] = '\0';
    return text;
}

/* Part by part until there is no more, as followers do. */
static void assert_parts(
    struct fixture *f, const struct hl_id *id, const char *expected, uint32_t step)
{
    uint64_t at = 0, n = strlen(expected);
    for (;;) {
        struct hl_get_run g;
        cr_assert_eq(get_range(f, id, at, step, &g), HL_OK);
        size_t got = g.range.n;
        cr_assert_leq(got, step);
        cr_assert_leq(at + got, n);
        cr_assert(got == 0 || memcmp(g.range.p, expected + at, got) == 0, "at %llu",
            (unsigned long long)at);
        hl_get_run_fini(&g);
        at += got;
        if (got == 0)
            break;
    }
    cr_assert_eq(at, n, "all of it");
}

STORE_TEST(parts_of_a_long_answer_are_all_of_it, .timeout = 180)
{
    char *text = make_long(2500000);
    struct hl_id id;
    struct hl_claimed *c = begin_one(f, &id);
    struct hl_finish *finish = make_finish(&id, c->epoch, NULL);
    finish->outcome.body =
        hl_store_data_dir(f->store) ? make_file_body(f, text) : make_inline_body(text);
    cr_assert_eq(ask(f, &f->worker, &finish->m), HL_OK);
    hl_finish_free(finish);
    hl_claimed_free(c);
    assert_parts(f, &id, text, 300000);
    free(text);
}

/* ---- kept streams of synchronous calls ---- */

static struct hl_id end_stream(struct fixture *f, const char *url, const char *body)
{
    struct hl_id id;
    cr_assert_eq(record_run(f, (struct run_spec){.url = url}, &id), HL_OK);
    cr_assert_eq(finish_run(f, &id, 1, body), HL_OK);
    return id;
}

static enum hl_body_where where_is(struct fixture *f, const struct hl_id *id)
{
    struct hl_get_run g;
    cr_assert_eq(get_run(f, id, &g), HL_OK, "the run itself is there");
    hl_body_fini(&g.outcome.body);
    return g.run.body_where;
}

static void await_dropped(struct fixture *f, const struct hl_id *id)
{
    uint64_t give_up = hl_clock_mono_ms() + PATIENCE_MS;
    while (where_is(f, id) != HL_BODY_DROPPED) {
        cr_assert_lt(hl_clock_mono_ms(), give_up, "it stays");
        usleep(20000);
    }
}

static void reopen_with(struct fixture *f, int64_t retention_ms, uint64_t share)
{
    fixture_close(f);
    if (retention_ms > 0)
        f->config->stream_retention_ms = (uint64_t)retention_ms;
    if (share > 0)
        f->config->stream_keep_max_bytes = (struct hl_store_limit){.bytes = share};
    fixture_open(f);
}

STORE_TEST(kept_stream_stays_for_its_own_retention_and_its_run_for_longer, .timeout = 180)
{
    struct hl_id async;
    reopen_with(f, 500, 0);
    struct hl_claimed *c = begin_one(f, &async);
    cr_assert_eq(finish_run(f, &async, c->epoch, EVENTS), HL_OK);
    hl_claimed_free(c);
    struct hl_id with_webhook = end_stream(f, "http://h.test/", EVENTS);
    struct hl_id id = end_stream(f, NULL, EVENTS);
    cr_assert(has_range(f, &id, 0, 100, EVENTS));
    await_dropped(f, &id);
    cr_assert(has_range(f, &id, 0, 100, ""));
    cr_assert_eq(where_is(f, &async), HL_BODY_INLINE, "its own retention holds for it");
    cr_assert_eq(where_is(f, &with_webhook), HL_BODY_INLINE, "likewise");
}

static void oldest_go_for_new_ones(struct fixture *f)
{
    struct hl_id ids[3];
    char text[41];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    reopen_with(f, 0, 100);
    for (size_t i = 0; i < HL_ARRAY_LEN(ids); i++) {
        ids[i] = end_stream(f, NULL, text);
        usleep(2000); /* they end one behind the other */
    }
    await_dropped(f, &ids[0]);
    cr_assert_eq(where_is(f, &ids[1]), HL_BODY_INLINE);
    cr_assert_eq(where_is(f, &ids[2]), HL_BODY_INLINE);
    cr_assert_eq(hl_counter_get(&hl_store_get_gauges(f->store)->max_stream_bytes), 100);
}

Test(sqlite, oldest_kept_streams_go_when_all_are_more_than_their_share, .timeout = 180)
{
    fixture_run(HL_STORE_SQLITE, oldest_go_for_new_ones);
}

Test(memory, oldest_kept_streams_go_when_all_are_more_than_their_share, .timeout = 180)
{
    fixture_run(HL_STORE_MEMORY, oldest_go_for_new_ones);
}

static void oldest_go_for_live_ones(struct fixture *f)
{
    reopen_with(f, 0, 100);
    struct hl_id first = end_stream(f, NULL, "12345678901234567890");
    hl_store_note_stream(f->store, 70);
    cr_assert_eq(hl_store_live_streams(f->store), 70);
    usleep(2000);
    struct hl_id second = end_stream(f, NULL, "12345678901234567890");
    await_dropped(f, &first);
    cr_assert_eq(where_is(f, &second), HL_BODY_INLINE);
    hl_store_note_stream(f->store, -70);
    cr_assert_eq(hl_store_live_streams(f->store), 0);
}

Test(sqlite, kept_streams_go_for_those_that_go_on, .timeout = 180)
{
    fixture_run(HL_STORE_SQLITE, oldest_go_for_live_ones);
}

Test(memory, kept_streams_go_for_those_that_go_on, .timeout = 180)
{
    fixture_run(HL_STORE_MEMORY, oldest_go_for_live_ones);
}

static void share_holds_after_a_restart(struct fixture *f)
{
    struct hl_id first = end_stream(f, NULL, "12345678901234567890");
    usleep(2000);
    struct hl_id second = end_stream(f, NULL, "12345678901234567890");
    reopen_with(f, 0, 30);
    await_dropped(f, &first);
    cr_assert_eq(where_is(f, &second), HL_BODY_INLINE);
    cr_assert_eq(query(f, "SELECT count(*) FROM result WHERE is_stream = 1"), 1);
}

Test(sqlite, share_of_kept_streams_holds_after_a_restart, .timeout = 180)
{
    fixture_run(HL_STORE_SQLITE, share_holds_after_a_restart);
}

static void file_of_a_stream_goes_with_it(struct fixture *f)
{
    char *text = make_long(HL_BODY_INLINE_MAX + 1);
    struct hl_id id;
    int fd;
    reopen_with(f, 500, 0);
    cr_assert_eq(record_run(f, (struct run_spec){0}, &id), HL_OK);
    struct hl_finish *finish = make_finish(&id, 1, NULL);
    finish->outcome.body = make_file_body(f, text);
    struct hl_id file = finish->outcome.body.file;
    cr_assert_eq(ask(f, &f->worker, &finish->m), HL_OK);
    hl_finish_free(finish);
    await_dropped(f, &id);
    uint64_t give_up = hl_clock_mono_ms() + PATIENCE_MS;
    while (hl_body_file_open(f->dir, &file, &fd) == HL_OK) {
        close(fd);
        cr_assert_lt(hl_clock_mono_ms(), give_up);
        usleep(20000);
    }
    free(text);
}

Test(sqlite, file_of_a_kept_stream_goes_with_it, .timeout = 180)
{
    fixture_run(HL_STORE_SQLITE, file_of_a_stream_goes_with_it);
}

/* ---- ordinals of earlier attempts ---- */

static void allow_attempts(struct fixture *f, uint32_t n)
{
    fixture_close(f);
    f->config->run_attempts = n;
    fixture_open(f);
}

STORE_TEST(further_attempt_knows_the_ordinals_of_the_earlier_ones, .timeout = 180)
{
    struct hl_id id;
    allow_attempts(f, 3);
    struct hl_claimed *c = begin_one(f, &id);
    cr_assert_eq(c->events, 0);
    struct hl_release *r = hl_release_new(c);
    r->is_retry = true;
    r->due_ms = hl_clock_wall_ms();
    r->ended = (struct hl_attempt_entry){.attempt = 1,
        .started_ms = 1000,
        .finished_ms = 1005,
        .http_status = 503,
        .reason = HL_REASON_APP_ERROR,
        .events = 41};
    cr_assert_eq(ask(f, &f->worker, &r->m), HL_OK);
    hl_release_free(r);
    give_credit(f, &f->worker, 1, false);
    c = party_wait(&f->worker, HL_STORE_CLAIMED);
    cr_assert_eq(c->attempt, 2);
    cr_assert_eq(c->events, 41);
    struct hl_get_run g;
    cr_assert_eq(get_range(f, &id, 0, 1, &g), HL_OK);
    cr_assert_eq(hl_attempt_log_events(g.run.attempt_log), 41);
    hl_get_run_fini(&g);
    cr_assert_eq(finish_run(f, &id, c->epoch, "done"), HL_OK);
    hl_claimed_free(c);
}

/* ---- what was left of a stream: SQLite finds its file ---- */

Test(body_file, of_a_stream_is_known_by_run_and_attempt)
{
    struct hl_id a = {.b = {1}}, b = {.b = {2}};
    struct hl_id a1 = hl_body_file_of_stream(&a, 1), same = hl_body_file_of_stream(&a, 1);
    struct hl_id a2 = hl_body_file_of_stream(&a, 2), b1 = hl_body_file_of_stream(&b, 1);
    cr_assert(hl_id_eq(&a1, &same));
    cr_assert_not(hl_id_eq(&a1, &a2));
    cr_assert_not(hl_id_eq(&a1, &b1));
}

static void leave_file(
    struct fixture *f, const struct hl_id *id, uint32_t attempt, const char *text)
{
    struct hl_id file = hl_body_file_of_stream(id, attempt);
    int fd;
    cr_assert_eq(hl_body_file_create(f->dir, &file, &fd), HL_OK);
    cr_assert_eq(hl_body_file_write(fd, hl_str_from(text)), HL_OK);
    close(fd);
}

/* It had its name when the process died, two hours ago; the record was still to come. */
static void name_file(struct fixture *f, const struct hl_id *id, uint32_t attempt)
{
    struct hl_id file = hl_body_file_of_stream(id, attempt);
    struct timespec old[2] = {{.tv_sec = time(NULL) - 7200}, {.tv_sec = time(NULL) - 7200}};
    int fd;
    bool is_named;
    cr_assert_eq(hl_body_file_open_left(f->dir, &file, &fd, &is_named), HL_OK);
    cr_assert_not(is_named);
    cr_assert_eq(hl_body_file_commit(f->dir, &file, fd), HL_OK);
    cr_assert_eq(futimens(fd, old), 0);
    close(fd);
}

static bool is_left(struct fixture *f, const struct hl_id *id, uint32_t attempt)
{
    struct hl_id file = hl_body_file_of_stream(id, attempt);
    int fd;
    bool is_named;
    if (hl_body_file_open_left(f->dir, &file, &fd, &is_named) != HL_OK)
        return false;
    close(fd);
    return true;
}

static void assert_interrupted(
    struct fixture *f, const struct hl_id *id, enum hl_body_where where, const char *text)
{
    struct hl_get_run g = {
        .m.msg.type = HL_STORE_GET_RUN, .run_id = *id, .with_body = where == HL_BODY_INLINE};
    cr_assert_eq(ask(f, &f->asker, &g.m), HL_OK, "with its digest");
    cr_assert_eq(g.run.state, HL_RUN_FAILURE);
    cr_assert_eq(g.outcome.reason, HL_REASON_INTERRUPTED);
    cr_assert_eq(g.outcome.http_status, 200);
    cr_assert_str_eq(g.outcome.content_type, STREAM_TYPE);
    cr_assert_eq(g.outcome.encoding, HL_ENCODING_TEXT);
    cr_assert_eq(g.outcome.body.where, where);
    cr_assert_eq(g.outcome.body.size, strlen(text));
    hl_get_run_fini(&g);
    assert_parts(f, id, text, 100000);
}

static void what_came_is_there(struct fixture *f)
{
    char *text = make_long(HL_BODY_INLINE_MAX + 1);
    struct hl_id async, sync, nothing, longer;
    hl_claimed_free(begin_one(f, &async));
    hl_claimed_free(begin_one(f, &nothing));
    hl_claimed_free(begin_one(f, &longer));
    cr_assert_eq(record_run(f, (struct run_spec){0}, &sync), HL_OK);
    leave_file(f, &async, 1, EVENTS);
    leave_file(f, &sync, 1, "data: c\n\ndata: unfin");
    leave_file(f, &longer, 1, text);
    fixture_die(f);
    fixture_open(f);
    assert_interrupted(f, &async, HL_BODY_INLINE, EVENTS);
    assert_interrupted(f, &sync, HL_BODY_INLINE, "data: c\n\ndata: unfin");
    assert_interrupted(f, &longer, HL_BODY_FILE, text);
    cr_assert_eq(state_of(f, &nothing), HL_RUN_FAILURE);
    cr_assert_eq(where_is(f, &nothing), HL_BODY_NONE);
    cr_assert_not(is_left(f, &async, 1), "it is in the database");
    free(text);
}

Test(sqlite, what_came_of_an_interrupted_stream_is_kept, .timeout = 180)
{
    fixture_run(HL_STORE_SQLITE, what_came_is_there);
}

static void what_had_its_name_is_there(struct fixture *f)
{
    char *text = make_long(HL_BODY_INLINE_MAX + 1);
    struct hl_id async, sync, shorter;
    hl_claimed_free(begin_one(f, &async));
    cr_assert_eq(record_run(f, (struct run_spec){0}, &sync), HL_OK);
    cr_assert_eq(record_run(f, (struct run_spec){0}, &shorter), HL_OK);
    leave_file(f, &async, 1, text);
    leave_file(f, &sync, 1, text);
    leave_file(f, &shorter, 1, EVENTS);
    name_file(f, &async, 1);
    name_file(f, &sync, 1);
    name_file(f, &shorter, 1);
    fixture_die(f);
    fixture_open(f);
    assert_interrupted(f, &async, HL_BODY_FILE, text);
    assert_interrupted(f, &sync, HL_BODY_FILE, text);
    assert_interrupted(f, &shorter, HL_BODY_INLINE, EVENTS);
    cr_assert(is_left(f, &async, 1));
    cr_assert_not(is_left(f, &shorter, 1), "it is in the database");
    fixture_close(f);
    fixture_open(f);
    assert_interrupted(f, &sync, HL_BODY_FILE, text);
    free(text);
}

Test(sqlite, what_came_of_a_stream_is_kept_also_when_its_file_has_its_name_already, .timeout = 180)
{
    fixture_run(HL_STORE_SQLITE, what_had_its_name_is_there);
}

static void ordinals_are_counted(struct fixture *f)
{
    struct hl_id id;
    allow_attempts(f, 3);
    hl_claimed_free(begin_one(f, &id));
    leave_file(f, &id, 1, "data: a\n\n: c\n\nid: x\ndata: b\n\ndata: unfin");
    fixture_die(f);
    fixture_open(f);
    give_credit(f, &f->worker, 1, false);
    struct hl_claimed *c = party_wait(&f->worker, HL_STORE_CLAIMED);
    cr_assert_eq(c->attempt, 2);
    cr_assert_eq(c->events, 2);
    settle(f); /* files go after a batch */
    cr_assert_not(is_left(f, &id, 1));
    hl_claimed_free(c);
    leave_file(f, &id, 2, "data: d\n\n");
    fixture_die(f);
    fixture_open(f);
    give_credit(f, &f->worker, 1, false);
    c = party_wait(&f->worker, HL_STORE_CLAIMED);
    cr_assert_eq(c->events, 3, "none is used twice");
    hl_claimed_free(c);
}

static void ordinals_are_counted_by_name(struct fixture *f)
{
    struct hl_id id;
    allow_attempts(f, 2);
    hl_claimed_free(begin_one(f, &id));
    leave_file(f, &id, 1, "data: a\n\ndata: b\n\n");
    name_file(f, &id, 1);
    fixture_die(f);
    fixture_open(f);
    give_credit(f, &f->worker, 1, false);
    struct hl_claimed *c = party_wait(&f->worker, HL_STORE_CLAIMED);
    cr_assert_eq(c->attempt, 2);
    cr_assert_eq(c->events, 2);
    settle(f);
    cr_assert_not(is_left(f, &id, 1), "nobody needs it any more");
    hl_claimed_free(c);
}

Test(sqlite, ordinals_of_an_interrupted_attempt_are_not_used_again, .timeout = 180)
{
    fixture_run(HL_STORE_SQLITE, ordinals_are_counted);
}

Test(sqlite, ordinals_are_not_used_again_when_the_file_has_its_name_already, .timeout = 180)
{
    fixture_run(HL_STORE_SQLITE, ordinals_are_counted_by_name);
}

/* ---- what others see: PostgreSQL ---- */

static enum hl_err keep_part(struct fixture *f, const struct hl_id *id, uint32_t epoch,
    uint32_t attempt, uint64_t at, const char *text)
{
    struct hl_keep_stream *part = calloc(1, sizeof(*part));
    part->m.msg.type = HL_STORE_KEEP_STREAM;
    part->run_id = *id;
    part->epoch = epoch;
    part->attempt = attempt;
    part->at = at;
    hl_buf_init(&part->bytes, 0);
    cr_assert_eq(hl_buf_append_str(&part->bytes, hl_str_from(text)), HL_OK);
    enum hl_err rc = ask(f, &f->worker, &part->m);
    hl_keep_stream_free(part);
    return rc;
}

static enum hl_err say_progress(
    struct fixture *f, const struct hl_id *id, uint32_t epoch, const char *json)
{
    struct hl_say_progress said = {
        .m.msg.type = HL_STORE_SAY_PROGRESS, .run_id = *id, .epoch = epoch};
    snprintf(said.json, sizeof(said.json), "%s", json);
    return ask(f, &f->worker, &said.m);
}

static bool has_progress(struct fixture *f, const struct hl_id *id, const char *json)
{
    struct hl_get_run g;
    cr_assert_eq(get_range(f, id, 0, 1, &g), HL_OK);
    bool has = hl_str_eq(hl_buf_str(&g.progress), hl_str_from(json));
    hl_get_run_fini(&g);
    return has;
}

static void keeps_no_parts(struct fixture *f)
{
    struct hl_id id;
    struct hl_claimed *c = begin_one(f, &id);
    cr_assert_eq(keep_part(f, &id, c->epoch, 1, 0, EVENTS), HL_ERR_INVALID);
    cr_assert_eq(say_progress(f, &id, c->epoch, "1"), HL_ERR_INVALID);
    cr_assert(has_range(f, &id, 0, 100, ""));
    hl_claimed_free(c);
}

Test(sqlite, keeps_no_parts_of_a_stream_for_others)
{
    fixture_run(HL_STORE_SQLITE, keeps_no_parts);
}

Test(memory, keeps_no_parts_of_a_stream_for_others)
{
    fixture_run(HL_STORE_MEMORY, keeps_no_parts);
}

#define POSTGRES_TEST(name)                                                                        \
    static void name(struct fixture *f);                                                           \
    Test(postgres, name, .timeout = 180)                                                           \
    {                                                                                              \
        fixture_run(HL_STORE_POSTGRES, name);                                                      \
    }                                                                                              \
    static void name(struct fixture *f)

POSTGRES_TEST(parts_of_a_running_stream_are_read_in_their_order)
{
    struct hl_id id;
    struct hl_claimed *c = begin_one(f, &id);
    cr_assert_eq(keep_part(f, &id, c->epoch, 1, 0, "data: a\n\n"), HL_OK);
    cr_assert(has_range(f, &id, 0, 100, "data: a\n\n"));
    cr_assert(has_range(f, &id, 9, 100, ""));
    cr_assert_eq(keep_part(f, &id, c->epoch, 1, 9, "data: b\n\n"), HL_OK);
    cr_assert(has_range(f, &id, 9, 100, "data: b\n\n"));
    cr_assert(has_range(f, &id, 15, 1, "b"));
    assert_parts(f, &id, EVENTS, 4);
    hl_claimed_free(c);
}

POSTGRES_TEST(part_that_is_sent_again_with_more_is_kept_with_it)
{
    struct hl_id id;
    struct hl_claimed *c = begin_one(f, &id);
    cr_assert_eq(keep_part(f, &id, c->epoch, 1, 0, "data: a\n\n"), HL_OK);
    cr_assert_eq(keep_part(f, &id, c->epoch, 1, 0, EVENTS), HL_OK, "its answer was lost");
    cr_assert(has_range(f, &id, 0, 100, EVENTS));
    cr_assert_eq(keep_part(f, &id, c->epoch, 1, 0, "data: a\n\n"), HL_OK);
    cr_assert(has_range(f, &id, 0, 100, EVENTS), "nothing is lost by one that was late");
    hl_claimed_free(c);
}

POSTGRES_TEST(part_of_a_run_that_is_not_this_process_s_is_stale)
{
    struct hl_id id, nobody = {.b = {7}}, queued;
    struct hl_claimed *c = begin_one(f, &id);
    cr_assert_eq(accept_run(f, (struct run_spec){0}, &queued), HL_OK);
    cr_assert_eq(keep_part(f, &id, c->epoch + 1, 1, 0, EVENTS), HL_ERR_STALE);
    cr_assert_eq(keep_part(f, &nobody, 1, 1, 0, EVENTS), HL_ERR_STALE);
    cr_assert_eq(keep_part(f, &queued, 1, 1, 0, EVENTS), HL_ERR_STALE);
    cr_assert_eq(say_progress(f, &id, c->epoch + 1, "1"), HL_ERR_STALE);
    cr_assert_eq(fixture_count(f, "stream"), 0);
    cr_assert(has_progress(f, &id, ""));
    hl_claimed_free(c);
}

POSTGRES_TEST(parts_of_a_stream_go_with_the_end_of_its_run)
{
    struct hl_id id;
    struct hl_claimed *c = begin_one(f, &id);
    cr_assert_eq(keep_part(f, &id, c->epoch, 1, 0, "data: a\n\n"), HL_OK);
    cr_assert_eq(fixture_count(f, "stream"), 1);
    cr_assert_eq(finish_run(f, &id, c->epoch, EVENTS), HL_OK);
    cr_assert_eq(fixture_count(f, "stream"), 0);
    cr_assert(has_range(f, &id, 0, 100, EVENTS), "its end has all of it");
    cr_assert_eq(keep_part(f, &id, c->epoch, 1, 9, "data: b\n\n"), HL_ERR_STALE);
    hl_claimed_free(c);
}

POSTGRES_TEST(parts_of_a_stream_go_when_another_attempt_follows)
{
    struct hl_id id;
    allow_attempts(f, 3);
    struct hl_claimed *c = begin_one(f, &id);
    cr_assert_eq(keep_part(f, &id, c->epoch, 1, 0, "data: a\n\n"), HL_OK);
    struct hl_release *r = hl_release_new(c);
    r->is_retry = true;
    r->due_ms = hl_clock_wall_ms();
    r->ended = (struct hl_attempt_entry){.attempt = 1, .events = 1};
    cr_assert_eq(ask(f, &f->worker, &r->m), HL_OK);
    hl_release_free(r);
    cr_assert_eq(fixture_count(f, "stream"), 0);
    give_credit(f, &f->worker, 1, false);
    c = party_wait(&f->worker, HL_STORE_CLAIMED);
    cr_assert_eq(keep_part(f, &id, c->epoch, 2, 0, "data: z\n\n"), HL_OK);
    cr_assert(has_range(f, &id, 0, 100, "data: z\n\n"));
    hl_claimed_free(c);
}

POSTGRES_TEST(what_came_of_a_lost_process_s_stream_is_kept)
{
    char *text = make_long(300000);
    struct hl_id async, sync, longer, nothing;
    struct hl_claimed *c = begin_one(f, &async);
    cr_assert_eq(keep_part(f, &async, c->epoch, 1, 0, "data: a\n\n"), HL_OK);
    cr_assert_eq(keep_part(f, &async, c->epoch, 1, 9, "data: b\n\n"), HL_OK);
    hl_claimed_free(c);
    cr_assert_eq(record_run(f, (struct run_spec){0}, &sync), HL_OK);
    cr_assert_eq(keep_part(f, &sync, 1, 1, 0, EVENTS), HL_OK);
    c = begin_one(f, &longer);
    cr_assert_eq(keep_part(f, &longer, c->epoch, 1, 0, text), HL_OK);
    hl_claimed_free(c);
    hl_claimed_free(begin_one(f, &nothing));
    fixture_die(f);
    fixture_open(f);
    assert_interrupted(f, &async, HL_BODY_INLINE, EVENTS);
    assert_interrupted(f, &sync, HL_BODY_INLINE, EVENTS);
    assert_interrupted(f, &longer, HL_BODY_FILE, text);
    cr_assert_eq(where_is(f, &nothing), HL_BODY_NONE);
    cr_assert_eq(fixture_count(f, "stream"), 0);
    free(text);
}

POSTGRES_TEST(ordinals_of_a_lost_process_s_attempt_are_not_used_again)
{
    struct hl_id id;
    allow_attempts(f, 3);
    struct hl_claimed *c = begin_one(f, &id);
    cr_assert_eq(keep_part(f, &id, c->epoch, 1, 0, EVENTS), HL_OK);
    hl_claimed_free(c);
    fixture_die(f);
    fixture_open(f);
    cr_assert_eq(fixture_count(f, "stream"), 0);
    give_credit(f, &f->worker, 1, false);
    c = party_wait(&f->worker, HL_STORE_CLAIMED);
    cr_assert_eq(c->attempt, 2);
    cr_assert_geq(c->events, 2, "callers have had these, and perhaps some that never came here");
    hl_claimed_free(c);
}

POSTGRES_TEST(progress_of_a_run_is_its_last_one_also_after_its_end)
{
    struct hl_id id;
    struct hl_claimed *c = begin_one(f, &id);
    cr_assert(has_progress(f, &id, ""));
    cr_assert_eq(say_progress(f, &id, c->epoch, "{\"done\":1}"), HL_OK);
    cr_assert_eq(say_progress(f, &id, c->epoch, "{\"done\":2}"), HL_OK);
    cr_assert(has_progress(f, &id, "{\"done\":2}"));
    cr_assert_eq(finish_run(f, &id, c->epoch, "answer"), HL_OK);
    cr_assert(has_progress(f, &id, "{\"done\":2}"));
    cr_assert_eq(say_progress(f, &id, c->epoch, "3"), HL_ERR_STALE);
    hl_claimed_free(c);
}

/* What a store does each half minute. Returns how much there was. */
static long long trim(struct fixture *f, int64_t past_ms, int64_t share)
{
    char why[300] = "";
    struct hl_pg_settings settings;
    struct hl_pg_session session;
    struct hl_pg_params params = {0};
    PGresult *result;
    hl_pg_settings_init(&settings, f->config);
    cr_assert_eq(hl_pg_session_open(&session, &settings, NULL, why, sizeof(why)), HL_OK, "%s", why);
    hl_pg_add_int(&params, HL_PG_P_UNTIL_MS, past_ms);
    hl_pg_add_int(&params, HL_PG_P_MAX_BYTES, share);
    const struct hl_statement *statement = &hl_pg_sql_statements[HL_PG_DO_STREAM_TRIM];
    cr_assert_eq(hl_pg_session_do(&session, statement, &params, &result, why, sizeof(why)), HL_OK,
        "%s", why);
    struct hl_pg_row row = {.result = result};
    long long kept = hl_pg_int(&row);
    PQclear(result);
    hl_pg_params_fini(&params);
    hl_pg_session_close(&session);
    return kept;
}

POSTGRES_TEST(oldest_kept_streams_go_beyond_their_share_and_past_their_retention)
{
    struct hl_id ids[3];
    struct hl_id with_webhook = end_stream(f, "http://h.test/", EVENTS);
    for (size_t i = 0; i < HL_ARRAY_LEN(ids); i++) {
        ids[i] = end_stream(f, NULL, "1234567890");
        usleep(2000); /* they end one behind the other */
    }
    cr_assert_eq(trim(f, 0, 30), 30);
    cr_assert_eq(where_is(f, &ids[0]), HL_BODY_INLINE, "they are no more than they may be");
    trim(f, 0, 29);
    cr_assert_eq(where_is(f, &ids[0]), HL_BODY_DROPPED);
    cr_assert_eq(where_is(f, &ids[1]), HL_BODY_INLINE);
    cr_assert_eq(trim(f, hl_clock_wall_ms(), 1000), 20);
    cr_assert_eq(where_is(f, &ids[2]), HL_BODY_DROPPED);
    cr_assert_eq(where_is(f, &with_webhook), HL_BODY_INLINE);
    cr_assert_eq(trim(f, 0, 1000), 0);
}

/* ---- where the run is ---- */

static bool has_home(struct fixture *f, const struct hl_id *id, const char *url)
{
    struct hl_get_run g;
    cr_assert_eq(get_range(f, id, 0, 1, &g), HL_OK);
    bool has = hl_str_eq(hl_buf_str(&g.home), hl_str_from(url));
    hl_get_run_fini(&g);
    return has;
}

POSTGRES_TEST(other_replica_is_told_where_a_running_run_is)
{
    struct fixture other;
    struct hl_id id, queued;
    fixture_close(f);
    f->config->replica_url = HL_STR("http://words-0:8080");
    fixture_open(f);
    fixture_init(&other, HL_STORE_POSTGRES);
    other.config->postgres_schema = f->config->postgres_schema;
    fixture_open(&other);
    struct hl_claimed *c = begin_one(f, &id);
    cr_assert_eq(accept_run(f, (struct run_spec){0}, &queued), HL_OK);
    cr_assert_eq(keep_part(f, &id, c->epoch, 1, 0, EVENTS), HL_OK);
    cr_assert(has_home(&other, &id, "http://words-0:8080"));
    cr_assert(has_range(&other, &id, 0, 100, EVENTS));
    cr_assert(has_home(f, &id, ""), "it is here");
    cr_assert(has_home(&other, &queued, ""), "nobody has it");
    cr_assert_eq(keep_part(&other, &id, c->epoch, 1, 18, "x"), HL_ERR_STALE);
    cr_assert_eq(finish_run(f, &id, c->epoch, EVENTS), HL_OK);
    cr_assert(has_home(&other, &id, ""));
    hl_claimed_free(c);
    fixture_fini(&other);
}

/* ---- heads of answers, for callers at fronts ---- */

static bool has_head(struct fixture *f, const struct hl_id *id, const char *text)
{
    struct hl_get_run g = {.m.msg.type = HL_STORE_GET_RUN, .run_id = *id, .with_head = true};
    cr_assert_eq(ask(f, &f->asker, &g.m), HL_OK);
    bool has = hl_str_eq(hl_buf_str(&g.answer_head), hl_str_from(text));
    hl_get_run_fini(&g);
    return has;
}

static struct hl_claimed *begin_called(struct fixture *f, struct hl_id *id)
{
    struct hl_accept *a = make_accept(f, HL_STORE_ACCEPT, &(struct run_spec){0});
    a->terms.has_caller = true;
    *id = a->run_id;
    cr_assert_eq(ask(f, &f->asker, &a->m), HL_OK);
    hl_accept_free(a);
    give_credit(f, &f->worker, 1, false);
    return party_wait(&f->worker, HL_STORE_CLAIMED);
}

POSTGRES_TEST(head_of_an_answer_is_there_while_its_stream_goes_on_and_when_it_has_ended)
{
    struct hl_id id;
    struct hl_claimed *c = begin_called(f, &id);
    cr_assert(c->terms.has_caller);
    cr_assert(has_head(f, &id, ""));
    struct hl_keep_stream *part = calloc(1, sizeof(*part));
    part->m.msg.type = HL_STORE_KEEP_STREAM;
    part->run_id = id;
    part->epoch = c->epoch;
    part->attempt = 1;
    cr_assert_eq(hl_buf_append_str(&part->answer_head, HL_STR("HTTP/1.1 200 OK\r\n\r\n")), HL_OK);
    cr_assert_eq(ask(f, &f->worker, &part->m), HL_OK);
    hl_keep_stream_free(part);
    cr_assert(has_head(f, &id, "HTTP/1.1 200 OK\r\n\r\n"));
    cr_assert_eq(keep_part(f, &id, c->epoch, 1, 0, EVENTS), HL_OK);
    cr_assert(has_head(f, &id, "HTTP/1.1 200 OK\r\n\r\n"), "its first events came behind it");
    cr_assert(has_range(f, &id, 0, 100, EVENTS));

    struct hl_finish *end = make_finish(&id, c->epoch, EVENTS);
    cr_assert_eq(hl_buf_append_str(&end->answer_head, HL_STR("HTTP/1.1 201 OK\r\n\r\n")), HL_OK);
    cr_assert_eq(ask(f, &f->worker, &end->m), HL_OK);
    hl_finish_free(end);
    cr_assert(has_head(f, &id, "HTTP/1.1 201 OK\r\n\r\n"));
    cr_assert_eq(
        fixture_count(f, "run WHERE position('HTTP' IN encode(answer_head, 'escape')) > 0"), 0,
        "it is sealed");
    hl_claimed_free(c);
}

POSTGRES_TEST(run_of_an_asynchronous_call_has_no_caller_and_no_head)
{
    struct hl_id id;
    struct hl_claimed *c = begin_one(f, &id);
    cr_assert(!c->terms.has_caller);
    cr_assert_eq(finish_run(f, &id, c->epoch, "pong"), HL_OK);
    cr_assert(has_head(f, &id, ""));
    hl_claimed_free(c);
}
