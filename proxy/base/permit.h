/* permit.h - calls at once that several processes may make together: each holds permits for some of them, and lets in as
 * many as it holds. Who gives them out is told how many each holds, not how many more or fewer: what is lost or said
 * twice is right again with the next word. Whoever lacks some waits for a moment, in which the others give what they have
 * to spare; who has less than its share, also what they have beyond theirs.
 *
 * Plain arithmetic: times are of a clock that never goes back, in ms, and come from whoever asks. */
#ifndef HL_BASE_PERMIT_H
#define HL_BASE_PERMIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

/* How long somebody waits for what others have, unless many calls come; how long nobody does when that was in vain,
 * and the others used all. */
#define HL_PERMIT_WAIT_MS  500
#define HL_PERMIT_AGAIN_MS 1000
/* Between two words of one holder; where so many calls come a second. What nobody uses for so long goes back. */
#define HL_PERMIT_PACE_MS      100
#define HL_PERMIT_BUSY_PACE_MS 333
#define HL_PERMIT_BUSY_CALLS   50
#define HL_PERMIT_IDLE_MS      60000

/* Any thread, without a lock; all zero is none. */
struct hl_permits {
    _Atomic uint32_t held;          /* so many calls may be inside */
    _Atomic uint64_t none_until_ms; /* others have none to give before */
    _Atomic uint32_t calls;         /* that have come, for how often is asked */
};

/* What others ask for. */
enum hl_permit_wish {
    HL_PERMIT_NONE_WISHED,
    HL_PERMIT_SPARE, /* those that are not used */
    HL_PERMIT_SHARE, /* and those beyond a share, as calls end: who asks has less than one */
};

/* ---- what is said to whoever gives them out, and what becomes of the answer: one thread ---- */

/* All zero is a holder that has said nothing. */
struct hl_permit_book {
    uint32_t told;     /* as the giver has it */
    bool wants;        /* somebody has found none, */
    uint64_t since_ms; /* since then */
    bool must_tell;    /* though nothing has changed */
    uint64_t said_ms;  /* the last word, */
    uint32_t calls;    /* and how many had come by then */
    bool is_busy;      /* many have since the one before */
    uint64_t next_ms;  /* the next one is not due before */
    uint64_t used_ms;  /* when somebody was seen inside last */
    enum hl_permit_wish wish;
};

struct hl_permit_ask {
    uint32_t keeps; /* so many may be inside from now on */
    uint32_t mine;  /* as many, or those that are inside, where these are more */
    uint32_t used;  /* those that are inside */
    bool wants;
};

void hl_permit_want(struct hl_permit_book *book, uint64_t now_ms);
void hl_permit_hear(struct hl_permit_book *book, enum hl_permit_wish wish);

/* Somebody else has said something: who is not busy need not wait. */
void hl_permit_hurry(struct hl_permit_book *book);
bool hl_permit_may_say(const struct hl_permit_book *book, uint64_t now_ms);
/* Whether there is something to say by itself. `inside`: calls; to be asked now and then. */
bool hl_permit_is_due(const struct hl_permits *permits, struct hl_permit_book *book,
    const _Atomic uint32_t *inside, uint64_t now_ms);
/* What to say. What is given up is so at once: calls that are let in meanwhile do not use it. `max`: all that there
 * are, 0: any number, nobody needs one; `share`: of one process. False: nothing is. */
HL_MUST_CHECK bool hl_permit_say(struct hl_permits *permits, struct hl_permit_book *book,
    const _Atomic uint32_t *inside, uint32_t max, uint32_t share, uint64_t now_ms,
    struct hl_permit_ask *ask);
/* Nobody knows whether it was heard. */
void hl_permit_say_again(struct hl_permit_book *book);

struct hl_permit_answer {
    uint32_t has;  /* this one, from now on: `mine` at least */
    int64_t rest;  /* what nobody holds; below 0: so many too many are held */
    uint32_t idle; /* what others held and did not use, as they said last */
};
enum hl_permit_outcome {
    HL_PERMIT_NOTHING, /* nobody waits */
    HL_PERMIT_HAS,     /* who waits may have one */
    HL_PERMIT_WAITS,   /* some may come back: to be said again soon */
    HL_PERMIT_REFUSED, /* there is none for now */
};
enum hl_permit_outcome hl_permit_settle(struct hl_permits *permits, struct hl_permit_book *book,
    const _Atomic uint32_t *inside, const struct hl_permit_ask *ask,
    const struct hl_permit_answer *answer, uint32_t share, uint64_t now_ms);

#endif
