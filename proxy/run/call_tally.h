/* call_tally.h - how a worker's synchronous calls ended, counted in memory and told to the store every few seconds
 * (store/tally.h): those of which it has no record. A process that is killed takes what was not told yet with it.
 *
 * The worker's thread. Memory is bounded: when the store takes nothing for long, the oldest minutes are dropped, and
 * the log says so. */
#ifndef HL_RUN_CALL_TALLY_H
#define HL_RUN_CALL_TALLY_H

#include "base/id.h"
#include "base/str.h"
#include "loop/wheel.h"
#include "store/record.h"

struct hl_mailbox;
struct hl_store;
struct hl_told_tally;

#define HL_CALL_TALLY_EVERY_MS 5000
#define HL_CALL_TALLY_OPEN     8   /* apps that are counted without a search */
#define HL_CALL_TALLY_MAX      512 /* minutes of apps that wait for the store */

struct hl_ended_call {
    struct hl_str project, app;
    enum hl_run_state state;
    enum hl_run_reason reason;
    int64_t finished_ms;       /* wall time */
    int64_t run_us, queued_us; /* -1: not counted */
};

struct hl_open_minute; /* call_tally.c */

struct hl_call_tally {
    struct hl_store *store;
    struct hl_mailbox *box; /* that the store's answers come to */
    struct hl_id_source *ids;
    struct hl_wheel *wheel;
    struct hl_timer timer; /* armed iff something is counted that is not told */
    struct hl_id source;   /* nil: nothing was told yet */
    struct hl_open_minute *open[HL_CALL_TALLY_OPEN];
    size_t last, n_open;
    struct hl_told_minute *minutes; /* closed */
    size_t n_minutes, cap_minutes;
    bool is_telling;             /* one is on its way */
    struct hl_told_tally *again; /* the store did not take it; NULL: none */
    bool has_dropped;
};

void hl_call_tally_init(struct hl_call_tally *t, struct hl_store *store, struct hl_wheel *wheel,
    struct hl_mailbox *box, struct hl_id_source *ids);
void hl_call_tally_fini(struct hl_call_tally *t);

void hl_call_tally_add(struct hl_call_tally *t, const struct hl_ended_call *ended);
/* Takes the message. `has_ended`: nothing more is told. */
void hl_call_tally_on_reply(struct hl_call_tally *t, struct hl_told_tally *told, bool has_ended);
/* The worker ends: what is left is told now, and the timer is gone. */
void hl_call_tally_end(struct hl_call_tally *t);

#endif
