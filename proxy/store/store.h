/* store.h - the durable queue behind runs and deliveries: the interface that every driver has.
 *
 * All operations are messages (loop/mailbox.h). A request is posted and comes back, the same
 * memory, to `reply_to` with `rc` set: exactly once, also when the store closes
 * (HL_ERR_UNAVAILABLE). Pushed messages (CLAIMED, CANCEL, LEASED) are made by the store and owned
 * by the receiver. A reply or a pushed message is sent only after the commit of what it says.
 *
 *   worker ── ACCEPT, RECORD, CREDIT, FINISH ──▶ store ── replies, CLAIMED, CANCEL_RUN ──▶ worker
 *   sender ── LEASE_CREDIT, ATTEMPT, OUTCOME ──▶ store ── replies, LEASED ──▶ sender
 *   others ── CANCEL, REDELIVER, GET_…, LIST_… ──▶ store ── replies
 *
 * Not here: questions and lists (question.h), service accounts (account.h), how a driver keeps them
 * (sqlite/, memory/), what bodies in files are (body_file.h). */
#ifndef HL_STORE_STORE_H
#define HL_STORE_STORE_H

#include <stdatomic.h>

#include "base/metric.h"
#include "base/priority.h"
#include "base/str.h"
#include "config/config.h"
#include "loop/mailbox.h"
#include "loop/slot.h"
#include "store/attempt_log.h"
#include "store/lane.h"
#include "store/record.h"
#include "store/tally.h"

/* Message types. Requests first: their struct begins with struct hl_store_msg. */
enum hl_store_op {
    HL_STORE_ACCEPT = 1,   /* struct hl_accept: a run is queued */
    HL_STORE_RECORD,       /* struct hl_accept: a synchronous run with a webhook has begun */
    HL_STORE_CREDIT,       /* struct hl_credit: a worker can take n more runs. No reply */
    HL_STORE_FINISH,       /* struct hl_finish */
    HL_STORE_RELEASE,      /* struct hl_release: a claimed run was not started after all */
    HL_STORE_WITHDRAW,     /* struct hl_store_msg: no CLAIMED follows the reply; a worker stops */
    HL_STORE_LEASE_CREDIT, /* struct hl_credit: the sender can take n more deliveries. No reply */
    HL_STORE_ATTEMPT,      /* struct hl_attempt: attempt n > 1; send only after the reply */
    HL_STORE_OUTCOME,      /* struct hl_attempt_outcome */
    HL_STORE_CANCEL,       /* struct hl_run_ref */
    HL_STORE_REDELIVER,    /* struct hl_redeliver */
    HL_STORE_GET_RUN,      /* struct hl_get_run (question.h) */
    HL_STORE_LIST_RUNS,    /* struct hl_list_runs (question.h) */
    HL_STORE_GET_DELIVERY, /* struct hl_get_delivery (question.h) */
    HL_STORE_LIST_DELIVERIES,   /* struct hl_list_deliveries (question.h) */
    HL_STORE_LIST_APPS,         /* struct hl_list_apps (question.h) */
    HL_STORE_LIST_DESTINATIONS, /* struct hl_list_destinations (question.h) */
    HL_STORE_ADD_ACCOUNT,       /* struct hl_add_account (account.h) */
    HL_STORE_REVOKE_ACCOUNT,    /* struct hl_revoke_account (account.h) */
    HL_STORE_TOUCH_ACCOUNTS,    /* struct hl_touch_accounts (account.h) */
    HL_STORE_LIST_REPLICAS,     /* struct hl_list_replicas (question.h), only where it is shared */
    HL_STORE_LIST_ACCOUNTS,     /* struct hl_list_accounts (account.h) */
    HL_STORE_KEEP_KEY,          /* struct hl_keep_key */
    HL_STORE_WATCH_ACCOUNTS,    /* struct hl_watch_accounts (account.h), only where it is shared */
    HL_STORE_LIST_KEYS,         /* struct hl_list_keys (account.h), only where it is shared */
    HL_STORE_WATCH,             /* struct hl_watch: answered when the run has ended */
    HL_STORE_UNWATCH,           /* struct hl_watch: the WATCH from the same asker is answered now */
    HL_STORE_LIMIT_ACCOUNT,     /* struct hl_limit_account (account.h) */
    HL_STORE_KEEP_STREAM,       /* struct hl_keep_stream, only where it is shared */
    HL_STORE_SAY_PROGRESS,      /* struct hl_say_progress, only where it is shared */
    HL_STORE_TALLY,             /* struct hl_told_tally: synchronous calls that have ended */
    HL_STORE_OVERVIEW,          /* struct hl_overview (question.h) */

