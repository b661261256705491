/* message.c - makes, weighs and frees the store's messages. Any thread. A message's strings lie
 * behind its struct in the same allocation; bodies are allocations of their own, because they come
 * from elsewhere and go on elsewhere. */
#include "store/message.h"

#include "config/config.h"
#include "store/accept.h"
#include "store/claim.h"
#include "store/notice.h"
#include "store/quota.h"

#include <stdlib.h>
#include <string.h>

#define DAY_MS (24 * 3600 * INT64_C(1000))

int64_t hl_store_key_ms(const struct hl_config *config)
{
    int64_t retention_ms = (int64_t)config->retention_ms;
    return retention_ms < DAY_MS ? retention_ms : DAY_MS;
}

/* A plain memset before free() may be optimised away. */
static void wipe(struct hl_str s)
{
    if (s.n > 0)
        explicit_bzero((char *)s.p, s.n);
}

struct hl_str hl_store_message_copy(char **room, struct hl_str from)
{
    char *to = *room;
    if (from.n > 0)
        memcpy(to, from.p, from.n);
    *room = to + from.n;
    return (struct hl_str){to, from.n};
}

char *hl_store_message_keep(struct hl_str *const strings[], size_t count)
{
    size_t n = 1; /* so that it is never NULL for want of bytes */
    for (size_t i = 0; i < count; i++)
        n += strings[i]->n;
    char *kept = malloc(n), *room = kept;
    for (size_t i = 0; kept && i < count; i++)
        *strings[i] = hl_store_message_copy(&room, *strings[i]);
    return kept;
}

void *hl_store_message_alloc(size_t size, size_t strings, uint32_t type, char **room)
{
    struct hl_msg *msg = calloc(1, size + strings);
    if (!msg)
        return NULL;
    msg->type = type;
    if (room)
        *room = (char *)msg + size;
    return msg;
}

static size_t strings_of(const struct hl_accept *a)
{
    return a->project.n + a->app.n + a->method.n + a->target.n + a->head.n + a->webhook_url.n +
           a->webhook_secret.n + a->traceparent.n + a->idempotency_key.n + a->subject.n +
           a->identity.n;
}

struct hl_accept *hl_accept_new(enum hl_store_op op, struct hl_accept *tmpl)
{
    char *room;
    struct hl_accept *a = hl_store_message_alloc(sizeof(*a), strings_of(tmpl), op, &room);
    if (!a)
        return NULL;
    *a = *tmpl;
    a->m.msg = (struct hl_msg){.type = op};
    a->project = hl_store_message_copy(&room, tmpl->project);
    a->app = hl_store_message_copy(&room, tmpl->app);
    a->method = hl_store_message_copy(&room, tmpl->method);
    a->target = hl_store_message_copy(&room, tmpl->target);
    a->head = hl_store_message_copy(&room, tmpl->head);
    a->webhook_url = hl_store_message_copy(&room, tmpl->webhook_url);
    a->webhook_secret = hl_store_message_copy(&room, tmpl->webhook_secret);
    a->traceparent = hl_store_message_copy(&room, tmpl->traceparent);
    a->idempotency_key = hl_store_message_copy(&room, tmpl->idempotency_key);
    a->subject = hl_store_message_copy(&room, tmpl->subject);
    a->identity = hl_store_message_copy(&room, tmpl->identity);
    tmpl->body = (struct hl_body){.where = HL_BODY_NONE};
    return a;
}

void hl_accept_free(struct hl_accept *a)
{
    if (!a)
        return;
    wipe(a->webhook_secret);
    wipe(a->webhook_url);
    wipe(a->head);
    hl_body_fini(&a->body);
    free(a);
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
    wipe(c->head);
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
    free(k);
}

void hl_finish_free(struct hl_finish *f)
{
    if (!f)
        return;
    hl_body_fini(&f->outcome.body);
    hl_buf_fini(&f->log);
    free(f);
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
    wipe(l->secret);
    wipe(l->url);
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
    return sizeof(*a) + strings_of(a) + body_weight(&a->body);
}

size_t hl_finish_weight(const struct hl_finish *f)
{
    return sizeof(*f) + body_weight(&f->outcome.body) + f->log.n;
}
