/* follower.h - somebody who reads a run's events, from a place on and as they come (contract 14): from its journal
 * while the run is inside this process, through the replica that has it, or from the store.
 *
 * A follower reads at its own pace: it holds no bytes between two reads, and slows nobody. All of a thread sit
 * at one desk, which hears of new bytes once for all who follow a run there. Thread: the desk's loop. */
#ifndef HL_BODY_FOLLOWER_H
#define HL_BODY_FOLLOWER_H

#include <uv.h>

#include "body/journals.h"
#include "body/relay_name.h"
#include "http/event_id.h"
#include "loop/slot.h"
#include "loop/wheel.h"
#include "store/question.h"

#define HL_FOLLOW_PIECE (16 * 1024) /* of one read; and what one write is, at most */

/* What was granted, and found out, by whoever looked at the request. */
struct hl_follow {
    struct hl_id run_id;
    char project[HL_STORE_NAME_MAX + 1], app[HL_STORE_NAME_MAX + 1];
    enum hl_run_state state; /* as the store had it */
    uint32_t attempt;        /* how many have begun */
    bool wants_progress;     /* and the run's end */
    bool is_relayed;         /* another replica asks: it is passed to no third one */
    uint16_t wanted_n;       /* 0: from the first event on */
    char wanted[HL_EVENT_ID_MAX];
    struct hl_follow_place place;
};
void hl_follow_free(struct hl_follow *f); /* NULL-safe; gives the place back */

enum hl_follow_answer {
    HL_FOLLOW_OK,        /* 200: bytes follow, and the end */
    HL_FOLLOW_NOTHING,   /* 204 */
    HL_FOLLOW_BAD_ID,    /* 400 */
    HL_FOLLOW_NO_STREAM, /* 409 */
    HL_FOLLOW_GONE,      /* 410 */
    HL_FOLLOW_FAILED,    /* 503: the store cannot tell */
};

/* For whom it reads. Each may free the follower, and then says so by false. */
struct hl_follower_events {
    /* Once, first. After anything but OK there is nothing more; the follower is the owner's to free. */
    bool (*answer)(void *owner, enum hl_follow_answer answer, enum hl_run_state state);
    bool (*is_blocked)(void *owner);
    /* Part of the answer, framed. */
    bool (*write)(void *owner, struct hl_str bytes);
    /* Nothing more comes; `is_whole`: not broken off. The follower is the owner's to free. */
    void (*end)(void *owner, bool is_whole);
};

struct hl_follow_desk {
    uv_loop_t *loop;
    struct hl_wheel *wheel;
    struct hl_reader *reader;
    struct hl_store *store;
    struct hl_journals *journals;
    uint64_t beat_ms; /* HOOKLINE_SSE_HEARTBEAT; 0: off */
    struct hl_uv_mailbox mail;
    struct hl_relay_names names;
    struct hl_slot_table slots; /* who waits for the store */
    struct hl_id_map taps;      /* by run: struct hl_desk_tap, owned */
    struct hl_list followers;   /* all */
    struct hl_list ready;       /* there may be something new for them */
    struct hl_msg again;        /* more of those, in the loop's next turn */
    bool is_again_posted;
    uint64_t turn;    /* of the loop, in which */
    unsigned served;  /* so many of them were served */
    bool is_draining; /* who follows a run that is not inside this process is sent away */
    char *in, *out;   /* valid within one event */
};

/* What stands before the last two is set. A libuv error code or 0. */
int hl_follow_desk_init(struct hl_follow_desk *desk);
/* The listener closes. */
void hl_follow_desk_drain(struct hl_follow_desk *desk);
/* Nobody follows any more; the loop still has to run its close callbacks. */
void hl_follow_desk_close(struct hl_follow_desk *desk);
/* The store is closed, too. */
void hl_follow_desk_fini(struct hl_follow_desk *desk);

struct hl_follower;

/* Takes the grant. `is_chunked`: what is written is framed. NULL: out of memory, and the grant is the caller's. */
struct hl_follower *hl_follower_new(struct hl_follow_desk *desk, struct hl_follow *grant,
    bool is_chunked, const struct hl_follower_events *events, void *owner);
/* May call back at once, and free it. */
void hl_follower_start(struct hl_follower *f);
/* The owner takes bytes again. Likewise. */
void hl_follower_go_on(struct hl_follower *f);
void hl_follower_free(struct hl_follower *f); /* NULL-safe */

#endif
