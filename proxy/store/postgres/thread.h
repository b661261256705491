/* thread.h - what the files of the store's thread ask of each other, file by file; what they share is state.h's. All of it
 * is the store's thread's, unless said. */
#ifndef HL_STORE_POSTGRES_THREAD_H
#define HL_STORE_POSTGRES_THREAD_H

#include <libpq-fe.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err.h"
#include "base/permit.h"
#include "store/postgres/state.h"
#include "store/postgres/statement.h"

struct hl_cancel_run;
struct hl_claimed;
struct hl_id;
struct hl_leased;
struct hl_msg;
struct hl_pg_flush;
struct hl_pg_full_destinations;
struct hl_pg_op;
struct hl_pg_params;
struct hl_pg_row;
struct hl_pg_session;
struct hl_pg_transaction;
struct hl_store_msg;
struct hl_str;
struct hl_watch;

/* --- membership.c ---------------------------------------------------------------------------- */
/* This replica among the others. */

/* The writer has a connection, or has lost it. */
void hl_pg_member_connect(struct hl_pg_store *s, bool is_up);
/* What is due is sent. */
void hl_pg_member_turn(struct hl_pg_store *s, uint64_t now_ms);
/* When something is due next (CLOCK_MONOTONIC ms). */
uint64_t hl_pg_member_due_ms(const struct hl_pg_store *s);
/* Its beats have succeeded for a whole lifetime: what the others' rows say, or do not say any more, is
 * not just what an outage kept from them. */
bool hl_pg_member_knows_others(const struct hl_pg_store *s, uint64_t now_ms);
/* One that has joined leaves: nothing has to wait until it counts as dead. False: there is no connection. */
HL_MUST_CHECK bool hl_pg_member_leave(struct hl_pg_store *s);

/* --- recall.c -------------------------------------------------------------------------------- */
/* A database that does not know what this replica has ended of late (diary.h), a standby that lacks the last
 * commits, an earlier state that was brought back, is told, and nothing of it runs again. */

/* The database has turned out to be another one, at `now_ms` of its clock: it is told, and nothing is claimed or
 * leased there until the others had their say. */
void hl_pg_recall_begin(struct hl_pg_store *s, int64_t now_ms);
/* Tells it what it may not know, if anything; then `then`, or when there was no memory for that. Not where the
 * connection goes meanwhile: who arrives again begins anew. */
void hl_pg_recall_tell(struct hl_pg_store *s, void (*then)(struct hl_pg_store *s, bool is_told));
/* Looks whether the others have come back, while that is waited for. */
void hl_pg_recall_turn(struct hl_pg_store *s, uint64_t now_ms);
/* When that is due next (CLOCK_MONOTONIC ms). */
uint64_t hl_pg_recall_due_ms(const struct hl_pg_store *s);

/* --- queue.c --------------------------------------------------------------------------------- */
/* Requests that wait for a transaction. */

/* Takes a request. */
void hl_pg_queue_add(struct hl_pg_store *s, struct hl_store_msg *m);
/* One of a transaction, or none: before all others. */
void hl_pg_queue_put_back(struct hl_pg_store *s, struct hl_pg_op *op);
/* Ends what was taken: its request gets `rc`. It may be in a flush. */
void hl_pg_queue_answer(struct hl_pg_store *s, struct hl_pg_op *op, enum hl_err rc);
/* Refuses what has waited too long, for a server that is gone, slow or refuses it: an accept that may have been
 * committed with TIMEOUT. When to look again (CLOCK_MONOTONIC ms); UINT64_MAX: never. */
uint64_t hl_pg_queue_expire(struct hl_pg_store *s, uint64_t now_ms);
/* Answers what waits with UNAVAILABLE, or TIMEOUT as above: the store ends. */
void hl_pg_queue_refuse_all(struct hl_pg_store *s);
/* Nothing waits, for a body's way into the database neither. */
bool hl_pg_queue_is_empty(const struct hl_pg_store *s);

