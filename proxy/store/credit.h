/* credit.h - how many messages may still be pushed to each mailbox, and whose turn it is. The
 * store's thread owns a book: one of workers (runs), one of senders (deliveries). */
#ifndef HL_STORE_CREDIT_H
#define HL_STORE_CREDIT_H

#include "base/priority.h"

struct hl_credit;
struct hl_mailbox;

struct hl_credit_account {
    struct hl_mailbox *box;
    _Atomic uint32_t *claims;       /* see hl_credit; NULL: nobody counts them */
    uint32_t standing;              /* stays until used or withdrawn */
    uint32_t returning;             /* goes back when nothing is queued */
    uint32_t wished[HL_PRIORITIES]; /* of the returning: those that are wanted of a class */
    struct hl_msg *backs; /* messages it goes back in: one at least while some is returning */
    uint32_t taken;       /* and neither spent nor put back */
    bool wants_hints;     /* has asked for WORK */
    uint32_t withdrawals; /* what was taken before one is void: it is not put back */
    bool is_hinted;       /* got WORK and has not answered with credit since */
};

struct hl_credit_book {
    struct hl_credit_account *accounts; /* never removed: as many as there are threads */
    size_t n, cap;
    size_t turn;
    uint64_t total;
};

/* What was taken: each ends by being spent or put back. */
struct hl_credit_note {
    size_t account;
    struct hl_credit *back; /* what it would go back in: owned; NULL where it does not */
    bool was_returning;
    bool has_wish;
    enum hl_priority wish; /* see hl_credit */
    uint32_t withdrawals;  /* that there had been */
};

void hl_credit_book_init(struct hl_credit_book *book);
void hl_credit_book_fini(struct hl_credit_book *book);

/* Takes the message. Out of memory: the credit is lost to the book, and a returning one goes back.
 */
void hl_credit_add(struct hl_credit_book *book, struct hl_credit *credit);
/* All of a mailbox's credit is void, also what is taken just now and put back later. */
void hl_credit_withdraw(struct hl_credit_book *book, const struct hl_mailbox *box);

/* One unit from the next account in turn; false: there is none, or no memory for its way back. */
bool hl_credit_take(struct hl_credit_book *book, struct hl_credit_note *note);
/* It was withdrawn since: its owner does not expect anything for it. */
bool hl_credit_is_void(const struct hl_credit_book *book, struct hl_credit_note note);
void hl_credit_put_back(struct hl_credit_book *book, struct hl_credit_note note);
/* A run is claimed for it: its owner is told, though the message is on its way still. */
void hl_credit_count_claim(const struct hl_credit_book *book, struct hl_credit_note note);
/* Something was pushed for it. */
void hl_credit_spend(struct hl_credit_book *book, struct hl_credit_note note);

/* Sends returning credit back to where it came from. */
void hl_credit_return_unused(struct hl_credit_book *book);
/* WORK to every mailbox that wants it, has no credit, not even taken, and was not told since its last
 * CREDIT. So whoever gets it has heard what became of all the credit that came before it: if it has none
 * it answers, and if it has some, that is on its way here. */
void hl_credit_hint(struct hl_credit_book *book);

#endif