    HL_STORE_CLAIMED = 64, /* struct hl_claimed, to a worker that gave credit */
    HL_STORE_CANCEL_RUN,   /* struct hl_cancel_run, to the worker that has the run */
    HL_STORE_LEASED,       /* struct hl_leased, to the sender */
    HL_STORE_CREDIT_BACK,  /* struct hl_credit, to a worker: unused credit, see hl_credit.returns */
    HL_STORE_WORK, /* struct hl_msg, to a worker without credit: runs are queued, see there */
};

struct hl_store_msg {
    struct hl_msg msg; /* type: enum hl_store_op */
    enum hl_err rc;    /* set on the reply */
    struct hl_mailbox *reply_to;
    struct hl_slot_name from; /* the asker's object; not touched by the store */
};

/* ACCEPT, RECORD. One allocation holds the struct and its strings (hl_accept_new). On the reply:
 *   OK         run_id is queued (RECORD: running, epoch 1), on disk
 *   EXISTS     same idempotency key, same request: run_id is overwritten with the earlier run's
 *   CONFLICT   same key, other request
 *   BUSY       ACCEPT: HOOKLINE_MAX_QUEUED_RUNS is reached, or with a webhook
 *              HOOKLINE_MAX_PENDING_DELIVERIES, or its destination has half of those (contract 5). A RECORD
 *              is not refused for these: its run is inside the app already
 *   FULL       no space: nothing was kept
 *   TIMEOUT    ACCEPT: nobody knows whether it was kept. A run that was is withdrawn as soon as that is
 *              possible, unless it has begun
 *   UNAVAILABLE, IO, CORRUPT
 *              the store is failing
 *
 * Unless OK or TIMEOUT, no trace is left; then, and after TIMEOUT, the body's file is removed by the
 * asker (hl_store_keeps_file). After OK it is the store's: it goes when the run ends. */
struct hl_accept {
    struct hl_store_msg m;
    struct hl_id run_id;
    int64_t created_ms;
    struct hl_str project, app;
    struct hl_str method, target; /* upstream; for lists and records */
    struct hl_str head;        /* ACCEPT: for the app, is_stored (http/edit.h); encrypted at rest */
    struct hl_str webhook_url; /* empty: none; encrypted at rest */
    struct hl_str webhook_secret;  /* the caller's; empty: none; encrypted at rest */
    struct hl_str traceparent;     /* goes along with the webhook */
    struct hl_str idempotency_key; /* ACCEPT; empty: none */
    struct hl_str subject;         /* token subject the key belongs to; empty with AUTH=none */
    struct hl_str identity;        /* whose run it is (auth/identity.h); empty likewise */
    struct hl_id rerun_of;         /* ACCEPT: its request is that run's; nil: none */
    uint64_t timeout_ms;           /* ACCEPT: inside the app, an attempt; 0: as settings say then */
    uint64_t
        start_timeout_ms; /* ACCEPT: queued before its first start, then it ends as expired; 0: any */
    enum hl_priority priority; /* ACCEPT */
    uint32_t max_attempts;     /* ACCEPT; 0: as settings say then */
    uint32_t max_queued; /* ACCEPT: BUSY if the identity has that many queued runs; 0: any number */
    bool is_over;        /* ACCEPT: BUSY in any case; but one whose key is known is answered */
    bool is_over_queued; /* reply BUSY: for max_queued */
    bool
        is_over_destination; /* reply BUSY: its destination has as many deliveries as one may have */
    uint8_t fingerprint[32]; /* of the whole request, with idempotency_key */
    struct hl_body body;     /* ACCEPT: owned by the message */
    /* ACCEPT: the body's file is rerun_of's, and the store gives what is in it a name of its own; reply:
     * whether it is so still, and the asker removes nothing. NOT_FOUND: it is not there any more. */
    bool borrows_file;
};

/* Whether the request of an asynchronous run is kept that has ended so. */
static inline bool hl_keeps_request(enum hl_keep_requests keep, enum hl_run_state state)
{
    return keep == HL_KEEP_REQUESTS_ALL ||
           (keep == HL_KEEP_REQUESTS_FAILED && state != HL_RUN_SUCCESS);
}

