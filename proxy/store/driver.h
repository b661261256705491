/* driver.h - what a driver does for the engine (engine.c): the store's operations on plain data,
 * inside transactions. The engine has the mailbox, the batches, the credit and the replies.
 *
 * All functions are called on the store's thread, except where said. Between begin and commit a
 * driver tells the backlog what changes.
 *
 * Errors of operations: HL_ERR_EXISTS, CONFLICT, STALE, NOT_FOUND and BUSY are answers; nothing
 * changed. After any other error the driver says in `is_broken` whether the transaction is beyond
 * use: then the engine rolls it back. If it is not, the operation left no trace. */
#ifndef HL_STORE_DRIVER_H
#define HL_STORE_DRIVER_H

#include "base/compiler.h"
#include "base/err.h"
#include "base/priority.h"
#include "base/str.h"
#include "store/record.h"

struct hl_accept;
struct hl_account;
struct hl_add_job;
struct hl_attempt;
struct hl_attempt_outcome;
struct hl_audit;
struct hl_backlog;
struct hl_buf;
struct hl_claimed;
struct hl_config;
struct hl_finish;
struct hl_id;
struct hl_keep_job;
struct hl_leased;
struct hl_limit_account;
struct hl_redeliver;
struct hl_release;
struct hl_resend;
struct hl_revoke_account;
struct hl_run_ref;
struct hl_stop_job;
struct hl_store_msg;
struct hl_told_tally;
struct hl_touch_accounts;

struct hl_driver;

/* What a driver must look up. */
struct hl_survey {
    int64_t queued_ms, delivery_ms; /* wall times of the oldest ones that wait; 0: none */
    uint64_t bytes, log_bytes, max_bytes;
    uint64_t stream_bytes, max_stream_bytes;                   /* as the gauges of that name */
    uint64_t purged_runs, shed_runs, shed_bodies, swept_files; /* since the start */
};

/* What the next process is told; 0: nothing. */
struct hl_noted_time {
    int64_t seen_ms;            /* the wall time that was believed last */
    int64_t steady_ms, lead_ms; /* the steady clock, and how far it was ahead of the wall clock */
};

struct hl_driver_vt {
    enum hl_err (*begin)(struct hl_driver *d);
    /* After an error the transaction is over and left no trace that this process will see. */
    enum hl_err (*commit)(struct hl_driver *d);
    void (*rollback)(struct hl_driver *d);

    /* EXISTS: `*existing` is the earlier run. On OK the body is the driver's. */
    enum hl_err (*accept)(struct hl_driver *d, struct hl_accept *a, struct hl_id *existing);
    enum hl_err (*record)(struct hl_driver *d, struct hl_accept *a);
    /* The queued run of a class whose turn it is becomes running. NOT_FOUND: none; STALE: one could not
     * be read and was ended, ask again. */
    enum hl_err (*claim)(
        struct hl_driver *d, enum hl_priority class, int64_t now_ms, struct hl_claimed **out);
    /* A claim is undone. A driver that gave the body away takes it back. */
    enum hl_err (*release)(struct hl_driver *d, struct hl_release *r, int64_t now_ms);
    /* On OK the body is the driver's. */
    enum hl_err (*finish)(struct hl_driver *d, struct hl_finish *f);
    /* OK with `*is_running`: only noted (ref->was_wished: once more); whoever has the run must be told. */
    enum hl_err (*cancel)(
        struct hl_driver *d, struct hl_run_ref *ref, int64_t now_ms, bool *is_running);
    /* The lane's oldest pending delivery. As claim. */
    enum hl_err (*lease)(
        struct hl_driver *d, uint64_t lane, int64_t now_ms, struct hl_leased **out);
    /* On OK a->leased is the delivery. */
    enum hl_err (*attempt)(struct hl_driver *d, struct hl_attempt *a, int64_t now_ms);
    /* `*is_parked`: it has no place, as o->is_parked, or since now. */
    enum hl_err (*outcome)(
        struct hl_driver *d, const struct hl_attempt_outcome *o, int64_t now_ms, bool *is_parked);
    /* Looks at `max` at most and goes on at r->mark; counts in r->count. `*is_done`: no more are
     * left. */
    enum hl_err (*redeliver)(
        struct hl_driver *d, struct hl_redeliver *r, unsigned max, int64_t now_ms, bool *is_done);
    /* `lane`: of its URL. */
    enum hl_err (*resend)(
        struct hl_driver *d, const struct hl_resend *r, uint64_t lane, int64_t now_ms);
    enum hl_err (*add_account)(struct hl_driver *d, const struct hl_account *account);
    enum hl_err (*revoke_account)(struct hl_driver *d, const struct hl_revoke_account *r,
        int64_t now_ms, int64_t *revoked_ms);
    /* On OK l->account is the account. */
    enum hl_err (*limit_account)(struct hl_driver *d, struct hl_limit_account *l);
    enum hl_err (*tally)(struct hl_driver *d, const struct hl_told_tally *t);
    enum hl_err (*touch_accounts)(struct hl_driver *d, const struct hl_touch_accounts *t);
    /* What is kept under a name. STALE: it is not `former` (empty: nothing) any more. */
    enum hl_err (*keep_text)(
        struct hl_driver *d, const char *name, struct hl_str former, struct hl_str value);
    /* Its row is written, or, if that is there, counts what it says. */
    enum hl_err (*audit)(struct hl_driver *d, const struct hl_audit *audit);

