/* credit.h - how much each mailbox may still be pushed, and whose turn it is. The store's thread
 * owns a book: one of workers (runs), one of senders (deliveries). */
#ifndef HL_STORE_CREDIT_H
#define HL_STORE_CREDIT_H

#include "base/priority.h"

struct hl_credit;
struct hl_mailbox;

struct hl_credit_account {
    struct hl_mailbox *box;
    uint32_t standing;              /* stays until used or withdrawn */
    uint32_t returning;             /* goes back when nothing is queued */
    uint32_t wished[HL_PRIORITIES]; /* of the returning: those that are wanted of a class */
    struct hl_credit *back; /* the message it goes back in, kept from when it came; or NULL */
    bool wants_hints;       /* has asked for WORK */
    uint32_t withdrawals;   /* what was taken before one is void: it is not put back */
    bool is_hinted;         /* got WORK and has not answered with credit since */
};

struct hl_credit_book {
    struct hl_credit_account *accounts; /* never removed: as many as there are threads */
    size_t n, cap;
    size_t turn;
    uint64_t total;
};

/* What was taken, so that a rollback can put it back. */
struct hl_credit_note {
    size_t account;
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

/* One unit from the next account in turn; false: there is none. */
bool hl_credit_take(struct hl_credit_book *book, struct hl_credit_note *note);
/* It was withdrawn since: its owner does not expect anything for it. */
bool hl_credit_is_void(const struct hl_credit_book *book, struct hl_credit_note note);
void hl_credit_put_back(struct hl_credit_book *book, struct hl_credit_note note);

/* Sends returning credit back to where it came from. */
void hl_credit_return_unused(struct hl_credit_book *book);
/* WORK to every mailbox that wants it, has no credit and was not told since its last CREDIT. */
void hl_credit_hint(struct hl_credit_book *book);

#endif