/* Is the file of a request's body the store's after this reply? After IO or CORRUPT nobody knows
 * whether the next start will find the commit that names it: the sweep there removes it if not. */
static inline bool hl_store_keeps_file(enum hl_err rc)
{
    return rc == HL_OK || rc == HL_ERR_IO || rc == HL_ERR_CORRUPT;
}

/* `tmpl`'s strings are copied, its body is taken (tmpl->body is emptied). NULL: out of memory. */
struct hl_accept *hl_accept_new(enum hl_store_op op, struct hl_accept *tmpl);
void hl_accept_free(struct hl_accept *a); /* NULL-safe; wipes the secret */

/* CREDIT, LEASE_CREDIT: adds to what the store may push to `m.reply_to`. No reply; the store frees
 * it. CREDIT with n = 0 only makes the worker known: it gets WORK. LEASE_CREDIT with n = 0
 * withdraws all that was given, as does an ABANDONED outcome: the sender stops.
 *
 * WORK is sent once to each known worker that has no credit while runs are queued, and again only
 * after its next CREDIT: a worker that cannot use it at once gives credit when it can. */
struct hl_credit {
    struct hl_store_msg m;
    uint32_t n;
    /* CREDIT: it holds slots of the app; once nothing is queued, what was not used comes back as
     * CREDIT_BACK, in one message. Else it stands. */
    bool returns;
    /* With n = 1: a run of class `wish` is wanted; any other, when there is none. */
    bool has_wish;
    enum hl_priority wish;
};

/* A run for a worker: `running` is on disk. */
struct hl_claimed {
    struct hl_msg msg;
    struct hl_quota
        *quota; /* where it has a place, which whoever takes the run leaves; NULL: none */
    struct hl_id run_id;
    uint32_t epoch;
    uint32_t attempt; /* from 1 */
    bool has_webhook;
    int64_t created_ms;
    uint64_t timeout_ms;   /* as accepted */
    uint32_t max_attempts; /* likewise */
    int64_t first_ms;      /* when its first attempt began, or this one */
    int64_t start_by_ms;   /* wall time, in case it is released; 0: any, or its store knows */
    uint64_t events;       /* the last ordinal that the events of earlier attempts have used */
    struct hl_str project, app;
    struct hl_str head; /* as accepted */
    struct hl_body body;
};
void hl_claimed_free(struct hl_claimed *c);
void hl_claimed_leave(struct hl_claimed *c); /* its place, if it has one */

/* State, kept response and delivery (if the run has a webhook) in one commit. Reply: OK, or STALE
 * (the run is final already or has another epoch: nothing changed), NOT_FOUND (never recorded), or
 * an error after which nothing changed and the asker may post it again (not after UNAVAILABLE, IO,
 * CORRUPT: those stay until the process starts anew). A full volume is waited for, not reported.
 * The body's file is removed by the asker unless hl_store_keeps_file. */
struct hl_finish {
    struct hl_store_msg m;
    struct hl_id run_id;
    uint32_t epoch;            /* RECORDed runs: 1 */
    struct hl_outcome outcome; /* body owned by the message */
    /* For the overview: inside the app, of its last attempt; before that. As RECORD or CLAIM counted them. */
    int64_t run_us, queued_us;
    struct hl_buf log; /* what is kept of the log about it; owned by the message; may be empty */
};
void hl_finish_free(struct hl_finish *f);

/* The app was not called: the run waits again, its attempt is not counted, its epoch grows (so that
 * its old claim is void). Or it is a retry: the attempt has ended as `ended` says and counts, and the run
 * waits until it is due. Reply: OK, or STALE. */
struct hl_release {
    struct hl_store_msg m;
    struct hl_claimed *claimed; /* owned by the message, with the body that came */
    bool is_retry;
    int64_t due_ms; /* wall time */
    struct hl_attempt_entry ended;
};
/* Takes the claim. NULL: out of memory, and it is still the caller's. */
struct hl_release *hl_release_new(struct hl_claimed *claimed);
void hl_release_free(struct hl_release *r);

/* A delivery for the sender. Attempt `n` of `round` is on disk already: send at once. The lease
 * ends with a final OUTCOME, or one that puts the next attempt off. To a destination (lane: scheme, host,
 * port) the store leases no more at a time than there are free places just then, or
 * HOOKLINE_WEBHOOK_PER_HOST where that is set, round-robin over lanes. */
