/* relay.h - the events of a run that another replica has, as that one writes them: one request to its run
 * listener (contract 14). Thread: its follower's loop. */
#ifndef HL_BODY_RELAY_H
#define HL_BODY_RELAY_H

#include <uv.h>

#include "base/id.h"
#include "base/str.h"
#include "store/record.h"

struct hl_relay;

/* For whom it asks. Each may drop it. */
struct hl_relay_events {
    /* The other's answer has begun; `state` is its X-Run-State. */
    void (*answer)(void *owner, uint16_t status, enum hl_run_state state);
    /* Of its body, decoded. */
    void (*bytes)(void *owner, struct hl_str bytes);
    /* It is over, and gone. Not `is_whole`: it failed, before its answer or after. */
    void (*end)(void *owner, bool is_whole);
};

/* What it works with: copied. */
struct hl_relay_parts {
    uv_loop_t *loop;
    struct hl_reader *reader;
    struct hl_wheel *wheel;
    struct hl_relay_names *names;
    struct hl_tls_seat *tls; /* NULL: replicas speak none */
    const struct hl_store *store;
    uint64_t silence_ms; /* no byte for so long: it has failed; 0: no bound */
    const struct hl_relay_events *events;
    void *owner;
};

struct hl_relay_request {
    struct hl_str home; /* HOOKLINE_REPLICA_URL of the one that has the run */
    struct hl_str project, app;
    struct hl_id run_id;
    struct hl_str last_event_id; /* empty: from the first one on */
    bool wants_progress;
    const char *
        as; /* what it is to the caller (hl_follow.is_call): "answer" with ids, "plain"; NULL: he is none */
};

/* NULL: it cannot be asked. Else `end` follows, after the return, unless it is dropped. */
struct hl_relay *hl_relay_begin(
    const struct hl_relay_parts *parts, const struct hl_relay_request *request);
/* No more bytes until then. */
void hl_relay_pause(struct hl_relay *relay);
void hl_relay_resume(struct hl_relay *relay);
void hl_relay_drop(struct hl_relay *relay); /* NULL-safe */

#endif
