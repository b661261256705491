/* diary.c - see diary.h.
 *
 * Bounded: what ended longer ago may run again where a database lacks it. A line goes into the file when what it says is
 * remembered and out of it when that is forgotten, so the file has what the memory has; what the last moments before a
 * kill brought may be missing in it. */
#include "store/postgres/diary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "store/postgres/diary_line.h"
#include "store/postgres/diary_file.h"

#define KEEP_MS    (10 * 60 * 1000)
#define KEEP_BYTES (8u << 20) /* of answers: the oldest runs go when there are more */

void hl_pg_diary_init(struct hl_pg_store *s)
{
    hl_id_map_init(&s->recall.begun);
    hl_list_init(&s->recall.past);
    hl_list_init(&s->recall.words);
    hl_list_init(&s->recall.runs);
    hl_list_init(&s->recall.deliveries);
}

/* --- lines ---------------------------------------------------------------------------------- */

/* Without memory for its line it is in no file. */
static uint64_t add_line(struct hl_pg_store *s, struct hl_buf *line, enum hl_err err)
{
    uint64_t number = 0;
    if (!err && s->recall.diary)
        number = hl_pg_diary_file_add(s->recall.diary, line);
    hl_buf_fini(line);
    return number;
}

static void drop_line(struct hl_pg_recall *r, uint64_t number)
{
    if (r->diary)
        hl_pg_diary_file_drop(r->diary, number);
}

static void write_begun(struct hl_pg_store *s, struct hl_pg_begun *b)
{
    struct hl_buf line = {0};
    enum hl_err err = hl_pg_line_write_begun(&line, b);
    b->line = add_line(s, &line, err);
}

static void write_ended(struct hl_pg_store *s, struct hl_pg_ended *e)
{
    struct hl_buf line = {0};
    enum hl_err err = hl_pg_line_write_ended(&line, e);
    e->line = add_line(s, &line, err);
}

static void write_settled(struct hl_pg_store *s, struct hl_pg_settled *d)
{
    struct hl_buf line = {0};
    enum hl_err err = hl_pg_line_write_settled(&line, d);
    d->line = add_line(s, &line, err);
}

static void write_word(struct hl_pg_store *s, struct hl_pg_word *w)
{
    struct hl_buf line = {0};
    enum hl_err err = hl_pg_line_write_word(&line, w);
    w->line = add_line(s, &line, err);
}

static void write_self(struct hl_pg_store *s)
{
    struct hl_buf line = {0};
    if (!s->recall.diary || hl_id_is_nil(&s->recall.self.id))
        return;
    if (hl_pg_line_write_self(&line, &s->recall.self) == HL_OK)
        hl_pg_diary_file_put_first(s->recall.diary, &line);
    hl_buf_fini(&line);
}

static void write_all(struct hl_pg_store *s)
{
    struct hl_pg_recall *r = &s->recall;
    write_self(s);
    HL_LIST_EACH (node, &r->past) /* before what was begun since: the oldest go first */
        write_begun(s, hl_pg_begun_of(node));
    for (size_t i = 0; i < r->begun.cap; i++)
        if (r->begun.entries[i].value)
            write_begun(s, r->begun.entries[i].value);
    HL_LIST_EACH (node, &r->runs)
        write_ended(s, hl_pg_ended_of(node));
    HL_LIST_EACH (node, &r->deliveries)
        write_settled(s, hl_pg_settled_of(node));
    HL_LIST_EACH (node, &r->words)
        write_word(s, hl_pg_word_of(node));
}

void hl_pg_diary_turn(struct hl_pg_store *s, uint64_t now_ms)
{
    /* Until then it is the thread's that opens it. */
    struct hl_pg_diary_file *d = atomic_load(&s->is_settled) ? s->recall.diary : NULL;
    if (!d)
        return;
    if (hl_pg_diary_file_begins_anew(d, now_ms))
        write_all(s);
    hl_pg_diary_file_turn(d);
}

uint64_t hl_pg_diary_due_ms(const struct hl_pg_store *s)
{
    bool has_diary = atomic_load(&s->is_settled) && s->recall.diary;
    return has_diary ? hl_pg_diary_file_due_ms(s->recall.diary) : UINT64_MAX;
}

/* Beats of a replica that has nothing to remember write nothing. */
void hl_pg_diary_note_self(struct hl_pg_store *s)
{
    struct hl_pg_recall *r = &s->recall;
    bool is_same = hl_id_eq(&r->self.id, &s->member.id) &&
                   strcmp(r->self.database.name, s->member.database.name) == 0;
    r->self = (struct hl_pg_self){.id = s->member.id, .database = s->member.database};
    if (!is_same || r->begun.n + r->n_past + r->n_runs + r->n_deliveries + r->n_words > 0)
        write_self(s);
}

