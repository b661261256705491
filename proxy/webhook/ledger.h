/* ledger.h - what the delivery thread tells the store and asks of it: how many leases it may push,
 * that an attempt is to begin, what an attempt came to. The replies come to the sender's mailbox. */
#ifndef HL_WEBHOOK_LEDGER_H
#define HL_WEBHOOK_LEDGER_H

#include "base/err.h"
#include "store/record.h"

struct hl_mailbox;
struct hl_parcel;
struct hl_store;

struct hl_ledger {
    struct hl_store *store;
    struct hl_mailbox *replies;
    uint32_t credit; /* leases that the store may still push */
};

/* Both are borrowed. */
void hl_ledger_init(struct hl_ledger *l, struct hl_store *store, struct hl_mailbox *replies);

/* So many more leases may come. Out of memory: they may not. */
void hl_ledger_give_credit(struct hl_ledger *l, uint32_t n);
/* A lease has come. */
void hl_ledger_use_credit(struct hl_ledger *l);
/* Takes back all that was given. */
void hl_ledger_end_credit(struct hl_ledger *l);

/* The next attempt of a parcel is to begin: ATTEMPT. */
void hl_ledger_ask(struct hl_ledger *l, struct hl_parcel *p);
/* The attempt under way has ended so: OUTCOME, with what the parcel's outcome says of the next one, of the
 * destination and of what came back. p->started_ms 0: nothing of it was sent. */
void hl_ledger_record(struct hl_ledger *l, struct hl_parcel *p, enum hl_attempt_verdict verdict,
    uint16_t http_status, const char *error);
/* The outcome that the store could not keep, once more. */
void hl_ledger_record_again(struct hl_ledger *l, struct hl_parcel *p);

/* Nothing came of a request, but it may later: a full disk, a failing one. */
bool hl_ledger_is_passing(enum hl_err err);

#endif
