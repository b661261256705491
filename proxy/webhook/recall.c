/* recall.c - see recall.h.
 * Not here: what follows from it (health.c). */
#include "webhook/recall.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"
#include "store/lease.h"
#include "store/operation.h"
#include "store/question.h"
#include "store/store.h"
#include "webhook/parcel.h"

struct recall {
    struct hl_list_deliveries list;
    uint64_t lane;
    int64_t before_ms; /* what ended later is known */
};

static struct recall *recall_of(struct hl_msg *reply)
{
    return HL_CONTAINER_OF(reply, struct recall, list.m.msg);
}

void hl_recalls_init(struct hl_recalls *all, struct hl_store *store, struct hl_mailbox *replies)
{
    *all = (struct hl_recalls){.store = store, .replies = replies};
}

void hl_recalls_ask(struct hl_recalls *all, const struct hl_parcel *p)
{
    const struct hl_leased *leased = p->leased;
    struct recall *r = all->asked < HL_RECALLS_MAX ? calloc(1, sizeof(*r)) : NULL;
    if (!r)
        return;
    r->lane = p->lane;
    r->before_ms = p->started_ms;
    r->list.state = -1;
    r->list.limit = HL_LIST_MAX;
    r->list.with_attempts = true;
    hl_str_put_cut(r->list.project, sizeof(r->list.project), leased->project);
    r->list.destination[hl_destination_write(r->list.destination, leased->url)] = '\0';
    r->list.m =
        (struct hl_store_msg){.msg = {.type = HL_STORE_LIST_DELIVERIES}, .reply_to = all->replies};
    enum hl_err err = hl_store_post(all->store, &r->list.m);
    HL_ASSERT(err == HL_OK); /* only ACCEPT and RECORD may be refused */
    all->asked++;
}

/* An attempt that was broken off, or not sent for a reason of ours, says nothing of the receiver. */
static bool says_nothing(const struct hl_attempt_row *a)
{
    static const char *const ours[] = {
        "blocked_address", "bad_url", "bad_record", "body_unreadable", "out_of_memory"};
    if (a->ended_ms == 0 || a->verdict == HL_ATTEMPT_ABANDONED)
        return true;
    for (size_t i = 0; i < HL_ARRAY_LEN(ours); i++)
        if (hl_str_starts_with(hl_str_from(a->error), hl_str_from(ours[i])))
            return true;
    return false;
}

static int64_t last_answer_ms(const struct hl_delivery_row *d, int64_t before_ms)
{
    int64_t last_ms = 0;
    for (size_t i = 0; i < d->n_attempts; i++) {
        const struct hl_attempt_row *a = &d->attempts[i];
        if (a->http_status > 0 && a->ended_ms <= before_ms && a->ended_ms > last_ms)
            last_ms = a->ended_ms;
    }
    return last_ms;
}

static void add_silent(const struct hl_delivery_row *d, int64_t after_ms, int64_t before_ms,
    struct hl_silence *out, int64_t *last_ms)
{
    for (size_t i = 0; i < d->n_attempts; i++) {
        const struct hl_attempt_row *a = &d->attempts[i];
        if (a->ended_ms <= after_ms || a->ended_ms > before_ms || says_nothing(a))
            continue;
        if (out->n++ == 0 || a->started_ms < out->since_ms)
            out->since_ms = a->started_ms;
        if (a->ended_ms > *last_ms)
            snprintf(out->error, sizeof(out->error), "%s", a->error);
        *last_ms = a->ended_ms > *last_ms ? a->ended_ms : *last_ms;
    }
}

void hl_recalls_take(struct hl_recalls *all, struct hl_msg *reply, struct hl_silence *out)
{
    struct recall *r = recall_of(reply);
    const struct hl_list_deliveries *l = &r->list;
    size_t count = l->m.rc == HL_OK ? l->count : 0;
    int64_t answered_ms = 0, last_ms = 0;
    *out = (struct hl_silence){.lane = r->lane};
    memcpy(out->to, l->destination, sizeof(out->to));
    for (size_t i = 0; i < count; i++) {
        int64_t ms = last_answer_ms(&l->rows[i], r->before_ms);
        answered_ms = ms > answered_ms ? ms : answered_ms;
    }
    for (size_t i = 0; i < count; i++)
        add_silent(&l->rows[i], answered_ms, r->before_ms, out, &last_ms);
    all->asked--;
    hl_recall_free(reply);
}

void hl_recall_free(struct hl_msg *reply)
{
    struct recall *r = recall_of(reply);
    hl_operation_clear(&r->list.m);
    free(r);
}