/* --- forgetting ----------------------------------------------------------------------------- */

static size_t size_of(const struct hl_finish *f)
{
    return f->log.n + f->answer_head.n +
           (f->outcome.body.where == HL_BODY_INLINE ? f->outcome.body.size : 0);
}

static void forget_begun(struct hl_pg_recall *r, const struct hl_id *run_id, uint32_t epoch)
{
    struct hl_pg_begun *b = hl_id_map_find(&r->begun, run_id);
    if (!b || b->epoch != epoch)
        return;
    hl_id_map_remove(&r->begun, run_id);
    drop_line(r, b->line);
    free(b);
}

/* The rest of an entry of one of the lists, of which there are `*n`. */
static void forget(struct hl_pg_recall *r, struct hl_list *node, size_t *n, uint64_t line)
{
    hl_list_remove(node);
    --*n;
    drop_line(r, line);
}

static void forget_past(struct hl_pg_recall *r, struct hl_pg_begun *b)
{
    forget(r, &b->node, &r->n_past, b->line);
    free(b);
}

static void forget_run(struct hl_pg_recall *r, struct hl_pg_ended *e)
{
    forget(r, &e->node, &r->n_runs, e->line);
    r->bytes -= size_of(&e->finish);
    hl_body_fini(&e->finish.outcome.body);
    hl_buf_fini(&e->finish.log);
    hl_buf_fini(&e->finish.answer_head);
    free(e);
}

static void forget_delivery(struct hl_pg_recall *r, struct hl_pg_settled *d)
{
    forget(r, &d->node, &r->n_deliveries, d->line);
    free(d);
}

static void forget_word(struct hl_pg_recall *r, struct hl_pg_word *w)
{
    forget(r, &w->node, &r->n_words, w->line);
    free(w);
}

static bool is_old(uint64_t at_ms, uint64_t now_ms)
{
    return now_ms - at_ms > KEEP_MS;
}

/* While it is told it is walked over. */
static void forget_old(struct hl_pg_recall *r)
{
    uint64_t now_ms = hl_clock_mono_ms();
    if (r->state == HL_PG_UNTOLD)
        return;
    while (r->n_past > 0 &&
           (r->n_past > HL_PG_DIARY_MAX || is_old(hl_pg_begun_of(r->past.next)->at_ms, now_ms)))
        forget_past(r, hl_pg_begun_of(r->past.next));
    while (r->n_runs > 0 && (r->n_runs > HL_PG_DIARY_MAX || r->bytes > KEEP_BYTES ||
                                is_old(hl_pg_ended_of(r->runs.next)->op.posted_ms, now_ms)))
        forget_run(r, hl_pg_ended_of(r->runs.next));
    while (r->n_deliveries > 0 && (r->n_deliveries > HL_PG_DIARY_MAX ||
                                      is_old(hl_pg_settled_of(r->deliveries.next)->at_ms, now_ms)))
        forget_delivery(r, hl_pg_settled_of(r->deliveries.next));
    while (r->n_words > 0 && (r->n_words > HL_PG_WORDS_MAX ||
                                 is_old(hl_pg_word_of(r->words.next)->op.posted_ms, now_ms)))
        forget_word(r, hl_pg_word_of(r->words.next));
}

void hl_pg_diary_undo(struct hl_pg_store *s, const struct hl_id *run_id, uint32_t epoch)
{
    forget_begun(&s->recall, run_id, epoch);
}

void hl_pg_diary_undo_all(struct hl_pg_store *s)
{
    struct hl_id_map *map = &s->recall.begun;
    for (size_t i = 0; i < map->cap; i++) {
        struct hl_pg_begun *b = map->entries[i].value;
        if (b)
            drop_line(&s->recall, b->line);
        free(b);
    }
    hl_id_map_clear(map);
}

static void forget_all(struct hl_pg_store *s)
{
    struct hl_pg_recall *r = &s->recall;
    hl_pg_diary_undo_all(s);
    while (r->n_past > 0)
        forget_past(r, hl_pg_begun_of(r->past.next));
    while (r->n_runs > 0)
        forget_run(r, hl_pg_ended_of(r->runs.next));
    while (r->n_deliveries > 0)
        forget_delivery(r, hl_pg_settled_of(r->deliveries.next));
    while (r->n_words > 0)
        forget_word(r, hl_pg_word_of(r->words.next));
}

/* --- remembering ---------------------------------------------------------------------------- */

