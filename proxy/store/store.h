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
 * Not here: the messages (op.h, accept.h, claim.h, lease.h, notice.h), questions and lists (question.h), service
 * accounts (account.h), figures (gauges.h), how a driver keeps them (sqlite/, postgres/), what bodies in
 * files are (body_file.h). */
#ifndef HL_STORE_STORE_H
#define HL_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err.h"
#include "base/str.h"
#include "store/record.h"

struct hl_buf;
struct hl_config;
struct hl_store;
struct hl_store_gauges; /* gauges.h */
struct hl_store_msg;    /* op.h */

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

const struct hl_store_gauges *hl_store_get_gauges(const struct hl_store *store);
/* hookline's own private key for tokens, as auth made it: sealed with the store's key, in the
 * database. Once it is OPEN; blocks. NOT_FOUND: there is none, and always so with
 * a store in memory, where put keeps nothing. EXISTS: another replica has put one meanwhile, which get
 * gives from now on. */
HL_MUST_CHECK enum hl_err hl_store_get_signing_key(
    struct hl_store *store, uint8_t out[HL_SIGNING_KEY_MAX], size_t *n);
HL_MUST_CHECK enum hl_err hl_store_put_signing_key(
    struct hl_store *store, const uint8_t *key, size_t n);

/* From now on no more runs of an account are handed out than its max_running leaves room for. They are
 * borrowed until the store is closed. */
struct hl_quotas; /* quota.h */
void hl_store_heed_quotas(struct hl_store *store, struct hl_quotas *quotas);
/* Of whom rates are borrowed (lender.h), until the store is closed; quotas that do so stay until then. NULL: it is not
 * shared, and each counts for itself. */
struct hl_lender;
struct hl_lender *hl_store_get_lender(struct hl_store *store);
/* Whether a destination has as many deliveries as one may have: half of HOOKLINE_MAX_PENDING_DELIVERIES, counted
 * from acceptance on. Any thread; where the store is shared it is what was so a moment ago. */
bool hl_store_is_destination_full(const struct hl_store *store, struct hl_str webhook_url);
/* How many queued runs may start, as far as is known. Any thread. */
uint64_t hl_store_ready_runs(const struct hl_store *store);

/* The absolute data directory, or NULL in memory: bodies are INLINE then, whatever their size. */
const char *hl_store_data_dir(const struct hl_store *store);
/* What the app of this process is like, for the gauges app_taken_ms and others_… of all replicas. Any thread. */
enum hl_app_presence {
    HL_APP_AWAY,   /* it takes no calls, or sleeps */
    HL_APP_UP,     /* it takes calls */
    HL_APP_WAKING, /* it slept, and is about to take calls */
};
void hl_store_note_app(struct hl_store *store, enum hl_app_presence presence, bool is_asleep);
/* Those that go on have so many more bytes; and how many they have. Any thread. */
void hl_store_note_stream(struct hl_store *store, int64_t bytes);
uint64_t hl_store_live_streams(const struct hl_store *store);
/* Other processes change it too. */
bool hl_store_is_shared(const struct hl_store *store);
/* How many bytes a store in memory keeps at most. */
uint64_t hl_store_memory_max(const struct hl_config *config);

/* Commits what was posted, answers everything, releases claims' leases, closes files, joins the
 * thread. Receivers' mailboxes must still be valid; workers and sender must have stopped posting.
 * Runs still claimed stay `running` on disk and end as interrupted at the next start. */
void hl_store_close(struct hl_store *store);

#endif
