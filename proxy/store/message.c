/* message.c - makes, weighs and frees the store's messages. Any thread. A message's strings lie
 * behind its struct in the same allocation; bodies are allocations of their own, because they come
 * from elsewhere and go on elsewhere. */
#include "store/message.h"

#include "store/accept.h"
#include "store/alert.h"
#include "store/claim.h"
#include "store/notice.h"
#include "store/quota.h"

#include <stdlib.h>
#include <string.h>

/* The strings of an accept; those of it that a row has are the drivers' to bind. */
static const struct hl_column accept_columns[] = {
    HL_COLUMN(struct hl_accept, project, TEXT),
    HL_COLUMN(struct hl_accept, app, TEXT),
    HL_COLUMN(struct hl_accept, method, RAW),
    HL_COLUMN(struct hl_accept, target, RAW),
    HL_COLUMN_SECRET(struct hl_accept, head, BYTES),
    HL_COLUMN_SECRET(struct hl_accept, webhook_url, BYTES),
    HL_COLUMN_SECRET(struct hl_accept, webhook_secret, BYTES),
    HL_COLUMN(struct hl_accept, traceparent, RAW),
    HL_COLUMN(struct hl_accept, idempotency_key, BYTES),
    HL_COLUMN(struct hl_accept, subject, BYTES),
    HL_COLUMN(struct hl_accept, identity, RAW),
    HL_COLUMN(struct hl_accept, tags, TEXT),
};
static const struct hl_columns of_accept = HL_COLUMNS(accept_columns);

static const struct hl_column accept_row_columns[] = {HL_RUN_COLUMNS(struct hl_accept)};
const struct hl_columns hl_accept_row_columns = HL_COLUMNS(accept_row_columns);

static const struct hl_column claimed_columns[] = {
    HL_COLUMN(struct hl_claimed, epoch, INT),
    HL_COLUMN(struct hl_claimed, attempt, INT),
    HL_COLUMN(struct hl_claimed, has_webhook, INT),
    HL_COLUMN(struct hl_claimed, created_ms, INT),
    HL_COLUMN(struct hl_claimed, terms.timeout_ms, INT),
    HL_COLUMN(struct hl_claimed, terms.max_attempts, INT),
    HL_COLUMN(struct hl_claimed, terms.has_caller, INT),
    HL_TERMS_COLUMNS(struct hl_claimed),
    HL_COLUMN(struct hl_claimed, project, TEXT),
    HL_COLUMN(struct hl_claimed, app, TEXT),
    HL_COLUMN_SECRET(struct hl_claimed, head, BYTES),
};
const struct hl_columns hl_claimed_columns = HL_COLUMNS(claimed_columns);

static const struct hl_column leased_columns[] = {
    HL_COLUMN(struct hl_leased, lane, INT),
    HL_COLUMN(struct hl_leased, round, INT),
    HL_COLUMN(struct hl_leased, n, INT),
    HL_COLUMN(struct hl_leased, max_attempts, INT),
    HL_COLUMN(struct hl_leased, is_async, INT),
    HL_COLUMN(struct hl_leased, project, TEXT),
    HL_COLUMN(struct hl_leased, app, TEXT),
    HL_COLUMN_SECRET(struct hl_leased, url, BYTES),
    HL_COLUMN_SECRET(struct hl_leased, secret, BYTES),
    HL_COLUMN(struct hl_leased, traceparent, RAW),
    HL_COLUMN_OR_NULL(struct hl_leased, tags, TEXT),
};
const struct hl_columns hl_leased_columns = HL_COLUMNS(leased_columns);

static const struct hl_column resend_columns[] = {
    HL_COLUMN_SECRET(struct hl_resend, url, BYTES),
    HL_COLUMN_SECRET(struct hl_resend, secret, BYTES),
};
static const struct hl_columns of_resend = HL_COLUMNS(resend_columns);

/* A copy of the message and, behind it, of its strings. NULL: out of memory. */
static void *copy(const struct hl_columns *columns, const void *from, size_t size, uint32_t type)
{
    struct hl_msg *msg = malloc(size + hl_columns_weigh(columns, from));
    if (!msg)
        return NULL;
    char *room = (char *)msg + size;
    memcpy(msg, from, size);
    *msg = (struct hl_msg){.type = type};
    hl_columns_copy(columns, msg, &room);
    return msg;
}

struct hl_accept *hl_accept_new(enum hl_store_op op, struct hl_accept *tmpl)
{
    struct hl_accept *a = copy(&of_accept, tmpl, sizeof(*a), op);
    if (!a)
        return NULL;
    a->path = hl_store_message_shown_path(a->target);
    tmpl->body = (struct hl_body){.where = HL_BODY_NONE};
    return a;
}

void hl_accept_free(struct hl_accept *a)
{
    if (!a)
        return;
    hl_columns_wipe(&of_accept, a);
    hl_body_fini(&a->body);
    free(a);
}