/* --- queue_memory.c -------------------------------------------------------------------------- */
/* The memory of what waits for the server and cannot be refused: ends of runs, records of
 * synchronous ones, outcomes. */

/* Before it waits. Its body may become a file in the scratch directory, or be dropped. */
void hl_pg_queue_memory_enter(struct hl_pg_store *s, struct hl_pg_op *op);
/* It waits no longer. Harmless for one that did not enter. */
void hl_pg_queue_memory_leave(struct hl_pg_store *s, struct hl_pg_op *op);

/* A FINISH whose response cannot be written: the run fails, and of its response only the status stays. */
void hl_pg_queue_memory_strip(struct hl_pg_store *s, struct hl_pg_op *op);

/* --- complaint.c ----------------------------------------------------------------------------- */
/* What the server refuses, in the log: the first of each kind in a minute, and how many more there were. */

/* `what` is the line's message, a static text. What a full disk refuses makes the store a failing one for a while. */
void hl_pg_complain(struct hl_pg_store *s, const char *what, const struct hl_pg_flight *flight);
/* When a minute is over what was counted is said; at the end, whatever is left of it. */
void hl_pg_complaints_turn(struct hl_pg_store *s, uint64_t now_ms);
uint64_t hl_pg_complaints_due_ms(const struct hl_pg_store *s);
void hl_pg_complaints_end(struct hl_pg_store *s);

/* --- refusal.c ------------------------------------------------------------------------------- */
/* Operations that the server refuses and that may not be dropped for it: they are tried again. */

/* Before a transaction is filled: which one of each kind that is refused is tried, alone. */
void hl_pg_refusal_choose(struct hl_pg_store *s, uint64_t now_ms);
/* `waits`: it is not the time of one in the queue; then nothing on its subject goes before it. HL_ERR_NOMEM: that cannot
 * be remembered, and nothing behind it may be sent. */
HL_MUST_CHECK enum hl_err hl_pg_refusal_waits(
    struct hl_pg_store *s, struct hl_pg_op *op, uint64_t now_ms, bool *waits);
/* It is back in the queue with no word of the server's about it. */
void hl_pg_refusal_forget(struct hl_pg_store *s, struct hl_pg_op *op);

/* It was sent alone, and refused with that state. What it brings may be gone then. */
void hl_pg_refusal_note(
    struct hl_pg_store *s, struct hl_pg_op *op, const char *sqlstate, uint64_t now_ms);
/* It was committed. */
void hl_pg_refusal_pass(struct hl_pg_store *s, struct hl_pg_op *op);
/* It is answered. */
void hl_pg_refusal_leave(struct hl_pg_store *s, struct hl_pg_op *op);

/* Something waits for the server to take it. */
bool hl_pg_refusal_is_any(const struct hl_pg_store *s);
/* The server is away, or refuses what this replica needs of it. */
bool hl_pg_is_failing(const struct hl_pg_store *s, uint64_t now_ms);
/* When to look again; UINT64_MAX: nothing is refused. */
uint64_t hl_pg_refusal_due_ms(const struct hl_pg_store *s, uint64_t now_ms);

/* --- empty_accept.c -------------------------------------------------------------------------- */
/* Whether the server refuses accepts for what it is, or one for what is in it. */

void hl_pg_empty_accept_init(struct hl_pg_store *s);
/* An accept was refused, alone: why is found out. */
void hl_pg_empty_accept_want(struct hl_pg_store *s);
void hl_pg_empty_accept_turn(struct hl_pg_store *s, uint64_t now_ms);
uint64_t hl_pg_empty_accept_due_ms(const struct hl_pg_store *s);

/* --- uncertain_accept.c ---------------------------------------------------------------------- */
/* Runs that may have been accepted though their callers were refused: taken back. */

