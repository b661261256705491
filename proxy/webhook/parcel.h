/* parcel.h - a leased delivery while the sender has it: its state, its body, the attempt under
 * way and the two messages that travel between it and the store. */
#ifndef HL_WEBHOOK_PARCEL_H
#define HL_WEBHOOK_PARCEL_H

#include "base/list.h"
#include "store/lease.h"
#include "webhook/attempt_span.h"
#include "webhook/envelope.h"
#include "webhook/request.h"
#include "webhook/signature.h"

struct curl_slist;
struct hl_direct;

/* The state says which of the sender's lists the parcel is in. X(name, text, holds a place: one of
 * HOOKLINE_WEBHOOK_CONCURRENCY, or of as many for retries) */
#define HL_PARCEL_STATE_MAP(X)                                                                     \
    X(SIGNING, "signing", true)        /* a large body is hashed; ends when all of it is */        \
    X(RESOLVING, "resolving", true)    /* its name is looked up; ends with the addresses */        \
    X(UNRESOLVED, "unresolved", false) /* others of its suffix are looked up; ends with one */     \
    X(SENDING, "sending", true)        /* libcurl has it; ends with its last word */               \
    X(WAITING, "waiting", false)       /* for the next attempt's time */                           \
    X(DUE, "due", false)               /* that time has come; ends when a place is free */         \
    X(QUEUED, "queued", false)         /* its destination has as many attempts as it may */        \
    X(ASKING, "asking", true)          /* ATTEMPT is with the store; ends with its reply */        \
    X(RECORDING, "recording", false)   /* OUTCOME is with the store; ends with its reply */        \
    X(UNRECORDED, "unrecorded", false) /* the store could not keep it; posted again later */

enum hl_parcel_state {
#define X(name, text, is_placed) HL_PARCEL_##name,
    HL_PARCEL_STATE_MAP(X)
#undef X
        HL_PARCEL_STATE_COUNT
};

/* Bodies of envelopes up to this size are made once and kept; libcurl sends them with the head in
 * one call. */
#define HL_PARCEL_WHOLE_MAX (48 * 1024)

/* What all attempts share; borrowed. */
struct hl_parcel_settings {
    const char *data_dir;
    struct hl_payload payload;
    const struct hl_signature *key, *previous_key; /* of the operator's secrets; NULL: none */
    struct hl_webhook_names names;
    struct hl_attempt_tracing tracing;
};

struct hl_parcel {
    struct hl_list node;
    enum hl_parcel_state state;
    struct hl_leased *leased; /* owned; NULL between two attempts and once its outcome is final */
    struct hl_transfer *transfer; /* SIGNING, RESOLVING, SENDING */

    struct hl_envelope envelope;
    bool has_envelope;
    char *whole; /* the whole envelope when it is small, else NULL; owned */

    uint32_t n;          /* the attempt under way, or the last one */
    int64_t started_ms;  /* of it, wall; 0: nothing of it was sent */
    uint64_t started_us; /* monotonic */
    int64_t timestamp;   /* signed: Unix seconds */
    struct hl_signature signature, previous;
    bool has_signature, has_previous;   /* which of the two are live */
    struct hl_webhook_request *request; /* of the attempt under way; owned */
    struct hl_span *span;               /* of it; NULL: it is not sampled; owned */
    char traceparent[HL_TRACEPARENT];   /* with a span: names it */

    uint64_t lane;       /* its destination */
    struct hl_list line; /* QUEUED, UNRESOLVED: of its lane, or of its suffix */
    bool is_retry;       /* it holds, or wants, one of the places for retries */
    bool has_turn;       /* its destination's line has let it in */
    uint64_t suffix;     /* hash of its host's registered suffix, once that was asked for */
    bool may_look_up;    /* that suffix's limit has let it in */
    bool is_unsent;      /* attempt `n` is on disk, and nothing of it was sent: it begins again */

    /* it is no delivery of the store's, and whoever asked is told; else NULL */
    struct hl_direct *direct;

    struct hl_attempt ask;
    struct hl_attempt_outcome outcome;
    unsigned away; /* how many of the two are with the store: while any is, this memory must stay */
};

/* Takes `leased`, unless it returns NULL: out of memory. */
struct hl_parcel *hl_parcel_new(struct hl_leased *leased);
/* NULL-safe. The transfer was taken off before, no message is away. */
void hl_parcel_free(struct hl_parcel *p);
/* Frees all that an attempt needs; the next one brings its own (hl_parcel_renew). */
void hl_parcel_strip(struct hl_parcel *p);

/* Takes the delivery for a further attempt. */
void hl_parcel_renew(struct hl_parcel *p, struct hl_leased *leased);

/* Begins attempt `n`: opens the body, fixes the timestamp. It is signed with the caller's secret, else with
 * the operator's, and then with the former one too. Afterwards hl_parcel_sign. An error:
 * the body cannot be read (NOT_FOUND, IO, CORRUPT, INVALID), or NOMEM. */
HL_MUST_CHECK enum hl_err hl_parcel_begin(
    struct hl_parcel *p, uint32_t n, const struct hl_parcel_settings *settings);

/* Hashes one slice of the body if there is a secret. `*is_done`: the head fields are ready, `more`
 * (borrowed for the attempt; NULL: none) behind them. An error as above. */
HL_MUST_CHECK enum hl_err hl_parcel_sign(struct hl_parcel *p, const struct hl_webhook_names *names,
    struct curl_slist *more, bool *is_done);

/* Gives the attempt to its transfer. */
HL_MUST_CHECK enum hl_err hl_parcel_prepare(struct hl_parcel *p);

const char *hl_parcel_state_text(enum hl_parcel_state state);
bool hl_parcel_is_placed(const struct hl_parcel *p);

#endif