enum hl_err hl_claimed_new(
    const struct hl_claimed *from, struct hl_str bytes, struct hl_claimed **out)
{
    struct hl_claimed *c = copy(&hl_claimed_columns, from, sizeof(*c), HL_STORE_CLAIMED);
    enum hl_err err = c ? HL_OK : HL_ERR_NOMEM;
    if (c) {
        c->body.bytes = NULL;
        err = hl_body_copy(&c->body, bytes);
    }
    if (err)
        hl_claimed_free(c);
    else
        *out = c;
    return err;
}

enum hl_err hl_leased_new(const struct hl_leased *from, struct hl_str bytes, struct hl_leased **out)
{
    struct hl_leased *l = copy(&hl_leased_columns, from, sizeof(*l), HL_STORE_LEASED);
    enum hl_err err = l ? hl_body_copy(&l->outcome.body, bytes) : HL_ERR_NOMEM;
    if (err)
        hl_leased_free(l);
    else
        *out = l;
    return err;
}

struct hl_resend *hl_resend_new(const struct hl_resend *from)
{
    return copy(&of_resend, from, sizeof(*from), HL_STORE_RESEND);
}

void hl_resend_free(struct hl_resend *r)
{
    if (!r)
        return;
    hl_columns_wipe(&of_resend, r);
    free(r);
}

void hl_claimed_leave(struct hl_claimed *c)
{
    if (c->quota)
        hl_quota_leave(c->quota);
    c->quota = NULL;
}

void hl_claimed_free(struct hl_claimed *c)
{
    if (!c)
        return;
    hl_claimed_leave(c);
    hl_columns_wipe(&hl_claimed_columns, c);
    hl_body_fini(&c->body);
    free(c);
}

struct hl_release *hl_release_new(struct hl_claimed *claimed)
{
    claimed->release = (struct hl_release){.m.msg.type = HL_STORE_RELEASE, .claimed = claimed};
    return &claimed->release;
}

void hl_release_free(struct hl_release *r)
{
    if (r)
        hl_claimed_free(r->claimed);
}

void hl_told_tally_free(struct hl_told_tally *t)
{
    for (size_t i = 0; t && i < t->n; i++)
        hl_tally_fini(&t->minutes[i].tally);
    if (t)
        free(t->minutes);
    free(t);
}

void hl_keep_stream_free(struct hl_keep_stream *k)
{
    hl_buf_fini(&k->bytes);
    hl_buf_fini(&k->answer_head);
    free(k);
}

void hl_finish_free(struct hl_finish *f)
{
    if (!f)
        return;
    hl_body_fini(&f->outcome.body);
    hl_buf_fini(&f->log);
    hl_buf_fini(&f->answer_head);
    free(f);
}

void hl_get_alerts_fini(struct hl_get_alerts *g)
{
    hl_buf_fini(&g->value);
}

void hl_tell_alert_free(struct hl_tell_alert *t)
{
    if (!t)
        return;
    hl_buf_fini(&t->former);
    hl_buf_fini(&t->value);
    hl_accept_free(t->run);
    hl_finish_free(t->end);
    free(t);
}

void hl_attempt_outcome_fini(struct hl_attempt_outcome *o)
{
    free(o->report);
    o->report = NULL;
}

void hl_leased_free(struct hl_leased *l)
{
    if (!l)
        return;
    hl_columns_wipe(&hl_leased_columns, l);
    hl_body_fini(&l->outcome.body);
    free(l);
}

struct hl_str hl_store_message_shown_path(struct hl_str target)
{
    const char *query = target.n ? memchr(target.p, '?', target.n) : NULL;
    return (struct hl_str){target.p, query ? (size_t)(query - target.p) : target.n};
}

bool hl_cancel_run_push(
    struct hl_mailbox *box, const struct hl_id *run_id, struct hl_cancel_run **order)
{
    struct hl_cancel_run *given = order ? *order : NULL;
    struct hl_cancel_run *it = !box || given ? given : calloc(1, sizeof(*it));
    if (!box || !it)
        return !box;
    if (order)
        *order = NULL;
    *it = (struct hl_cancel_run){.msg.type = HL_STORE_CANCEL_RUN, .run_id = *run_id};
    hl_mailbox_post(box, &it->msg);
    return true;
}

void hl_push_free(struct hl_msg *msg)
{
    if (!msg)
        return;
    if (msg->type == HL_STORE_CLAIMED)
        hl_claimed_free((struct hl_claimed *)msg);
    else if (msg->type == HL_STORE_LEASED)
        hl_leased_free((struct hl_leased *)msg);
    else
        free(msg);
}

static size_t body_weight(const struct hl_body *body)
{
    return body->where == HL_BODY_INLINE ? body->size : 0;
}

void hl_attempt_drop(struct hl_attempt *a)
{
    hl_leased_free(a->leased);
    a->leased = NULL;
}

size_t hl_accept_weight(const struct hl_accept *a)
{
    return sizeof(*a) + hl_columns_weigh(&of_accept, a) + body_weight(&a->body);
}

size_t hl_finish_weight(const struct hl_finish *f)
{
    return sizeof(*f) + body_weight(&f->outcome.body) + f->log.n + f->answer_head.n;
}