/* Remembers one. False: there are HL_PG_UNCERTAIN_MAX already. */
HL_MUST_CHECK bool hl_pg_uncertain_keep(struct hl_pg_store *s, const struct hl_id *run_id);
/* Adds to a transaction, as its last statement, that all of them are taken back; nothing if there are none. */
void hl_pg_uncertain_add(struct hl_pg_store *s, struct hl_pg_transaction *e);
/* How that transaction ended: its last statement's result, or NULL. */
void hl_pg_uncertain_settle(struct hl_pg_store *s, const PGresult *result);
/* Takes back what was refused while this replica was among the others. */
void hl_pg_uncertain_turn(struct hl_pg_store *s, uint64_t now_ms);

/* --- flush.c --------------------------------------------------------------------------------- */
/* Requests become transactions. */

/* Sends what waits, as far as that may go now. */
void hl_pg_flush_turn(struct hl_pg_store *s, uint64_t now_ms);
/* When there may be something to hand out (CLOCK_MONOTONIC ms): what is posted wakes the thread. */
uint64_t hl_pg_flush_due_ms(const struct hl_pg_store *s);
/* Nothing waits and nothing is under way; or, not `with_refused`, what waits is refused. */
bool hl_pg_flush_is_idle(const struct hl_pg_store *s, bool with_refused);

/* --- transaction.c --------------------------------------------------------------------------- */
/* A transaction of the store's own on the writer's connection. */

/* Empties s->params for its first statement. `on_end` has the last statement's result, or NULL when
 * nothing was committed or nobody knows; it may be NULL itself. NULL: out of memory. */
struct hl_pg_transaction *hl_pg_transaction_begin(
    struct hl_pg_store *s, void (*on_end)(struct hl_pg_store *s, const PGresult *result));
/* A statement with s->params, which are empty again. */
void hl_pg_transaction_add(struct hl_pg_transaction *e, enum hl_pg_sql query);
/* Takes it. False: there is no connection, and `on_end` is not called. */
bool hl_pg_transaction_send(struct hl_pg_transaction *e);

/* --- dispatch.c ------------------------------------------------------------------------------ */
/* Runs and deliveries are asked for. */

/* Adds to a flush what is to be handed out. */
void hl_pg_dispatch_begin(struct hl_pg_store *s, struct hl_pg_flush *f, uint64_t now_ms);
/* After the replies: sends what came of it. */
void hl_pg_dispatch_end(struct hl_pg_store *s, struct hl_pg_flush *f);
/* Nothing came of it: the credit is there again. */
void hl_pg_dispatch_undo(struct hl_pg_store *s, struct hl_pg_flush *f);
/* One that has no request with it was refused, for what does not pass by itself. */
void hl_pg_dispatch_note_refusal(struct hl_pg_store *s, const struct hl_pg_flush *f);
/* That came several times in a row. */
bool hl_pg_dispatch_is_refused(const struct hl_pg_store *s);
/* WITHDRAW: takes it. Answered when no claim is under way: what that brings is before the reply. */
void hl_pg_dispatch_withdraw(struct hl_pg_store *s, struct hl_store_msg *m);
/* When there may be something to hand out (CLOCK_MONOTONIC ms). */
uint64_t hl_pg_dispatch_due_ms(const struct hl_pg_store *s);

/* --- handout.c ------------------------------------------------------------------------------- */
/* What was claimed and leased goes out. */

#define HL_PG_POLL_MIN_MS 250 /* others' work is looked for so soon again, while there is some */

/* Of a flush that was committed: its claim, its lease. Their credit is spent, or there again. */
void hl_pg_hand_out_runs(struct hl_pg_store *s, struct hl_pg_flush *f);
void hl_pg_hand_out_deliveries(struct hl_pg_store *s, struct hl_pg_flush *f);

/* --- push.c ---------------------------------------------------------------------------------- */
/* The messages that are handed out, from the rows that say so. */

/* A run from the columns of RUN_CLAIM. Errors: CORRUPT (it is not sealed with our key, or damaged),
 * NOMEM. */
HL_MUST_CHECK enum hl_err hl_pg_read_claimed(
    struct hl_pg_store *s, struct hl_pg_row *row, struct hl_claimed **out);