struct hl_leased {
    struct hl_msg msg;
    struct hl_id delivery_id, run_id;
    uint64_t lane;
    uint32_t round, n, max_attempts; /* n from 1 */
    bool is_async;                   /* so is the run: its result can be asked for */
    int64_t failing_since_ms;        /* of the lane, as it was noted last; 0: it is not */
    struct hl_str url, secret, traceparent, project, app; /* secret: the caller's */
    struct hl_outcome outcome; /* INLINE body is here, FILE is opened by the sender */
};
void hl_leased_free(struct hl_leased *l); /* wipes secret and url */

/* Attempt n (> 1) will be sent: committed before the reply. Reply OK with the delivery, so that
 * nobody has to keep it between two attempts; STALE: the lease is gone, do not send. `is_again`:
 * attempt n (> 0) is on disk already and was not sent; nothing is committed. */
struct hl_attempt {
    struct hl_store_msg m;
    struct hl_id delivery_id;
    uint32_t round, n;
    bool is_parked; /* it has no place */
    bool is_again;
    struct hl_leased *leased; /* NULL; reply OK: the asker's */
};

/* The verdicts that the sender may give:
 *   OK         final: delivered
 *   RETRY      the lease stays: ATTEMPT comes after a delay. With puts_off it ends, and the delivery
 *              waits in the store until next_ms. DEAD at max_attempts
 *   DEAD       final: dead letter
 *   ABANDONED  the sender stops: the lease is given back, the delivery stays pending; with
 *              started_ms 0 attempt n was never sent and does not count */
struct hl_attempt_outcome {
    struct hl_store_msg m;
    struct hl_id delivery_id;
    uint32_t round, n;
    enum hl_attempt_verdict verdict;
    uint16_t http_status; /* 0: no response */
    int64_t started_ms, ended_ms;
    char error[HL_ATTEMPT_ERROR_MAX + 1]; /* "timeout", …; never a URL or secret */
    int64_t next_ms; /* RETRY: time of the steady clock before which the next attempt is not sent */
    bool puts_off;   /* RETRY */
    bool parks; /* RETRY, not puts_off: others may have its place at the destination from now on */
    bool is_parked;             /* it has no place; the reply OK says it anew */
    enum hl_lane_health health; /* of the destination, from now on; ABANDONED says nothing of it */
    int64_t failing_since_ms;   /* health FAILING: wall time, else 0 */
    struct hl_attempt_report
        *report; /* owned by the message, which hl_attempt_outcome_fini frees; NULL: none */
};

void hl_attempt_outcome_fini(struct hl_attempt_outcome *o);

/* CANCEL. Reply OK: a queued run is final now (its webhook goes out), a running one's worker has
 * been told; CONFLICT: finished already; NOT_FOUND: also when the project or app is another's
 * (empty: any). */
struct hl_run_ref {
    struct hl_store_msg m;
    struct hl_id run_id;
    char project[HL_STORE_NAME_MAX + 1], app[HL_STORE_NAME_MAX + 1];
};
struct hl_cancel_run {
    struct hl_msg msg;
    struct hl_id run_id;
};

/* WATCH comes back when a run ends after it: who may have come too late asks for the run behind it. OK:
 * look now; CANCELLED: it was withdrawn; UNAVAILABLE: the store closes. On PostgreSQL the ends that other
 * replicas make are seen within half a second. UNWATCH comes back at once. */
struct hl_watch {
    struct hl_store_msg m;
    struct hl_id run_id;
    struct hl_watch *next; /* the store's */
};

/* REDELIVER: one (delivery_id; CONFLICT while it is pending) or, when that is nil, all of `project`
 * in `state` (DEAD or OK) that a list from `since_ms` on shows (question.h). A new round of attempts each;
 * the history stays. */
struct hl_redeliver {
    struct hl_store_msg m;
    struct hl_id delivery_id;
    char project[HL_STORE_NAME_MAX +
                 1]; /* the delivery's too, else NOT_FOUND; empty with a delivery_id: any */
    enum hl_delivery_state state; /* with a nil delivery_id; PENDING is not possible: INVALID */
    int64_t since_ms;             /* by the time in the delivery's id */
    uint64_t count;               /* 0; reply: how many */
    struct hl_redeliver_mark {
        int64_t app_id;
        struct hl_id after;
    } mark; /* zero; the store's own: how far it has come */
};

