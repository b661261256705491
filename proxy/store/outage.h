/* outage.h - a store that cannot write: when to try to reopen one whose disk has failed, and the requests that must not be
 * lost but find no space, or wait for a store that has failed. The engine's thread. */
#ifndef HL_STORE_OUTAGE_H
#define HL_STORE_OUTAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hl_msg;
struct hl_store_msg;

/* --- a disk that has failed ---------------------------------------------------------------------- */

#define HL_REOPENING_MIN_US 100000u   /* the first pause, twice as long each time … */
#define HL_REOPENING_MAX_US 10000000u /* … up to this */
/* A store that has worked for so long since the last time begins with the first pause again. */
#define HL_REOPENING_CALM_US 60000000u
/* In vain for so long: the process cannot help itself. */
#define HL_REOPENING_HOPELESS_US 300000000u

/* One thread owns it. Times are CLOCK_MONOTONIC in microseconds. */
struct hl_reopening {
    uint64_t since_us; /* it has failed since; 0: it works */
    uint64_t next_us;
    uint64_t pause_us;
    uint64_t worked_us; /* it was opened anew then; 0: never */
};

/* It has failed, or was opened anew in vain. */
void hl_reopening_fail(struct hl_reopening *r, uint64_t now_us);
void hl_reopening_succeed(struct hl_reopening *r, uint64_t now_us);
bool hl_reopening_is_hopeless(const struct hl_reopening *r, uint64_t now_us);

/* --- requests that wait -------------------------------------------------------------------------- */

struct hl_held_requests {
    struct hl_msg *first, *last;
    size_t least;      /* the weight of the lightest: what weighs as much is not tried either */
    uint64_t retry_us; /* all are tried again then; UINT64_MAX: that is not known yet */
};

void hl_held_requests_init(struct hl_held_requests *h);
/* Takes `m`. */
void hl_held_requests_add(struct hl_held_requests *h, struct hl_store_msg *m, size_t weight);
/* Whether a request must wait with them: it is as heavy, or says more about what one of them ends. */
bool hl_held_requests_blocks(
    const struct hl_held_requests *h, const struct hl_store_msg *m, size_t weight);
/* Puts them, in order, before the queue `*first` … `*last`. */
void hl_held_requests_release(
    struct hl_held_requests *h, struct hl_msg **first, struct hl_msg **last);

#endif