/* A delivery from {leased} of sql/delivery.sql. Errors: CORRUPT, NOMEM. */
HL_MUST_CHECK enum hl_err hl_pg_read_leased(
    struct hl_pg_store *s, struct hl_pg_row *row, struct hl_leased **out);

/* Who has the run here is told to end it; nobody may have it. False: there is no memory, and nobody was told.
 * `*order` is taken for it, if it is there. */
HL_MUST_CHECK bool hl_pg_push_cancel(
    struct hl_pg_store *s, const struct hl_id *run_id, struct hl_cancel_run **order);

/* What ended until then is past its retention: hidden, and not to be had again. */
void hl_pg_add_kept_since(const struct hl_pg_store *s, struct hl_pg_params *p);

/* --- full_destination.c ---------------------------------------------------------------------- */
/* Destinations that have as many deliveries as one may have: half of HOOKLINE_MAX_PENDING_DELIVERIES,
 * over all replicas, counted from the acceptance of their runs. */

void hl_pg_full_init(struct hl_pg_full_destinations *c, uint32_t max_pending);
void hl_pg_full_fini(struct hl_pg_full_destinations *c);

/* Whether it has; false for no URL. Any thread. */
bool hl_pg_is_destination_full(const struct hl_pg_store *s, struct hl_str webhook_url);

/* A run with this webhook was accepted here; nothing for no URL. */
void hl_pg_full_note_url(struct hl_pg_store *s, struct hl_str webhook_url);
/* A delivery of this lane has ended; nothing for 0. */
void hl_pg_full_note_end(struct hl_pg_store *s, int64_t lane);
/* All of them were counted, those of all lanes together. */
void hl_pg_full_total(struct hl_pg_store *s, uint64_t total);

/* Counts by lane what may be too much for one, at most once a second. */
void hl_pg_full_turn(struct hl_pg_store *s, uint64_t now_ms);
/* When that is due (CLOCK_MONOTONIC ms). */
uint64_t hl_pg_full_due_ms(const struct hl_pg_store *s);

/* --- lending.c ------------------------------------------------------------------------------- */
/* Rates that replicas share are borrowed ahead. */

void hl_pg_lending_init(struct hl_pg_store *s);
/* HL_STORE_BORROW, which stays its quota's. */
void hl_pg_lending_take(struct hl_pg_store *s, struct hl_msg *ask);
/* Adds to a transaction that what is left goes back: this replica leaves. */
void hl_pg_lending_leave(struct hl_pg_store *s, struct hl_pg_transaction *e);
void hl_pg_lending_turn(struct hl_pg_store *s, uint64_t now_ms);
/* CLOCK_MONOTONIC, when there is something to do; UINT64_MAX: nothing, as things stand. */
uint64_t hl_pg_lending_due_ms(const struct hl_pg_store *s);

/* What a replica that is cut off does, and says. False: the database has answered. */
void hl_pg_lending_set_cut_off(struct hl_pg_store *s, bool is_cut_off);

/* --- permits.c ------------------------------------------------------------------------------- */
/* Calls at once that replicas share: each holds permits for some of them. */

/* A queued run has a name of its account, hashed by the key of whoever accepted it: while keys are changed an account
 * has two of them, 0 and 1. */
int hl_pg_subject_names(const struct hl_pg_store *s);
uint64_t hl_pg_subject(const struct hl_pg_store *s, struct hl_quota *quota, int name);
/* Whose runs go by that name, if he has a max_running; NULL: nobody's who has. */
struct hl_quota *hl_pg_quota_of(struct hl_pg_store *s, uint64_t subject);

void hl_pg_permits_init(struct hl_pg_store *s);
/* HL_STORE_HOLD, which stays its quota's. */
void hl_pg_permits_take(struct hl_pg_store *s, struct hl_msg *call);
/* Queued runs of its have found none. */
void hl_pg_permits_want(struct hl_pg_store *s, struct hl_quota *quota);
/* Another replica wishes some of that subject's. */
void hl_pg_permits_hear(
    struct hl_pg_store *s, const struct hl_id *subject, enum hl_permit_wish wish);