/* KEEP_STREAM: what came of a running run's event stream, from `at` on: others can follow it, and have it if
 * this process is lost. In order, and one at a time. Reply OK, STALE (the run is not this process's), or an
 * error after which it may be sent again. */
#define HL_STREAM_PART_MAX (256 * 1024)
struct hl_keep_stream {
    struct hl_store_msg m;
    struct hl_id run_id;
    uint32_t epoch, attempt;
    uint64_t at;
    struct hl_buf bytes; /* owned by the message */
};
void hl_keep_stream_free(struct hl_keep_stream *k);

/* SAY_PROGRESS: what the run said last of how far it is, for others. Reply as above. */
#define HL_PROGRESS_MAX 1024
struct hl_say_progress {
    struct hl_store_msg m;
    struct hl_id run_id;
    uint32_t epoch;
    char json[HL_PROGRESS_MAX + 1];
};

/* TALLY: how synchronous calls ended of which the store knows nothing else (tally.h). One of a source at a
 * time, each with another id: the same twice counts once. Reply OK, or an error after which nothing was counted. */
struct hl_told_minute {
    char project[HL_STORE_NAME_MAX + 1], app[HL_STORE_NAME_MAX + 1];
    int64_t minute; /* wall time in ms / HL_TALLY_MINUTE_MS */
    struct hl_tally tally;
};
struct hl_told_tally {
    struct hl_store_msg m;
    struct hl_id source, id;
    struct hl_told_minute *minutes; /* owned by the message */
    size_t n;
};
void hl_told_tally_free(struct hl_told_tally *t); /* NULL-safe */

/* KEEP_KEY: hl_store_put_signing_key. */
struct hl_keep_key {
    struct hl_store_msg m;
    struct hl_str key; /* borrowed */
};

/* What other threads may read at any time, written by the store's thread. */
struct hl_store_gauges {
    struct hl_counter queued_runs, pending_deliveries; /* of all replicas, where it is shared */
    struct hl_counter queued[HL_PRIORITIES];           /* of each class that may start, likewise */
    struct hl_counter leased_deliveries;
    struct hl_counter waiting_deliveries; /* for the time of their next attempt, in the store */
    struct hl_counter lanes_at_limit;     /* destinations that deliveries wait for a place at */
    struct hl_counter dead_letters;       /* since start */
    struct hl_counter oldest_queued_ms;   /* wall time of the oldest queued run; 0: none */
    struct hl_counter oldest_delivery_ms;
    struct hl_counter commits;
    struct hl_counter bytes;        /* on disk: database and bodies */
    struct hl_counter log_bytes;    /* on disk beside that: the write-ahead log */
    struct hl_counter max_bytes;    /* HOOKLINE_STORE_MAX_BYTES */
    struct hl_counter waiters;      /* callers that wait for a run's end */
    struct hl_counter expired_runs; /* since start, as the next */
    struct hl_counter waiting_runs; /* for their next attempt; they are not in queued_runs */
    struct hl_counter purged_runs, shed_runs, shed_bodies, swept_files; /* since start */
    /* kept streams of synchronous calls: what may be kept of them, and is of those that have ended */
    struct hl_counter max_stream_bytes, stream_bytes;
    struct hl_counter is_full; /* 1: accepts are refused with FULL until space is free again */
    /* 1: accepts are refused, for I/O errors or corruption; where it is shared: it has no server now */
    struct hl_counter is_failing;
    struct hl_histogram commit_latency;
    /* of a store that is shared; else 0 */
    struct hl_counter replicas;     /* alive */
    struct hl_counter app_taken_ms; /* wall time at which an app of theirs took calls; 0: never */
    struct hl_counter dead_tickets, dead_delivery_tickets;
    struct hl_counter oldest_xmin_ms; /* the age of others' oldest snapshot or transaction */
};

struct hl_store;

/* How a store stands that others share: its server may be away when it is opened. Any other is OPEN. */
enum hl_store_standing {
    HL_STORE_OPEN,    /* its server has been there; it may be away */
    HL_STORE_OPENING, /* it goes on trying; until then nothing is known that it keeps */
    HL_STORE_REFUSED, /* its server has been found, and will not do: it never opens */
};