static void keep_run(struct hl_pg_recall *r, struct hl_pg_ended *e)
{
    e->op.m = &e->finish.m;
    e->op.how = &hl_pg_op_finish;
    e->op.posted_ms = hl_clock_mono_ms(); /* it may have waited for the database for long */
    r->n_runs++;
    r->bytes += size_of(&e->finish);
    hl_list_push_back(&r->runs, &e->node);
}

static void keep_delivery(struct hl_pg_recall *r, struct hl_pg_settled *d)
{
    d->at_ms = hl_clock_mono_ms();
    r->n_deliveries++;
    hl_list_push_back(&r->deliveries, &d->node);
}

static void keep_word(struct hl_pg_recall *r, struct hl_pg_word *w, bool is_cancel)
{
    w->op.m = &w->ref.m;
    w->op.how = is_cancel ? &hl_pg_op_cancel : &hl_pg_op_account_revoke;
    w->op.posted_ms = hl_clock_mono_ms();
    r->n_words++;
    hl_list_push_back(&r->words, &w->node);
}

void hl_pg_diary_begin(struct hl_pg_store *s, const struct hl_id *run_id, uint32_t epoch)
{
    struct hl_pg_recall *r = &s->recall;
    if (r->begun.n >= HL_PG_DIARY_MAX || hl_id_map_reserve(&r->begun, 1) != HL_OK)
        return;
    struct hl_pg_begun *b = calloc(1, sizeof(*b)), *old = hl_id_map_remove(&r->begun, run_id);
    if (old)
        drop_line(r, old->line);
    free(old);
    if (!b)
        return;
    *b = (struct hl_pg_begun){
        .run_id = *run_id, .as = s->member.id, .epoch = epoch, .at_ms = hl_clock_mono_ms()};
    hl_list_init(&b->node);
    hl_id_map_put(&r->begun, run_id, b);
    write_begun(s, b);
}

/* A long answer has rows of its own, which may be lost as well: it counts as not kept any more. */
static enum hl_err copy_outcome(struct hl_outcome *to, const struct hl_outcome *from)
{
    *to = *from;
    to->body.bytes = NULL;
    if (from->body.where == HL_BODY_INLINE)
        return hl_body_copy(&to->body, (struct hl_str){from->body.bytes, from->body.size});
    if (from->body.where == HL_BODY_FILE) {
        to->body.where = HL_BODY_DROPPED;
        to->encoding = HL_ENCODING_NONE;
    }
    return HL_OK;
}

static void note_run(struct hl_pg_store *s, const struct hl_pg_op *op)
{
    const struct hl_finish *f = (const struct hl_finish *)op->m;
    struct hl_pg_ended *e = calloc(1, sizeof(*e));
    if (!e)
        return;
    e->finish = (struct hl_finish){
        .run_id = f->run_id, .epoch = f->epoch, .run_us = f->run_us, .queued_us = f->queued_us};
    enum hl_err err = copy_outcome(&e->finish.outcome, &f->outcome);
    if (!err && f->log.n > 0)
        err = hl_buf_append_str(&e->finish.log, hl_buf_str(&f->log));
    if (!err && f->answer_head.n > 0)
        err = hl_buf_append_str(&e->finish.answer_head, hl_buf_str(&f->answer_head));
    e->op.posted_ahead_ms = op->posted_ahead_ms;
    e->op.delivery_id = op->delivery_id;
    e->as = s->member.id;
    keep_run(&s->recall, e);
    if (err)
        forget_run(&s->recall, e);
    else
        write_ended(s, e);
}

static void note_delivery(struct hl_pg_store *s, const struct hl_pg_op *op)
{
    const struct hl_attempt_outcome *o = (const struct hl_attempt_outcome *)op->m;
    struct hl_pg_settled *d = calloc(1, sizeof(*d));
    if (!d)
        return;
    *d = (struct hl_pg_settled){.id = o->delivery_id,
        .round = o->round,
        .n = o->n,
        .state = (enum hl_delivery_state)op->number,
        .verdict = o->verdict,
        .http_status = o->http_status,
        .started_ms = o->started_ms,
        .ended_ms = o->ended_ms};
    keep_delivery(&s->recall, d);
    write_settled(s, d);
}

static void note_word(struct hl_pg_store *s, const struct hl_pg_op *op)
{
    struct hl_pg_word *w = calloc(1, sizeof(*w));
    bool is_cancel = op->how == &hl_pg_op_cancel;
    if (!w)
        return;
    if (is_cancel)
        w->ref = *(const struct hl_run_ref *)op->m;
    else
        w->ref.run_id = ((const struct hl_revoke_account *)op->m)->id;
    w->ref.order = NULL; /* the asker's, as is the row of its audit: the line in the log has it */
    w->ref.m.audit = NULL;
    w->op.delivery_id = op->delivery_id;
    w->revoked_ms = hl_clock_wall_ms();
    keep_word(&s->recall, w, is_cancel);
    write_word(s, w);
}