/* Another replica has done something: it may have given some back. */
void hl_pg_permits_hurry(struct hl_pg_store *s);
/* The database may not know what is held: it is told. `is_anew`: under another id, nothing is held but by calls that are
 * inside. */
void hl_pg_permits_tell_all(struct hl_pg_store *s, bool is_anew);
void hl_pg_permits_turn(struct hl_pg_store *s, uint64_t now_ms);
/* CLOCK_MONOTONIC, when there is something to do; UINT64_MAX: nothing, as things stand. */
uint64_t hl_pg_permits_due_ms(const struct hl_pg_store *s);

/* --- answer.c -------------------------------------------------------------------------------- */
/* Questions. */

/* A question; takes the message. */
void hl_pg_answer(struct hl_pg_store *s, struct hl_store_msg *m);
/* The reader has a connection: those that wait for it are asked. */
void hl_pg_answer_waiting(struct hl_pg_store *s);
/* Refuses those that have waited too long. When to look again (CLOCK_MONOTONIC ms). */
uint64_t hl_pg_answer_expire(struct hl_pg_store *s, uint64_t now_ms);
/* Answers them with UNAVAILABLE: the store ends. */
void hl_pg_answer_refuse_all(struct hl_pg_store *s);

/* --- outbox.c -------------------------------------------------------------------------------- */
/* What replicas tell each other, in the table `event`: a run that is to be cancelled where it
 * runs, an account that is new, one that is revoked. */

/* Reads what is new, when that is due. */
void hl_pg_outbox_turn(struct hl_pg_store *s, uint64_t now_ms);
/* When it is due next (CLOCK_MONOTONIC ms); UINT64_MAX: when the connection is there again. */
uint64_t hl_pg_outbox_due_ms(const struct hl_pg_store *s);
/* There may be something new. */
void hl_pg_outbox_hurry(struct hl_pg_store *s);
void hl_pg_outbox_fini(struct hl_pg_store *s);

/* --- notify.c -------------------------------------------------------------------------------- */
/* Replicas wake each other: LISTEN and NOTIFY on a channel that is called as the schema is.
 * Everything is polled for as well: a notification that is lost costs time and nothing else. */

/* The listener's connection. A libuv error code or 0. */
int hl_pg_notify_init(struct hl_pg_store *s);
/* Sends what is due. */
void hl_pg_notify_turn(struct hl_pg_store *s, uint64_t now_ms);
/* When something is due next (CLOCK_MONOTONIC ms). */
uint64_t hl_pg_notify_due_ms(const struct hl_pg_store *s);

/* After a commit. Runs or deliveries may be had: others are woken unless this replica takes them all
 * itself at once. */
void hl_pg_notify_work(struct hl_pg_store *s);
/* There are events, or work that this replica does not want. */
static inline void hl_pg_notify_all(struct hl_pg_store *s)
{
    s->notify.owes_all = true;
}
/* The answer to a call at a front, or the head of one that goes on, is committed. */
void hl_pg_notify_answer(struct hl_pg_store *s);

/* --- watch.c --------------------------------------------------------------------------------- */
/* Who waits here for the ends of which runs. */

/* WATCH, UNWATCH. */
void hl_pg_watch_take(struct hl_pg_store *s, struct hl_watch *watch);
/* This replica has committed the run's end. */
void hl_pg_watch_end(struct hl_pg_store *s, const struct hl_id *run_id);
/* Something may have ended: it is looked at soon. */
void hl_pg_watch_hurry(struct hl_pg_store *s);
void hl_pg_watch_turn(struct hl_pg_store *s, uint64_t now_ms);
/* CLOCK_MONOTONIC, when there is something to do; UINT64_MAX: nothing, as things stand. */
uint64_t hl_pg_watch_due_ms(const struct hl_pg_store *s);
void hl_pg_watch_refuse_all(struct hl_pg_store *s);

