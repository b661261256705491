/* diary_line.c - see diary_line.h. Each kind has one function that names its fields in order; it writes them, or reads
 * them. */
#include "store/postgres/diary_line.h"

#include <stdlib.h>
#include <string.h>

/* One of the two directions. */
struct pen {
    struct hl_buf *out; /* NULL: reads */
    struct hl_str in;
    enum hl_err err;
};

static const char *take(struct pen *p, size_t n)
{
    if (!p->err && p->in.n < n)
        p->err = HL_ERR_CORRUPT;
    if (p->err)
        return NULL;
    const char *at = p->in.p;
    p->in = (struct hl_str){at + n, p->in.n - n};
    return at;
}

static void bytes(struct pen *p, void *field, size_t n)
{
    if (p->out && !p->err && n > 0)
        p->err = hl_buf_append(p->out, field, n);
    const char *at = p->out ? NULL : take(p, n);
    if (at && n > 0)
        memcpy(field, at, n);
}

static int64_t number(struct pen *p, int64_t v)
{
    bytes(p, &v, sizeof(v));
    return v;
}

static void id(struct pen *p, struct hl_id *field)
{
    bytes(p, field->b, sizeof(field->b));
}

/* A NUL ends it, in room for `cap` bytes. */
static void text(struct pen *p, char *field, size_t cap)
{
    size_t n = (size_t)number(p, (int64_t)strlen(field));
    if (!p->err && n >= cap)
        p->err = HL_ERR_CORRUPT;
    if (p->err)
        return;
    bytes(p, field, n);
    if (!p->out)
        field[p->err ? 0 : n] = '\0';
}

/* The fields are numbers of whatever type. */
#define NUMBER(p, field) ((field) = (__typeof__(field))number((p), (int64_t)(field)))

static void name_self(struct pen *p, struct hl_pg_self *self)
{
    id(p, &self->id);
    text(p, self->database.name, sizeof(self->database.name));
    NUMBER(p, self->database.beat_ms);
}

static void name_begun(struct pen *p, struct hl_pg_begun *b)
{
    id(p, &b->run_id);
    id(p, &b->as);
    NUMBER(p, b->epoch);
}

static void body(struct pen *p, struct hl_body *b)
{
    NUMBER(p, b->where);
    NUMBER(p, b->size);
    bytes(p, b->digest, sizeof(b->digest));
    if (p->err || b->where != HL_BODY_INLINE)
        return;
    if (p->out) {
        bytes(p, b->bytes, (size_t)b->size);
        return;
    }
    const char *at = take(p, (size_t)b->size);
    p->err = at ? hl_body_copy(b, (struct hl_str){at, (size_t)b->size}) : p->err;
}

static void outcome(struct pen *p, struct hl_outcome *o)
{
    NUMBER(p, o->state);
    NUMBER(p, o->reason);
    NUMBER(p, o->http_status);
    NUMBER(p, o->finished_ms);
    NUMBER(p, o->encoding);
    NUMBER(p, o->escaped_size);
    text(p, o->content_type, sizeof(o->content_type));
    text(p, o->content_encoding, sizeof(o->content_encoding));
    body(p, &o->body);
}

static void buf(struct pen *p, struct hl_buf *b)
{
    size_t n = (size_t)number(p, (int64_t)b->n);
    if (p->out) {
        bytes(p, b->p, n);
        return;
    }
    const char *at = take(p, n);
    if (at && n > 0)
        p->err = hl_buf_append(b, at, n);
}

static void name_ended(struct pen *p, struct hl_pg_ended *e)
{
    struct hl_finish *f = &e->finish;
    id(p, &f->run_id);
    id(p, &e->as);
    id(p, &e->op.delivery_id);
    NUMBER(p, f->epoch);
    NUMBER(p, f->run_us);
    NUMBER(p, f->queued_us);
    outcome(p, &f->outcome);
    buf(p, &f->log);
    /* An older hookline knows of none of them. */
    if (p->out ? f->answer_head.n > 0 || f->outcome.error[0] : p->in.n > 0)
        buf(p, &f->answer_head);
    if (p->out ? f->outcome.error[0] : p->in.n > 0)
        text(p, f->outcome.error, sizeof(f->outcome.error));
}

static void name_settled(struct pen *p, struct hl_pg_settled *d)
{
    id(p, &d->id);
    NUMBER(p, d->round);
    NUMBER(p, d->n);
    NUMBER(p, d->state);
    NUMBER(p, d->verdict);
    NUMBER(p, d->http_status);
    NUMBER(p, d->started_ms);
    NUMBER(p, d->ended_ms);
}

static void name_word(struct pen *p, struct hl_pg_word *w)
{
    id(p, &w->ref.run_id);
    text(p, w->ref.project, sizeof(w->ref.project));
    text(p, w->ref.app, sizeof(w->ref.app));
    id(p, &w->op.delivery_id);
    NUMBER(p, w->revoked_ms);
}

/* --- lines ---------------------------------------------------------------------------------- */

static struct pen begin(struct hl_buf *out, enum hl_pg_line_kind kind)
{
    char first = (char)kind;
    struct pen p = {.out = out};
    bytes(&p, &first, 1);
    return p;
}

static struct pen begin_reading(struct hl_str line)
{
    struct pen p = {.in = line};
    take(&p, 1);
    return p;
}

/* Nothing may be left. */
static enum hl_err end_reading(const struct pen *p)
{
    return !p->err && p->in.n > 0 ? HL_ERR_CORRUPT : p->err;
}

enum hl_pg_line_kind hl_pg_line_kind(struct hl_str line)
{
    return line.n > 0 ? (enum hl_pg_line_kind)line.p[0] : 0;
}

/* Writing changes no field: names are said once, for both directions. */
#define LINE(noun, type, kind)                                                                     \
    enum hl_err hl_pg_line_write_##noun(struct hl_buf *out, const struct type *from)               \
    {                                                                                              \
        struct pen p = begin(out, kind);                                                           \
        name_##noun(&p, (struct type *)(uintptr_t)from);                                           \
        return p.err;                                                                              \
    }                                                                                              \
    enum hl_err hl_pg_line_read_##noun(struct hl_str line, struct type *to)                        \
    {                                                                                              \
        struct pen p = begin_reading(line);                                                        \
        name_##noun(&p, to);                                                                       \
        return end_reading(&p);                                                                    \
    }

LINE(self, hl_pg_self, HL_PG_LINE_SELF)
LINE(begun, hl_pg_begun, HL_PG_LINE_BEGUN)
LINE(ended, hl_pg_ended, HL_PG_LINE_ENDED)
LINE(settled, hl_pg_settled, HL_PG_LINE_SETTLED)
LINE(word, hl_pg_word, from->op.how == &hl_pg_op_cancel ? HL_PG_LINE_CANCEL : HL_PG_LINE_REVOKED)
