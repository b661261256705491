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

#endif
