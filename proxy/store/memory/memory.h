/* memory.h - the driver that keeps nothing on disk: what its files share. The store's thread owns
 * it all. */
#ifndef HL_STORE_MEMORY_MEMORY_H
#define HL_STORE_MEMORY_MEMORY_H

#include "store/driver.h"
#include "store/id_map.h"
#include "store/key.h"

enum hl_memory_delivery_state {
    HL_MEMORY_NONE,    /* the run is not final, or has no webhook */
    HL_MEMORY_PENDING, /* in its lane's list */
    HL_MEMORY_LEASED,
    HL_MEMORY_OK,
    HL_MEMORY_DEAD,
};

struct hl_memory_run {
    struct hl_list queued; /* linked iff queued, in the order of acceptance */
    struct hl_list final;  /* linked iff final, in the order of finishing */
    struct hl_list kept;   /* linked iff there is a result's body */
    struct hl_list due;    /* linked iff the delivery is pending */
    struct hl_list unsent; /* linked iff the delivery is pending or leased */
    struct hl_list known;  /* always, in the order of ids */
    struct hl_list begun;  /* linked iff there is a delivery, in the order of its ids */
    struct hl_id id;
    int64_t created_ms, started_ms, request_size;
    bool is_async;
    uint64_t ticket; /* its place in the order of acceptance */
    uint32_t epoch, attempt;
    struct hl_str project, app, method, path, head, url, secret, traceparent; /* behind it */
    struct hl_body body;
    struct hl_outcome outcome; /* its state is the run's at any time */

    struct hl_id delivery_id;
    uint64_t lane;
    enum hl_memory_delivery_state delivery;
    uint32_t round, n, max_attempts;
    bool is_open;                    /* attempt n has no outcome yet */
    struct hl_attempt_row *attempts; /* oldest first, the newest HL_ATTEMPTS_SHOWN */
    size_t n_attempts;
    uint64_t attempts_dropped; /* older ones, to make room */
    bool is_cancel_wished;     /* the worker has been told */
    int64_t done_ms;
};

struct hl_memory_lane {
    struct hl_list due;
};

struct hl_memory_key {
    struct hl_list node; /* in the order of expiry */
    struct hl_id digest; /* of app, subject and key */
    struct hl_id run_id;
    uint8_t fingerprint[32];
    int64_t expires_ms;
};

struct hl_memory_account {
    struct hl_list node; /* in the order of ids */
    struct hl_account account;
};

struct hl_memory {
    struct hl_driver base;
    struct hl_id_map runs;       /* struct hl_memory_run by run id */
    struct hl_id_map deliveries; /* struct hl_memory_run by delivery id */
    struct hl_id_map lanes;      /* struct hl_memory_lane */
    struct hl_id_map keys;       /* struct hl_memory_key */
    struct hl_list queued, final, unsent, known, begun, expiring, accounts;
    struct hl_id_source ids;
    struct hl_key key; /* of lanes */
    uint64_t bytes, max_bytes, last_ticket;
    uint64_t purged_runs, shed_runs, shed_bodies; /* since the start */
    struct hl_list kept;       /* oldest first, but for those that shedding passed over */
    uint64_t n_kept, n_passed; /* how many; how many of the last were passed over in a row */
    int64_t retention_ms, key_ms;
    uint32_t webhook_attempts;
};

static inline struct hl_memory *hl_memory_of(struct hl_driver *d)
{
    return HL_CONTAINER_OF(d, struct hl_memory, base);
}

/* --- run.c ---------------------------------------------------------------------------------- */
void hl_memory_run_free(struct hl_memory *m, struct hl_memory_run *run);
/* Of a run whose result has a body. */
void hl_memory_drop_result(struct hl_memory *m, struct hl_memory_run *run);
void hl_memory_key_free(struct hl_memory *m, struct hl_memory_key *key);
enum hl_err hl_memory_accept(struct hl_driver *d, struct hl_accept *a, struct hl_id *existing);
enum hl_err hl_memory_record(struct hl_driver *d, struct hl_accept *a);
enum hl_err hl_memory_claim(struct hl_driver *d, int64_t now_ms, struct hl_claimed **out);
enum hl_err hl_memory_finish(struct hl_driver *d, struct hl_finish *f);
enum hl_err hl_memory_release(struct hl_driver *d, struct hl_release *r, int64_t now_ms);
enum hl_err hl_memory_cancel(
    struct hl_driver *d, const struct hl_run_ref *ref, int64_t now_ms, bool *is_running);
/* The run, if it is that project's and app's (empty: any). */
struct hl_memory_run *hl_memory_find(
    const struct hl_memory *m, const struct hl_id *id, const char *project, const char *app);

/* --- delivery.c ----------------------------------------------------------------------------- */
/* The run is final now: its delivery begins. Nothing changed unless OK. */
HL_MUST_CHECK enum hl_err hl_memory_deliver(
    struct hl_memory *m, struct hl_memory_run *run, int64_t now_ms);
enum hl_err hl_memory_lease(
    struct hl_driver *d, uint64_t lane, int64_t now_ms, struct hl_leased **out);
enum hl_err hl_memory_attempt(struct hl_driver *d, struct hl_attempt *a, int64_t now_ms);
enum hl_err hl_memory_outcome(
    struct hl_driver *d, const struct hl_attempt_outcome *o, int64_t now_ms, bool *is_parked);
enum hl_err hl_memory_redeliver(
    struct hl_driver *d, struct hl_redeliver *r, unsigned max, bool *is_done);
/* The delivery of a run that has one. */
enum hl_delivery_state hl_memory_delivery_state(const struct hl_memory_run *run);
/* A copy of an INLINE body. */
HL_MUST_CHECK enum hl_err hl_memory_copy_body(struct hl_body *to, const struct hl_body *from);

/* --- answer.c ------------------------------------------------------------------------------- */
enum hl_err hl_memory_answer(struct hl_driver *d, struct hl_store_msg *m);

/* --- account.c ------------------------------------------------------------------------------ */
enum hl_err hl_memory_add_account(struct hl_driver *d, const struct hl_account *account);
enum hl_err hl_memory_revoke_account(
    struct hl_driver *d, const struct hl_revoke_account *r, int64_t now_ms, int64_t *revoked_ms);
enum hl_err hl_memory_touch_accounts(struct hl_driver *d, const struct hl_touch_accounts *t);
HL_MUST_CHECK enum hl_err hl_memory_list_accounts(
    const struct hl_memory *m, struct hl_list_accounts *l);
/* When the next one goes. */
int64_t hl_memory_purge_accounts(struct hl_memory *m, int64_t now_ms, unsigned max);
void hl_memory_free_accounts(struct hl_memory *m);

#endif