/* --- expire.c -------------------------------------------------------------------------------- */
/* Queued runs whose time to start is over (contract 7). */

/* One is to start within so many ms. */
void hl_pg_expire_note(struct hl_pg_store *s, uint64_t in_ms);
void hl_pg_expire_turn(struct hl_pg_store *s, uint64_t now_ms);
/* CLOCK_MONOTONIC, when there is something to do; UINT64_MAX: nothing, as things stand. */
uint64_t hl_pg_expire_due_ms(const struct hl_pg_store *s);

/* --- gauging.c ------------------------------------------------------------------------------- */
/* Gauges of all replicas together, and of what the server has to bear. */

#define HL_PG_SNAPSHOT_OLD_MS   (60 * 1000)      /* worth a line */
#define HL_PG_SNAPSHOT_QUIET_MS (10 * 60 * 1000) /* between two lines */

/* What is due is asked; nothing before this replica has joined. */
void hl_pg_gauging_turn(struct hl_pg_store *s, uint64_t now_ms);
/* When something is due next (CLOCK_MONOTONIC ms). */
uint64_t hl_pg_gauging_due_ms(const struct hl_pg_store *s);
/* The server is gone, or back: nothing is known until it is asked, which is due. */
void hl_pg_gauging_forget(struct hl_pg_store *s);

/* Rows that go while others keep a snapshot or a transaction open cannot be vacuumed. A role may see how long a
 * transaction of another role's has lasted only as a member of pg_read_all_stats, but everybody sees which transaction id
 * it keeps: while that stays the same, time passes. Plain values; no thread.
 * `xid`: the oldest that is kept now, 0: none; `seen_ms`: how long the oldest transaction has lasted
 * whose time may be seen. The age in ms, which may be short by the time between two looks. */
uint64_t hl_pg_snapshot_age_look(
    struct hl_pg_snapshot_age *h, uint32_t xid, uint64_t seen_ms, uint64_t now_ms);
/* Whether that age is to be logged now: then it counts as logged. */
bool hl_pg_snapshot_age_says(struct hl_pg_snapshot_age *h, uint64_t age_ms, uint64_t now_ms);

/* --- pooler.c -------------------------------------------------------------------------------- */
/* Somebody may be in between who gives the next transaction to another process of the server and passes on
 * the number of the first: that is found out while it happens. */

/* A connection is there. One that was found to be pooled when it began says so for the others, which are made anew, as
 * is one that began before that was known. */
void hl_pg_pooler_meet(struct hl_pg_store *s, struct hl_pg_link *link);
/* What a statement of the writer has seen: the number of its process, and whether that session was told what ours rely
 * on (session_setup.h). */
void hl_pg_pooler_watch(struct hl_pg_store *s, int pid, bool is_told);

/* --- opening.c ------------------------------------------------------------------------------- */
/* How the store begins. A guest, the commands, has the server at once or not at all. A
 * replica's store opens without it: the writer's link tries until the server has answered for the first
 * time, which is when all that could be wrong is looked at, and the schema is made. */

/* A guest's two sessions: blocks. Errors as in session.h; then both are closed. */
HL_MUST_CHECK enum hl_err hl_pg_opening_visit(struct hl_pg_store *s, struct hl_pg_session *writer,
    struct hl_pg_session *reader, char *why, size_t why_len);

/* A replica's: the link is made ready to look around, and tries. Before the thread runs. */
void hl_pg_opening_begin(struct hl_pg_store *s);
/* The opener waits until it is decided, and questions can be asked; where no server lets us in,
 * about 2 s, or until the first try has failed. HL_OK: it is open, or goes on trying; else it never
 * will be, and `why` has one line. */
HL_MUST_CHECK enum hl_err hl_pg_opening_wait(struct hl_pg_store *s, char *why, size_t why_len);
/* The writer is up; on the store's thread. Opens the other links, the first time. */
void hl_pg_opening_end(struct hl_pg_store *s);

#endif
