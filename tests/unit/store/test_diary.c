/* test_diary.c - what a replica remembers of what it did, and what the next process of its directory has of that. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "store/account.h"
#include "store/key.h"
#include "store/postgres/diary.h"
#include "store/postgres/diary_line.h"
#include "store/postgres/diary_file.h"

#define LONG_AGO_MS (11 * 60 * 1000)

static struct hl_pg_store *s;
static struct hl_key key;
static char dir[] = "/tmp/hookline-diary-XXXXXX";
static const struct hl_id run = {{1}}, other = {{2}}, node = {{9}};

static void begin(void)
{
    s = calloc(1, sizeof(*s));
    cr_assert_eq(uv_loop_init(&s->loop), 0);
    hl_pg_diary_init(s);
    s->scratch.path = dir;
    s->keys.key = key;
    s->member.id = node;
    snprintf(s->settings.schema, sizeof(s->settings.schema), "\"s\"");
    atomic_store(&s->is_settled, true);
}

static void end(void)
{
    if (s->recall.diary)
        hl_pg_diary_file_close(s->recall.diary);
    uv_run(&s->loop, UV_RUN_DEFAULT);
    hl_pg_diary_fini(s);
    cr_assert_eq(uv_loop_close(&s->loop), 0);
    free(s);
}

static void init(void)
{
    cr_assert_not_null(mkdtemp(dir));
    hl_key_random(&key);
    begin();
}

static void fini(void)
{
    char command[96];
    end();
    snprintf(command, sizeof(command), "rm -rf %s", dir);
    cr_assert_eq(system(command), 0);
}

TestSuite(diary, .init = init, .fini = fini);

static void open_diary(void)
{
    char why[256];
    cr_assert_eq(hl_pg_diary_open(s, why, sizeof(why)), HL_OK);
    hl_pg_diary_turn(s, 1);
    uv_run(&s->loop, UV_RUN_DEFAULT);
}

static void note(const struct hl_pg_operation *how, void *m, uint64_t posted_ms, int64_t number)
{
    struct hl_pg_op op = {
        .how = how, .m = m, .rc = HL_OK, .posted_ms = posted_ms, .number = number};
    hl_pg_diary_note(s, &op);
}

static void end_run(const struct hl_id *id, uint64_t posted_ms)
{
    struct hl_finish f = {.run_id = *id, .epoch = 3, .run_us = 5, .queued_us = -1};
    f.outcome = (struct hl_outcome){
        .state = HL_RUN_SUCCESS, .http_status = 201, .content_type = "text/plain"};
    f.outcome.body = (struct hl_body){.where = HL_BODY_INLINE, .size = 4, .bytes = "done"};
    f.log = (struct hl_buf){.p = "a line", .n = 6};
    note(&hl_pg_op_finish, &f, posted_ms, 0);
}

static void end_delivery(uint64_t posted_ms)
{
    struct hl_attempt_outcome o = {
        .delivery_id = other, .round = 2, .n = 7, .http_status = 204, .started_ms = 10};
    note(&hl_pg_op_outcome, &o, posted_ms, HL_DELIVERY_OK);
}

static void cancel_run(uint64_t posted_ms)
{
    struct hl_run_ref ref = {.run_id = other, .project = "p", .app = "a"};
    note(&hl_pg_op_cancel, &ref, posted_ms, 0);
}

static void revoke_account(uint64_t posted_ms)
{
    struct hl_revoke_account r = {.id = other};
    note(&hl_pg_op_account_revoke, &r, posted_ms, 0);
}

/* It may have waited for the database for longer than anything is remembered. */
Test(diary, what_was_posted_long_ago_is_remembered_from_its_commit_on)
{
    uint64_t posted_ms = hl_clock_mono_ms() - LONG_AGO_MS;
    end_run(&run, posted_ms);
    end_delivery(posted_ms);
    cancel_run(posted_ms);
    revoke_account(posted_ms);
    cr_assert_eq(s->recall.n_runs, 1);
    cr_assert_eq(s->recall.n_deliveries, 1);
    cr_assert_eq(s->recall.n_words, 2);
}

Test(diary, nothing_is_forgotten_while_a_database_is_told)
{
    end_run(&run, 0);
    s->recall.state = HL_PG_UNTOLD;
    hl_pg_ended_of(s->recall.runs.next)->op.posted_ms -= LONG_AGO_MS;
    end_run(&other, 0);
    cr_assert_eq(s->recall.n_runs, 2);
    s->recall.state = HL_PG_KNOWN;
    end_delivery(0);
    cr_assert_eq(s->recall.n_runs, 1);
}

Test(diary, no_more_than_so_many_runs_and_bytes_are_remembered)
{
    for (uint32_t i = 0; i < HL_PG_DIARY_MAX + 5; i++)
        end_run(&(struct hl_id){.b = {(uint8_t)i, (uint8_t)(i >> 8)}}, 0);
    cr_assert_eq(s->recall.n_runs, HL_PG_DIARY_MAX);
    cr_assert_eq(s->recall.bytes, HL_PG_DIARY_MAX * 10);
}