    enum hl_err (*add_job)(struct hl_driver *d, const struct hl_add_job *a);
    /* `*is_stopping`: what the reply says. */
    enum hl_err (*keep_job)(struct hl_driver *d, const struct hl_keep_job *k, bool *is_stopping);
    enum hl_err (*stop_job)(struct hl_driver *d, const struct hl_stop_job *s, bool *was_wished);

    /* With a data_dir. */
    enum hl_err (*keep_signing_key)(struct hl_driver *d, struct hl_str key);

    /* In a transaction of its own: removes at most `max` runs that are past retention. `*due_ms`:
     * wall time when there may be more to do (not after now_ms: there is more; INT64_MAX: never,
     * as things stand). */
    enum hl_err (*purge)(struct hl_driver *d, int64_t now_ms, unsigned max, int64_t *due_ms);
    /* In a transaction of its own: ends at most `max` queued runs whose time to start is over, and puts at
     * most as many that wait for their next attempt, which is due, into the queue. `*due_ms` as above, but both
     * times are the steady clock's. */
    enum hl_err (*expire)(struct hl_driver *d, int64_t now_ms, unsigned max, int64_t *due_ms);
    /* In a transaction of its own: at most `max` deliveries whose next attempt is due wait no more. Times as
     * above. */
    enum hl_err (*recall)(struct hl_driver *d, int64_t now_ms, unsigned max, int64_t *due_ms);
    /* In a transaction of its own. May be NULL. */
    enum hl_err (*note_time)(struct hl_driver *d, const struct hl_noted_time *now);
    /* In a transaction of its own: drops at most `max` of the oldest finished runs' bodies in files,
     * or a few times as many that are not, or of such runs, and no more than it takes to come within
     * the size limit. NOT_FOUND: there is nothing to give. */
    enum hl_err (*shed)(struct hl_driver *d, unsigned max);

    /* Is there room for accepts? TOO_LARGE: no, the store is at its size limit (shed helps); FULL:
     * no, the volume is; NOT_FOUND: no, the store's file was moved away. */
    enum hl_err (*room)(struct hl_driver *d);
    /* The volume is full: makes what room it can for ending what was accepted. False: none. */
    bool (*release_reserve)(struct hl_driver *d);
    /* Whether there is space for a request of that weight, or for some of that weight in all, and for
     * lighter ones after it. False: it is not worth trying, as if it had said FULL. May be NULL. */
    bool (*has_space)(struct hl_driver *d, size_t weight);
    /* Outside transactions, after replies were sent: unlinks what commits made unneeded, moves the
     * log into the database when that is due. `is_idle`: nobody waits. True: call again when idle.
     */
    bool (*settle)(struct hl_driver *d, bool is_idle);
    void (*survey)(struct hl_driver *d, struct hl_survey *out);

    /* GET_… and LIST_…: one of the two. `answer`: on the store's thread, outside transactions.
     * `post_question`: any thread; takes the message and answers it elsewhere. */
    enum hl_err (*answer)(struct hl_driver *d, struct hl_store_msg *m);
    void (*post_question)(struct hl_driver *d, struct hl_store_msg *m);

    /* After IO or CORRUPT, outside transactions: has the store anew, with what was committed and nothing
     * more, which is what the backlog says too. On an error, with a line in `why`, it may be tried again,
     * and nothing else until then. NULL: that cannot be. */
    enum hl_err (*reopen)(struct hl_driver *d, char *why, size_t why_len);
    void (*close)(struct hl_driver *d); /* frees it */
};

struct hl_driver {
    const struct hl_driver_vt *vt;
    struct hl_backlog *backlog;
    bool wants_purge;              /* a commit has made work for it; cleared by the step */
    bool is_broken;                /* see above; cleared by rollback and a failed commit */
    struct hl_noted_time noted;    /* what an earlier process noted last */
    size_t max_batch;              /* what the requests of one transaction may weigh; 0: any */
    const char *data_dir;          /* NULL: bodies are always INLINE */
    const struct hl_key *lane_key; /* hl_key_lane; any thread may read it */
    const _Atomic int64_t *live_streams; /* hl_store_note_stream; NULL: there are none */
    /* What open found; the opener's. */
    uint8_t signing_key[HL_SIGNING_KEY_MAX];
    size_t signing_key_n; /* 0: there is none */
};

/* What kept streams of synchronous calls have that go on. */
static inline uint64_t hl_driver_live_streams(const struct hl_driver *d)
{
    int64_t n = d->live_streams ? atomic_load_explicit(d->live_streams, memory_order_relaxed) : 0;
    return n > 0 ? (uint64_t)n : 0;
}

/* What an operation may say without anything being wrong. */
static inline bool hl_driver_is_answer(enum hl_err rc)
{
    return rc == HL_OK || rc == HL_ERR_EXISTS || rc == HL_ERR_CONFLICT || rc == HL_ERR_STALE ||
           rc == HL_ERR_NOT_FOUND || rc == HL_ERR_BUSY;
}

/* On disk, or with HOOKLINE_STORE=memory in memory. */
HL_MUST_CHECK enum hl_err hl_sqlite_open(struct hl_driver **out, const struct hl_config *config,
    struct hl_backlog *backlog, char *why, size_t why_len);

/* hl_store_check, of one on disk. */
HL_MUST_CHECK enum hl_err hl_sqlite_check(const struct hl_config *config, struct hl_buf *problems);

#endif
