/* ledger.c - the delivery thread's messages to the store. Thread: the sender's.
 * Promise: a parcel's memory is known to be with the store (`away`) for as long as a message of it
 * is. Not here: what follows from the replies (sender.c). */
#include "webhook/ledger.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/clock.h"
#include "store/claim.h"
#include "store/lease.h"
#include "store/store.h"
#include "webhook/parcel.h"

void hl_ledger_init(struct hl_ledger *l, struct hl_store *store, struct hl_mailbox *replies)
{
    *l = (struct hl_ledger){.store = store, .replies = replies};
}

/* False when out of memory. */
static bool post_credit(struct hl_ledger *l, uint32_t n)
{
    struct hl_credit *credit = calloc(1, sizeof *credit);
    if (!credit)
        return false;
    credit->m =
        (struct hl_store_msg){.msg = {.type = HL_STORE_LEASE_CREDIT}, .reply_to = l->replies};
    credit->n = n;
    enum hl_err err = hl_store_post(l->store, &credit->m);
    HL_ASSERT(err == HL_OK);
    return true;
}

void hl_ledger_give_credit(struct hl_ledger *l, uint32_t n)
{
    if (post_credit(l, n))
        l->credit += n;
}

void hl_ledger_use_credit(struct hl_ledger *l)
{
    l->credit -= l->credit > 0; /* 0: it was on its way when credit was taken back */
}

void hl_ledger_end_credit(struct hl_ledger *l)
{
    if (post_credit(l, 0))
        l->credit = 0;
}

static void post(struct hl_ledger *l, struct hl_parcel *p, struct hl_store_msg *m, uint32_t type)
{
    *m = (struct hl_store_msg){.msg = {.type = type}, .reply_to = l->replies};
    p->away++;
    enum hl_err err = hl_store_post(l->store, m);
    HL_ASSERT(err == HL_OK); /* only ACCEPT and RECORD may be refused */
}

void hl_ledger_ask(struct hl_ledger *l, struct hl_parcel *p)
{
    p->ask.n = p->is_unsent ? p->n : p->n + 1;
    p->ask.is_again = p->is_unsent;
    p->ask.is_parked = p->outcome.is_parked;
    p->ask.leased = NULL;
    post(l, p, &p->ask.m, HL_STORE_ATTEMPT);
}

void hl_ledger_record(struct hl_ledger *l, struct hl_parcel *p, enum hl_attempt_verdict verdict,
    uint16_t http_status, const char *error)
{
    struct hl_attempt_outcome *o = &p->outcome;
    o->n = p->n;
    o->verdict = verdict;
    o->http_status = http_status;
    o->started_ms = p->started_ms;
    o->ended_ms = p->started_ms + (int64_t)(hl_clock_mono_us() - p->started_us) / 1000;
    snprintf(o->error, sizeof o->error, "%s", error);
    post(l, p, &o->m, HL_STORE_OUTCOME);
}

void hl_ledger_record_again(struct hl_ledger *l, struct hl_parcel *p)
{
    post(l, p, &p->outcome.m, HL_STORE_OUTCOME);
}

bool hl_ledger_is_passing(enum hl_err err)
{
    return err != HL_OK && err != HL_ERR_STALE && err != HL_ERR_NOT_FOUND &&
           err != HL_ERR_UNAVAILABLE;
}