/* Whatever the answer was, no worker has the run any more. */
static void note_over(struct hl_pg_store *s, const struct hl_pg_op *op)
{
    if (op->how == &hl_pg_op_finish) {
        const struct hl_finish *f = (const struct hl_finish *)op->m;
        forget_begun(&s->recall, &f->run_id, f->epoch);
    } else if (op->how == &hl_pg_op_release) {
        const struct hl_claimed *c = ((const struct hl_release *)op->m)->claimed;
        forget_begun(&s->recall, &c->run_id, c->epoch);
    }
}

void hl_pg_diary_note(struct hl_pg_store *s, const struct hl_pg_op *op)
{
    note_over(s, op);
    if (op->rc != HL_OK)
        return;
    if (op->how == &hl_pg_op_finish)
        note_run(s, op);
    else if (op->how == &hl_pg_op_outcome && op->number != HL_DELIVERY_PENDING)
        note_delivery(s, op);
    else if (op->how == &hl_pg_op_cancel || op->how == &hl_pg_op_account_revoke)
        note_word(s, op);
    forget_old(&s->recall);
}

/* --- what an earlier process has left ------------------------------------------------------- */

static bool read_self(struct hl_pg_store *s, struct hl_str line)
{
    enum hl_err err = hl_pg_line_read_self(line, &s->recall.self);
    s->member.database = s->recall.self.database;
    return !err;
}

static bool read_begun(struct hl_pg_store *s, struct hl_str line)
{
    struct hl_pg_begun *b = calloc(1, sizeof(*b));
    if (!b)
        return false;
    enum hl_err err = hl_pg_line_read_begun(line, b);
    b->at_ms = hl_clock_mono_ms();
    s->recall.n_past++;
    hl_list_push_back(&s->recall.past, &b->node);
    return !err;
}

static bool read_ended(struct hl_pg_store *s, struct hl_str line)
{
    struct hl_pg_ended *e = calloc(1, sizeof(*e));
    if (!e)
        return false;
    enum hl_err err = hl_pg_line_read_ended(line, e);
    e->op.posted_ahead_ms = hl_clock_ahead_ms();
    keep_run(&s->recall, e);
    return !err;
}

static bool read_settled(struct hl_pg_store *s, struct hl_str line)
{
    struct hl_pg_settled *d = calloc(1, sizeof(*d));
    if (!d)
        return false;
    enum hl_err err = hl_pg_line_read_settled(line, d);
    keep_delivery(&s->recall, d);
    return !err;
}

static bool read_word(struct hl_pg_store *s, struct hl_str line)
{
    struct hl_pg_word *w = calloc(1, sizeof(*w));
    if (!w)
        return false;
    enum hl_err err = hl_pg_line_read_word(line, w);
    keep_word(&s->recall, w, hl_pg_line_kind(line) == HL_PG_LINE_CANCEL);
    return !err;
}

static bool read_line(void *self, struct hl_str line)
{
    static bool (*const readers[])(struct hl_pg_store * s, struct hl_str line) = {
        [HL_PG_LINE_SELF] = read_self,
        [HL_PG_LINE_BEGUN] = read_begun,
        [HL_PG_LINE_ENDED] = read_ended,
        [HL_PG_LINE_SETTLED] = read_settled,
        [HL_PG_LINE_CANCEL] = read_word,
        [HL_PG_LINE_REVOKED] = read_word,
    };
    enum hl_pg_line_kind kind = hl_pg_line_kind(line);
    bool is_known = (size_t)kind < HL_ARRAY_LEN(readers) && readers[kind];
    return is_known && readers[kind](self, line);
}

enum hl_err hl_pg_diary_open(struct hl_pg_store *s, char *why, size_t why_len)
{
    struct hl_pg_recall *r = &s->recall;
    snprintf(why, why_len, "%s", hl_err_text(HL_ERR_NOMEM));
    if (s->is_guest)
        return HL_OK;
    r->diary =
        hl_pg_diary_file_open(&s->loop, &s->keys, s->scratch.path, hl_str_from(s->settings.schema));
    if (!r->diary)
        return HL_ERR_NOMEM;
    if (!hl_pg_diary_file_read(r->diary, read_line, s)) {
        forget_all(s);
        r->self = (struct hl_pg_self){0};
        s->member.database = (struct hl_pg_database){0};
    }
    forget_old(r);
    return HL_OK;
}

void hl_pg_diary_fini(struct hl_pg_store *s)
{
    hl_pg_diary_file_free(s->recall.diary);
    s->recall.diary = NULL;
    forget_all(s);
    hl_id_map_fini(&s->recall.begun);
}
