/* record.h - what the store keeps: runs, bodies, deliveries, as values. */
#ifndef HL_STORE_RECORD_H
#define HL_STORE_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err.h"
#include "base/id.h"
#include "base/limits.h"
#include "base/run_terms.h"
#include "base/tag.h"
#include "config/endpoint.h"
#include "http/error_line.h"
#include "store/column.h"
#include "store/digest.h"

/* Contract 4. The text names are what the REST interface and the webhook say. */
#define HL_RUN_STATE_MAP(X)                                                                        \
    X(QUEUED, "queued")       /* on disk; the app has not been called */                           \
    X(RUNNING, "running")     /* claimed by a worker: that commit came before the app's call */    \
    X(SUCCESS, "success")     /* final */                                                          \
    X(FAILURE, "failure")     /* final; the reason says why */                                     \
    X(CANCELLED, "cancelled") /* final */

enum hl_run_state {
#define X(name, text) HL_RUN_##name,
    HL_RUN_STATE_MAP(X)
#undef X
};

#define HL_RUN_REASON_MAP(X)                                                                       \
    X(NONE, "")                                                                                    \
    X(APP_ERROR, "app_error")                                                                      \
    X(TIMEOUT, "timeout")                                                                          \
    X(UPSTREAM_UNREACHABLE, "upstream_unreachable")                                                \
    X(UPSTREAM_RESET, "upstream_reset")                                                            \
    X(BAD_RESPONSE, "bad_response")                                                                \
    X(INTERRUPTED, "interrupted")                                                                  \
    X(EXPIRED, "expired")                     /* its start time was over */                        \
    X(RESPONSE_NOT_KEPT, "response_not_kept") /* it could not be stored */

enum hl_run_reason {
#define X(name, text) HL_REASON_##name,
    HL_RUN_REASON_MAP(X)
#undef X
};
#define HL_REASON_LAST HL_REASON_RESPONSE_NOT_KEPT

const char *hl_run_state_text(enum hl_run_state state);
const char *hl_run_reason_text(enum hl_run_reason reason);
HL_MUST_CHECK bool hl_run_reason_parse(struct hl_str text, enum hl_run_reason *out); /* not NONE */
static inline bool hl_run_state_is_final(enum hl_run_state s)
{
    return s >= HL_RUN_SUCCESS;
}

/* Projects and apps: contract 2. */
#define HL_STORE_NAME_MAX  128
#define HL_SIGNING_KEY_MAX 512 /* of hookline's own private key for tokens */

/* What a question says of a project or an app: empty means any. */
static inline bool hl_store_name_fits(struct hl_str name, const char *wanted)
{
    return !wanted[0] || hl_str_eq(name, hl_str_from(wanted));
}

/* Contract 8 and 9. */
#define HL_ROLE_MAP(X)                                                                             \
    X(INVOKE, "invoke") /* call the app, read its runs */                                          \
    X(ADMIN, "admin")   /* also accounts, cancel, redeliver */                                     \
    X(VIEWER, "viewer") /* see what an admin sees, but secrets, and change nothing */

enum hl_role {
#define X(name, text) HL_ROLE_##name,
    HL_ROLE_MAP(X)
#undef X
};
const char *hl_role_text(enum hl_role role);
HL_MUST_CHECK bool hl_role_parse(struct hl_str text, enum hl_role *out);

#define HL_DELIVERY_STATE_MAP(X)                                                                   \
    X(PENDING, "pending") /* attempts go on, or begin when the destination has a place */          \
    X(OK, "delivered")    /* final, until redelivered */                                           \
    X(DEAD, "dead")       /* likewise: a dead letter */

enum hl_delivery_state {
#define X(name, text) HL_DELIVERY_##name,
    HL_DELIVERY_STATE_MAP(X)
#undef X
};
const char *hl_delivery_state_text(enum hl_delivery_state state);

/* What became of an attempt. The first four are the sender's to say. */
#define HL_ATTEMPT_VERDICT_MAP(X)                                                                  \
    X(OK, "delivered")                                                                             \
    X(RETRY, "retry")         /* failed; another one may follow */                                 \
    X(DEAD, "failed")         /* failed for good */                                                \
    X(ABANDONED, "abandoned") /* the sender stopped in the middle of it */                         \
    X(UNKNOWN, "unknown")     /* the process died: nobody saw the outcome */                       \
    X(RUNNING, "sending")     /* no outcome yet */

enum hl_attempt_verdict {
#define X(name, text) HL_ATTEMPT_##name,
    HL_ATTEMPT_VERDICT_MAP(X)
#undef X
};
const char *hl_attempt_verdict_text(enum hl_attempt_verdict verdict);

#define HL_ATTEMPT_ERROR_MAX 160
#define HL_RECEIVER_LABEL    8 /* hex digits */

