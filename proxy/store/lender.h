/* lender.h - where replicas share the limits of whoever calls: what all threads of this one know of the store that lends
 * of rates (base/loan.h) and gives out permits (base/permit.h), and who waits until it has. One for each store that is
 * shared. */
#ifndef HL_STORE_LENDER_H
#define HL_STORE_LENDER_H

#include <pthread.h>

#include "loop/mailbox.h"

struct hl_lender {
    struct hl_mailbox *box;    /* the store's: gets HL_STORE_BORROW, HL_STORE_HOLD */
    atomic_bool is_cut_off;    /* it does not answer: a share is spent, and nobody waits */
    _Atomic uint32_t replicas; /* alive, when it was heard of last; at least 1 */
    pthread_mutex_t lock;
    struct hl_list desks;
};

/* A thread whose callers wait. */
struct hl_lender_desk {
    struct hl_bell bell; /* rings when they are to try again */
    atomic_bool waits;   /* somebody does since it rang */
};

void hl_lender_init(struct hl_lender *lender, struct hl_mailbox *box);
void hl_lender_fini(struct hl_lender *lender);

/* Any thread. The desk's mailbox stays until it was removed; twice is harmless, as is no lender. */
void hl_lender_add(struct hl_lender *lender, struct hl_lender_desk *desk);
void hl_lender_remove(struct hl_lender *lender, struct hl_lender_desk *desk);
/* Something was lent, or nothing will be: whoever waits tries again. */
void hl_lender_ring(struct hl_lender *lender);

/* How many replicas are alive, as the store has seen just now. */
void hl_lender_note(struct hl_lender *lender, uint64_t replicas);
/* What a replica may have of so many without being lent them: they are one at least. */
uint32_t hl_lender_share(const struct hl_lender *lender, uint32_t count);

#endif
