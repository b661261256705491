/* demand.h - which queued runs a worker has the store hand to it: its credit, and whether it gives any
 * (contract 4 and 10). The worker's thread. */
#ifndef HL_RUN_DEMAND_H
#define HL_RUN_DEMAND_H

#include <stdbool.h>
#include <stdint.h>

struct hl_claimed;
struct hl_credit;
struct hl_runs;

/* What becomes of a run that was claimed. */
enum hl_demand_verdict {
    HL_DEMAND_CALL,      /* the app is called; with HOOKLINE_APP_CONCURRENCY it has its slot */
    HL_DEMAND_GIVE_BACK, /* the app takes no calls, its account has no place, or the worker stops */
    HL_DEMAND_TOO_LATE,  /* it has waited too long for an app that takes no calls; it has no slot */
};

/* Begins to claim, if the app takes calls. */
void hl_demand_start(struct hl_runs *runs);
/* The gate has turned (app/gate.h): begins, or stops until it opens. */
void hl_demand_on_gate(struct hl_runs *runs);
/* The store has runs: HL_STORE_WORK. */
void hl_demand_look(struct hl_runs *runs);
/* A run was accepted here. */
void hl_demand_note_accepted(struct hl_runs *runs);
/* There may be memory: tells the store what it could not be told. */
void hl_demand_pay(struct hl_runs *runs);
/* A run that was claimed has ended, and its slot is to be given back: after this, so that queued runs are
 * there when the slot is handed on to whoever is next. */
void hl_demand_note_end(struct hl_runs *runs);
/* The loop's turn ends: credit for the runs that have ended in it. */
void hl_demand_renew(struct hl_runs *runs);

/* Uses up one credit, for this run. */
enum hl_demand_verdict hl_demand_take(struct hl_runs *runs, const struct hl_claimed *claimed);
/* HL_STORE_CREDIT_BACK; frees it. */
void hl_demand_take_back(struct hl_runs *runs, struct hl_credit *credit);

/* No more claims: the worker stops. */
void hl_demand_stop(struct hl_runs *runs);
/* HL_STORE_WITHDRAW: all credit is void. */
void hl_demand_on_withdrawn(struct hl_runs *runs);

/* For how long something has waited of which only a wall time is known, whoever sets the wall clock meanwhile.
 * Nothing is older than it is: what is from before the clock was set is as old as that is, and what has been
 * looked at, as long as it was. One thread owns it. */

/* A wall time that is looked at again and again. */
struct hl_seen_time {
    int64_t wall_ms;
    uint64_t since_ms; /* monotonic: it has been this one since then */
};

/* What one reading of the clocks says. */
struct hl_wait_reading {
    uint64_t mono_ms;
    int64_t wall_ms, ahead_ms; /* hl_clock_ahead_ms */
};

struct hl_wait_clock {
    struct hl_wait_reading now;
    bool is_begun, was_set;
    uint64_t set_ms; /* monotonic: the wall clock was found to be set */
};

struct hl_wait_reading hl_wait_reading_take(void);
void hl_wait_clock_look(struct hl_wait_clock *clock, const struct hl_wait_reading *now);
void hl_seen_time_look(
    struct hl_seen_time *seen, const struct hl_wait_clock *clock, int64_t wall_ms);

/* How long ago that was, at the least: exactly, unless the wall clock was set since. `seen`, or NULL, is a time
 * that is no earlier. As of the last look. */
uint64_t hl_wait_clock_age(
    const struct hl_wait_clock *clock, int64_t wall_ms, const struct hl_seen_time *seen);

#endif