enum hl_body_where {
    HL_BODY_NONE,   /* there is none */
    HL_BODY_INLINE, /* `bytes` */
    HL_BODY_FILE,   /* bodies/<last 2 hex of file>/<file>: body_file.h */
    /* Longer than HOOKLINE_MAX_KEPT_RESPONSE, or removed since because of HOOKLINE_STORE_MAX_BYTES:
     * `size` counts what there was. */
    HL_BODY_DROPPED,
    HL_BODY_UNKEPT, /* the disk could not take it, or not fast enough: likewise */
};

/* A request's or response's body at rest. */
struct hl_body {
    enum hl_body_where where;
    uint64_t size;
    char *bytes; /* INLINE: owned, malloc */
    struct hl_id file;
    uint8_t digest[HL_DIGEST_SIZE]; /* of the bytes; INLINE and FILE */
};

/* Are the bytes in memory those that were stored? What a disk gave back is asked this where it is used, not in the
 * store's thread: that would delay commits. */
bool hl_body_is_intact(const struct hl_body *body);
/* Gives a body that is INLINE its own copy of the bytes, and their size. HL_ERR_NOMEM. */
HL_MUST_CHECK enum hl_err hl_body_copy(struct hl_body *body, struct hl_str bytes);
void hl_body_fini(struct hl_body *body); /* frees `bytes`; leaves files alone */

/* How a response stands in the envelope (contract 5). */
enum hl_encoding { HL_ENCODING_JSON, HL_ENCODING_TEXT, HL_ENCODING_BASE64, HL_ENCODING_NONE };
const char *hl_encoding_text(enum hl_encoding encoding);

#define HL_CONTENT_FIELD_MAX                                                                       \
    255 /* longer Content-Type or Content-Encoding values are cut to nothing */

/* How the time of a call was spent, microseconds. 0: that there was none of it, or it is not known; what took no time, as
 * a kept connection, is 1. */
struct hl_call_parts {
    int64_t gate_us;       /* at the app's gate, which is part of the wait before it */
    int64_t connect_us;    /* until there was a connection */
    int64_t first_byte_us; /* from there until the head of the app's answer */
};

/* How a run ended. */
struct hl_outcome {
    enum hl_run_state state;
    enum hl_run_reason reason;
    uint16_t http_status; /* the app's; 0: it never answered */
    int64_t finished_ms;
    /* the kept response; body.where == NONE when the app never answered or the response has no body
     * (HEAD, 204) */
    char content_type[HL_CONTENT_FIELD_MAX + 1];     /* empty: none */
    char content_encoding[HL_CONTENT_FIELD_MAX + 1]; /* empty: none */
    enum hl_encoding encoding;
    uint64_t escaped_size;             /* TEXT: bytes inside the JSON string */
    char error[HL_ERROR_LINE_MAX + 1]; /* FAILURE: what the app said went wrong; empty: nothing */
    struct hl_call_parts parts;        /* of the last attempt */
    struct hl_body body;
};

/* All but its state, whose place differs, and its body. */
extern const struct hl_columns hl_outcome_columns;

/* The end of a run whose cancel was accepted before it could be recorded: whoever was told so can rely on it. Of the
 * error only the first byte changes. */
void hl_outcome_cancel(struct hl_outcome *outcome);

/* --- rows: what lists and questions answer ---------------------------------------------------- */

/* What is kept of a run's terms, with its tags, by both databases in `run`: its worker and its row have it. A member that is added
 * here, and to both schemas, is stored, read, handed out and moved. */
#define HL_TERMS_COLUMNS(record)                                                                   \
    HL_COLUMN(record, terms.priority, INT), HL_COLUMN_OR_NULL(record, tags, TEXT)

/* What a run's row keeps as it was accepted, likewise. */
#define HL_RUN_COLUMNS(record)                                                                     \
    HL_COLUMN(record, created_ms, INT), HL_COLUMN(record, method, RAW),                            \
        HL_COLUMN(record, path, RAW), HL_COLUMN(record, identity, RAW),                            \
        HL_COLUMN_OR_NULL(record, rerun_of, ID), HL_TERMS_COLUMNS(record)