static void check_ended(void)
{
    const struct hl_pg_ended *e = hl_pg_ended_of(s->recall.runs.next);
    const struct hl_finish *f = &e->finish;
    cr_assert(hl_id_eq(&f->run_id, &run) && hl_id_eq(&e->as, &node));
    cr_assert_eq(f->epoch, 3);
    cr_assert_eq(f->queued_us, -1);
    cr_assert_eq(f->outcome.http_status, 201);
    cr_assert_str_eq(f->outcome.content_type, "text/plain");
    cr_assert(
        hl_str_eq((struct hl_str){f->outcome.body.bytes, f->outcome.body.size}, HL_STR("done")));
    cr_assert(hl_str_eq(hl_buf_str(&f->log), HL_STR("a line")));
    cr_assert_eq(e->op.m, &e->finish.m);
}

Test(diary, head_of_an_answer_is_in_the_line_of_its_run_alone)
{
    struct hl_pg_ended ended = {.finish = {.run_id = run, .epoch = 3}},
                       back = {.finish = {.epoch = 0}};
    struct hl_buf plain = {0}, headed = {0};
    cr_assert_eq(hl_pg_line_write_ended(&plain, &ended), HL_OK);
    ended.finish.answer_head = (struct hl_buf){.p = "HTTP", .n = 4};
    cr_assert_eq(hl_pg_line_write_ended(&headed, &ended), HL_OK);
    cr_assert_eq(headed.n, plain.n + sizeof(int64_t) + 4);
    cr_assert_eq(hl_pg_line_read_ended(hl_buf_str(&plain), &back), HL_OK);
    cr_assert_eq(back.finish.answer_head.n, 0);
    cr_assert_eq(hl_pg_line_read_ended(hl_buf_str(&headed), &back), HL_OK);
    cr_assert(hl_str_eq(hl_buf_str(&back.finish.answer_head), HL_STR("HTTP")));
    hl_buf_fini(&back.finish.answer_head);
    hl_buf_fini(&plain);
    hl_buf_fini(&headed);
}

Test(diary, error_of_a_failure_is_in_the_line_of_its_run_alone)
{
    struct hl_pg_ended ended = {.finish = {.run_id = run, .epoch = 3}},
                       back = {.finish = {.epoch = 0}};
    struct hl_buf plain = {0}, failed = {0};
    cr_assert_eq(hl_pg_line_write_ended(&plain, &ended), HL_OK);
    snprintf(ended.finish.outcome.error, sizeof(ended.finish.outcome.error), "boom");
    cr_assert_eq(hl_pg_line_write_ended(&failed, &ended), HL_OK);
    cr_assert_eq(hl_pg_line_read_ended(hl_buf_str(&plain), &back), HL_OK);
    cr_assert_str_eq(back.finish.outcome.error, "");
    cr_assert_eq(hl_pg_line_read_ended(hl_buf_str(&failed), &back), HL_OK);
    cr_assert_str_eq(back.finish.outcome.error, "boom");
    cr_assert_eq(back.finish.answer_head.n, 0);
    hl_buf_fini(&plain);
    hl_buf_fini(&failed);
}

Test(diary, the_next_process_has_what_was_begun_ended_and_said)
{
    open_diary();
    snprintf(s->member.database.name, sizeof(s->member.database.name), "server/1");
    s->member.database.beat_ms = 1234;
    hl_pg_diary_note_self(s);
    hl_pg_diary_begin(s, &run, 3);
    hl_pg_diary_begin(s, &other, 1);
    end_run(&run, 0);
    end_delivery(0);
    cancel_run(0);
    revoke_account(0);
    end();
    begin();
    s->member.id = other;
    open_diary();
    cr_assert(hl_id_eq(&s->recall.self.id, &node));
    cr_assert_str_eq(s->member.database.name, "server/1");
    cr_assert_eq(s->member.database.beat_ms, 1234);
    cr_assert_eq(s->recall.n_runs, 1);
    check_ended();
    cr_assert_eq(s->recall.n_past, 1, "what has ended is not under way");
    const struct hl_pg_begun *b = hl_pg_begun_of(s->recall.past.next);
    cr_assert(hl_id_eq(&b->run_id, &other) && hl_id_eq(&b->as, &node) && b->epoch == 1);
    const struct hl_pg_settled *d = hl_pg_settled_of(s->recall.deliveries.next);
    cr_assert(d->round == 2 && d->n == 7 && d->state == HL_DELIVERY_OK && d->http_status == 204);
    const struct hl_pg_word *w = hl_pg_word_of(s->recall.words.next);
    cr_assert_eq(w->op.how, &hl_pg_op_cancel);
    cr_assert_str_eq(w->ref.project, "p");
    cr_assert_eq(hl_pg_word_of(w->node.next)->op.how, &hl_pg_op_account_revoke);
}

Test(diary, what_goes_back_or_was_taken_over_was_not_begun)
{
    open_diary();
    snprintf(s->member.database.name, sizeof(s->member.database.name), "server/1");
    hl_pg_diary_note_self(s);
    hl_pg_diary_begin(s, &run, 1);
    hl_pg_diary_undo(s, &run, 1);
    hl_pg_diary_begin(s, &run, 3);
    hl_pg_diary_undo(s, &run, 1);
    cr_assert_eq(s->recall.begun.n, 1, "an earlier claim that goes back is not this one");
    hl_pg_diary_undo_all(s);
    end();
    begin();
    open_diary();
    cr_assert_eq(s->recall.n_past, 0);
}
