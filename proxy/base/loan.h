/* loan.h - calls of a rate that several processes share: each borrows some of it ahead and spends them by itself. Who
 * lends counts them in windows as rate.h does, and has seen all of them: however the processes meet, no more calls are
 * made in a window than were lent. One that cannot reach the lender spends a share instead, and says so later.
 *
 * Plain arithmetic: times are of a clock that never goes back, in ms, and come from whoever asks. */
#ifndef HL_BASE_LOAN_H
#define HL_BASE_LOAN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

/* What is borrowed at once lasts for so long, as calls have come of late, and is so many at least. */
#define HL_LOAN_LASTS_MS 500
#define HL_LOAN_MIN      100

/* Any thread, without a lock; all zero is nothing borrowed. */
struct hl_loan {
    _Atomic uint64_t
        purse; /* when its window ends, and in the low 24 bits how many calls are left */
    _Atomic uint64_t again_ms; /* the lender has no more before */
    _Atomic uint32_t low;      /* with no more than that left there is time to borrow ahead */
    _Atomic uint32_t lent;     /* in its window, the share included */
    _Atomic uint32_t share;    /* in its window, of `lent`: what nobody has lent */
    _Atomic uint32_t credit;   /* calls that were made without being lent */
    _Atomic uint32_t back;     /* lent in its window and not wanted any more */
};

enum hl_loan_take {
    HL_LOAN_TAKEN,
    HL_LOAN_SPENT, /* there is no more to be had for now */
    HL_LOAN_EMPTY, /* nobody knows: the lender is to be asked */
};
/* One call. */
enum hl_loan_take hl_loan_take(struct hl_loan *loan, uint64_t now_ms);
/* Whether more is to be borrowed ahead. */
bool hl_loan_is_low(const struct hl_loan *loan, uint64_t now_ms);
/* One that was taken in this window or an earlier one was not made after all. */
void hl_loan_give_back(struct hl_loan *loan, uint64_t now_ms);
/* One without a lender, of `share` in a window that begins with its first call; what was lent in a window that still
 * goes on is of it. False: it is used up. */
HL_MUST_CHECK bool hl_loan_take_share(
    struct hl_loan *loan, uint32_t share, uint32_t window_ms, uint64_t now_ms);
/* One that is made in any case. */
void hl_loan_owe(struct hl_loan *loan);
/* Nothing of it is wanted any more: the next question says so. */
void hl_loan_return(struct hl_loan *loan);
/* As if nothing had been borrowed. */
void hl_loan_clear(struct hl_loan *loan);
/* How long its window goes on; 0: it is over, or has not begun. */
uint64_t hl_loan_left_ms(const struct hl_loan *loan, uint64_t now_ms);

/* ---- what is asked of the lender, and what becomes of the answer: one thread ---- */

/* All zero is a borrower that has not asked. */
struct hl_loan_book {
    uint64_t answered_ms;
    /* the end of the window that was lent of, by the lender's clock; 0: none was */
    uint64_t until_ms;
    uint32_t wanted;
    uint32_t left;     /* in the purse, after the last answer */
    uint32_t seen;     /* likewise when hl_loan_is_idle looked, */
    uint64_t moved_ms; /* and since when it has been so */
};

struct hl_loan_ask {
    uint32_t wanted;   /* 0: nothing */
    uint32_t had;      /* of the window until `until_ms` */
    uint32_t back;     /* likewise, and not spent */
    uint32_t owed;     /* calls that nobody has lent */
    uint32_t spent;    /* of `owed`: of the share, so far */
    uint64_t until_ms; /* as the lender has said */
};
/* What to ask. It is `wants` for more, or to say what goes back and what is owed. */
struct hl_loan_ask hl_loan_ask(
    struct hl_loan *loan, const struct hl_loan_book *book, bool wants, uint64_t now_ms);
/* Nobody knows whether it was heard: what was owed is said again, what went back is lost. */
void hl_loan_ask_again(struct hl_loan *loan, const struct hl_loan_ask *ask);

struct hl_loan_answer {
    uint32_t lent;
    uint32_t rest;     /* what others may still borrow in this window */
    uint64_t until_ms; /* its end, by the lender's clock; 0: there is no window */
    uint64_t left_ms;  /* how long that is from the answer on */
};
void hl_loan_settle(struct hl_loan *loan, struct hl_loan_book *book, const struct hl_loan_ask *ask,
    const struct hl_loan_answer *answer, uint32_t window_ms, uint64_t now_ms);
/* Something was lent, and has been left alone for so long that others should have it. To be asked now and then. */
bool hl_loan_is_idle(
    const struct hl_loan *loan, struct hl_loan_book *book, uint32_t window_ms, uint64_t now_ms);

#endif