/* Times that have not come are 0. */
struct hl_run_row {
    struct hl_id run_id;
    enum hl_run_state state;
    enum hl_run_reason reason;
    bool is_async, has_webhook;
    struct hl_run_terms terms; /* as accepted: what others may read */
    uint32_t attempt;          /* from 1; 0: never claimed */
    int64_t created_ms, started_ms, finished_ms;
    uint16_t http_status;          /* the app's; 0: none */
    int64_t request_size;          /* -1: not known (not asynchronous) */
    int64_t response_size;         /* -1: not final */
    enum hl_body_where body_where; /* the kept response's */
    enum hl_encoding encoding;     /* final runs */
    uint32_t deliveries_pending, deliveries_ok, deliveries_dead;
    /* in `strings`, as is `replica`: the name of the one that has the run, or had it when it ended;
     * empty: none, or not known; and `identity`: who made it; empty: nobody was asked, or not known */
    struct hl_str project, app, method, path, content_type, content_encoding;
    struct hl_str replica, identity;
    struct hl_str error;        /* of a failure, as hl_outcome has it; empty: none */
    struct hl_str tags;         /* as accepted (base/tag.h); empty: none; in `strings`, too */
    struct hl_call_parts parts; /* of the last attempt, when it has ended */
    struct hl_str attempt_log;  /* attempt.h; in `strings`, too */
    struct hl_id rerun_of;      /* nil: none */
    int64_t next_attempt_ms;    /* by the steady clock; 0: it waits for none */
    char *strings;              /* owned, malloc */
};
/* What the end of the run says in its row. */
void hl_run_row_end(struct hl_run_row *row, const struct hl_outcome *outcome);
void hl_run_row_fini(struct hl_run_row *row); /* leaves it empty: twice is harmless */

/* What is known of an attempt beside its outcome. */
#define HL_REPORT_ADDRESS_MAX 300 /* an address and a port; through a proxy what was asked of it */
#define HL_REPORT_TYPE_MAX    127 /* longer Content-Type values are cut to nothing */
#define HL_REPORT_BODY_MAX    1024

struct hl_attempt_report {
    /* How long each part took, microseconds; -1: there was none (a kept connection, plain http). first_byte:
     * from the connection being there to the answer's first byte. */
    int32_t name_us, connect_us, tls_us, first_byte_us;
    uint64_t sent_size;     /* of the request's body; 0: nothing was sent, or it is not known */
    uint32_t retry_after_s; /* what the answer asked for; 0: nothing */
    char address[HL_REPORT_ADDRESS_MAX + 1];   /* empty: none was connected to */
    char content_type[HL_REPORT_TYPE_MAX + 1]; /* of the answer; empty: none */
    uint32_t body_n;                           /* the first of the answer's body */
    char body[HL_REPORT_BODY_MAX];
};

struct hl_attempt_row {
    uint32_t round, n;            /* from 1 */
    int64_t started_ms, ended_ms; /* ended_ms 0: RUNNING */
    enum hl_attempt_verdict verdict;
    uint16_t http_status; /* 0: no response */
    char error[HL_ATTEMPT_ERROR_MAX + 1];
    /* owned by the delivery's row; NULL: none, or not asked for */
    struct hl_attempt_report *report;
};

struct hl_delivery_row {
    struct hl_id delivery_id, run_id;
    enum hl_delivery_state state;
    enum hl_run_state run_state; /* final: the event's type */
    uint32_t round, n;           /* n: attempts of this round so far */
    uint32_t max_attempts;       /* 0: said when the round begins */
    int64_t created_ms, done_ms;
    /* PENDING: time of the steady clock before which the next attempt is not sent; 0: at once, or it is being
     * sent */
    int64_t next_ms;
    struct hl_str project, app;
    struct hl_str destination; /* scheme://host, and :port unless it is the scheme's; no more */
    /* What tells receivers of one host apart (destination.h); empty where the URL cannot be opened. */
    struct hl_str path;
    char receiver[HL_RECEIVER_LABEL + 1];
    int64_t failing_since_ms; /* of its destination; 0: it does not fail */
    bool is_resent;           /* an admin sent it there: it is not where its run's webhook goes */
    struct hl_attempt_row *attempts; /* owned; oldest first, the newest HL_ATTEMPTS_SHOWN */
    size_t n_attempts;
    uint64_t attempt_count; /* of all rounds, shown or not */
    char *strings;          /* owned, malloc */
};
void hl_delivery_row_fini(struct hl_delivery_row *row);

#define HL_ATTEMPTS_SHOWN 100

/* One of the processes that share a store. */
struct hl_replica_row {
    struct hl_id id;
    char name[HL_REPLICA_MAX + 1]; /* HOOKLINE_REPLICA; two may have the same */
    char role[16];                 /* HOOKLINE_ROLE */
    char version[32];
    char state[16]; /* alive; silent: its time is past, and nobody has taken over yet; dead */
    int64_t started_ms;
    int64_t age_ms, beat_age_ms; /* by the store's clock: since its start, since its last beat */
    uint64_t runs, deliveries;   /* that it has */
};

/* A service account: its token is a JWT whose `jti` is the id; the token itself is not stored. */
#define HL_ACCOUNT_NAME_MAX 255

struct hl_account {
    struct hl_id id;
    char project[HL_STORE_NAME_MAX + 1];
    char name[HL_ACCOUNT_NAME_MAX + 1]; /* free text, UTF-8 */
    enum hl_role role;
    int64_t created_ms, expires_ms;
    int64_t revoked_ms, last_used_ms; /* 0: not */
    struct hl_limits limits;
};
/* Between its id and its limits. */
extern const struct hl_columns hl_account_columns;

#endif