/* Opens (creating, migrating, checking, releasing an earlier process's claims) and starts the
 * store's thread. On failure `why` has one line: what is wrong with which path and what to do.
 * Reads of the config: store, data_dir, key_file, retention, run_attempts, webhook_attempts,
 * webhook_per_host, max_queued_runs, max_pending_deliveries, store_max_bytes. With run_attempts 0
 * runs that were inside the app stay `running`, for the next opener to judge. With webhook_attempts
 * 0 a delivery's number of attempts is said by whoever opens the store to send it. With both 0, a
 * PostgreSQL is opened as a guest's: at once or not at all, by none of the replicas, and only one whose
 * schema is there. A replica's may still be OPENING: what is posted waits, or is UNAVAILABLE. */
HL_MUST_CHECK enum hl_err hl_store_open(
    struct hl_store **out, const struct hl_config *config, char *why, size_t why_len);

/* Any thread. A store that is OPEN, or REFUSED, stays so. */
enum hl_store_standing hl_store_standing(const struct hl_store *store);
/* Of one that is REFUSED: one line as hl_store_open's `why`. */
const char *hl_store_refusal(const struct hl_store *store);

/* What opening would find wrong: a line for each to `problems`, ending in '\n'. Changes nothing, leaves
 * nothing behind, and may be asked beside the process that has the store open. Blocks; before other
 * threads. HL_ERR_NOMEM. */
HL_MUST_CHECK enum hl_err hl_store_check(const struct hl_config *config, struct hl_buf *problems);

/* Any thread; takes the message. ACCEPT and RECORD may be refused at once with BUSY (64 MiB waiting; an
 * ACCEPT for 4,096 requests too): then the message is still the caller's. All others are always taken. */
HL_MUST_CHECK enum hl_err hl_store_post(struct hl_store *store, struct hl_store_msg *m);

/* The same, and waits for the reply: at start. Any thread that may block. */
HL_MUST_CHECK enum hl_err hl_store_ask(struct hl_store *store, struct hl_store_msg *m);

const struct hl_store_gauges *hl_store_gauges(const struct hl_store *store);
/* hookline's own private key for tokens, as auth made it: sealed with the store's key, in the
 * database. Once it is OPEN; blocks. NOT_FOUND: there is none, and always so with
 * the memory driver, where put keeps nothing. EXISTS: another replica has put one meanwhile, which get
 * gives from now on. */
#define HL_SIGNING_KEY_MAX 512
HL_MUST_CHECK enum hl_err hl_store_get_signing_key(
    struct hl_store *store, uint8_t out[HL_SIGNING_KEY_MAX], size_t *n);
HL_MUST_CHECK enum hl_err hl_store_put_signing_key(
    struct hl_store *store, const uint8_t *key, size_t n);

/* From now on no more runs of an account are handed out than its max_running leaves room for. They are
 * borrowed until the store is closed. */
struct hl_quotas; /* quota.h */
void hl_store_heed_quotas(struct hl_store *store, struct hl_quotas *quotas);
/* Whether a destination has as many deliveries as one may have: half of HOOKLINE_MAX_PENDING_DELIVERIES, counted
 * from acceptance on. Any thread; where the store is shared it is what was so a moment ago. */
bool hl_store_is_destination_full(const struct hl_store *store, struct hl_str webhook_url);
/* How many queued runs may start, as far as is known. Any thread. */
uint64_t hl_store_ready_runs(const struct hl_store *store);

/* The absolute data directory, or NULL with the memory driver: bodies are INLINE then, whatever
 * their size. */
const char *hl_store_data_dir(const struct hl_store *store);
/* Whether the app of this process takes calls, for the gauge app_taken_ms of all replicas. Any thread. */
void hl_store_note_app(struct hl_store *store, bool takes_calls);
/* Those that go on have so many more bytes; and how many they have. Any thread. */
void hl_store_note_stream(struct hl_store *store, int64_t bytes);
uint64_t hl_store_live_streams(const struct hl_store *store);
/* Other processes change it too. */
bool hl_store_is_shared(const struct hl_store *store);
/* How many bytes the memory driver keeps at most. */
uint64_t hl_store_memory_max(const struct hl_config *config);

/* Commits what was posted, answers everything, releases claims' leases, closes files, joins the
 * thread. Receivers' mailboxes must still be valid; workers and sender must have stopped posting.
 * Runs still claimed stay `running` on disk and end as interrupted at the next start. */
void hl_store_close(struct hl_store *store);

#endif
