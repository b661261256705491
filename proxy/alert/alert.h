/* alert.h - one alert: what it is about, whether its condition holds, and what of that has been told.
 *
 *   QUIET ─▶ RISING ─▶ TELLING | SENDING ─▶ FIRING ─▶ FALLING ─▶ ENDING ─▶ QUIET
 *
 * A condition that ends before anybody tried to tell it is not told. The control thread's. */
#ifndef HL_ALERT_ALERT_H
#define HL_ALERT_ALERT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/id.h"
#include "base/list.h"
#include "store/destination.h"

/* X(name, text: after "hookline.alert.", it is about this replica and no other) */
#define HL_ALERT_KIND_MAP(X)                                                                       \
    X(DESTINATION_FAILING, "destination_failing", false)                                           \
    X(DEAD_LETTERS, "dead_letters", false)                                                         \
    X(QUEUE_AGE, "queue_age", false)                                                               \
    X(STORE_FULL, "store_full", false)                                                             \
    X(STORE_FAILING, "store_failing", true)                                                        \
    X(APP_NOT_READY, "app_not_ready", true)                                                        \
    X(CERTIFICATE_EXPIRING, "certificate_expiring", false)

enum hl_alert_kind {
#define X(name, text, is_own) HL_ALERT_##name,
    HL_ALERT_KIND_MAP(X)
#undef X
        HL_ALERT_KINDS
};

const char *hl_alert_kind_text(enum hl_alert_kind kind);
HL_MUST_CHECK bool hl_alert_kind_parse(const char *text, enum hl_alert_kind *out);
/* About the replica that tells it: its subject is that one's name, where the store is shared. */
bool hl_alert_is_own(enum hl_alert_kind kind);
/* About a destination: there may be any number of them. */
static inline bool hl_alert_is_of_many(enum hl_alert_kind kind)
{
    return kind == HL_ALERT_DESTINATION_FAILING || kind == HL_ALERT_DEAD_LETTERS;
}

#define HL_ALERT_STATE_MAP(X)                                                                      \
    X(QUIET, "quiet")     /* nothing is to be told */                                              \
    X(RISING, "rising")   /* its begin is to be told; ends when that is its turn */                \
    X(TELLING, "telling") /* that is with the store; ends with its reply */                        \
    X(SENDING, "sending") /* that is with the sender, without the store; ends likewise */          \
    X(FIRING, "firing")   /* its begin was told, here or by others */                              \
    X(FALLING, "falling") /* its end is to be told */                                              \
    X(ENDING, "ending")   /* that is with the store; ends with its reply */

enum hl_alert_state {
#define X(name, text) HL_ALERT_##name,
    HL_ALERT_STATE_MAP(X)
#undef X
        HL_ALERT_STATES
};

/* A condition has ended when it has not held for so long: what goes to and fro is told once. */
#define HL_ALERT_CALM_MS 3000
/* Dead letters of a destination are told together so often. */
#define HL_ALERT_WINDOW_MS 300000

/* What there is to say of it. */
struct hl_alert_facts {
    int64_t value, limit;
    char text[200]; /* an error, a reason; never a URL or secret */
};

struct hl_alert {
    struct hl_list node;
    enum hl_alert_kind kind;
    enum hl_alert_state state;
    bool holds;
    bool was_tried;       /* to tell its begin: it is told now, whatever becomes of it */
    bool has_answered;    /* a destination: that may end what others told of it */
    bool is_unnoted;      /* its begin was told without the store, which has no note of it */
    uint64_t calm_ms;     /* monotonic: since when it has not held; 0: it does */
    uint64_t quiet_until; /* monotonic: nothing is told of it before */
    int64_t since_ms;     /* wall time of its begin */
    int64_t until_ms;     /* of its end; 0: it goes on */
    struct hl_id id;      /* of its begin's event */
    struct hl_id event;   /* of the one that is being told: however often it is tried */
    struct hl_alert_facts facts;
    int64_t said;                     /* dead letters: how many are being told */
    char subject[HL_DESTINATION_MAX]; /* a destination, a replica; or empty */
};

/* NULL: out of memory. */
struct hl_alert *hl_alert_new(enum hl_alert_kind kind, const char *subject);

/* Whether its condition holds now. `facts`: of one that does. */
void hl_alert_hear(
    struct hl_alert *a, bool holds, const struct hl_alert_facts *facts, uint64_t now_ms);
/* It has ended for certain: an event says so. */
void hl_alert_end(struct hl_alert *a);
/* So many more dead letters. */
void hl_alert_count(struct hl_alert *a, int64_t n, const char *error);
/* Time has passed: what is calm ends, what may be told again is told. */
void hl_alert_tick(struct hl_alert *a, uint64_t now_ms);

/* Others have told it, or an earlier process. */
void hl_alert_adopt(struct hl_alert *a, const struct hl_id *id, int64_t since_ms);

/* It is told: to the store, or without it (RISING); the answer. */
void hl_alert_tell(struct hl_alert *a, bool is_direct, struct hl_id_source *ids);
void hl_alert_on_told(struct hl_alert *a, bool is_told, uint64_t now_ms);
/* There is nothing to tell after all: others did. */
void hl_alert_drop(struct hl_alert *a);

/* Nothing is known of it that is worth its memory. */
bool hl_alert_is_over(const struct hl_alert *a, uint64_t now_ms);

#endif
