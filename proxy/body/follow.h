/* follow.h - a request to follow a run's events: what was granted, what is answered, and where the
 * answer goes (contract 14). Thread: any; one at a time. */
#ifndef HL_BODY_FOLLOW_H
#define HL_BODY_FOLLOW_H

#include <stdlib.h>

#include "body/journals.h"
#include "http/sse.h"
#include "store/record.h"

/* What was granted, and found out, by whoever looked at the request. */
struct hl_follow {
    struct hl_id run_id;
    char project[HL_STORE_NAME_MAX + 1], app[HL_STORE_NAME_MAX + 1];
    enum hl_run_state state; /* as the store had it */
    uint32_t attempt;        /* how many have begun */
    bool wants_progress;     /* and the run's end */
    struct hl_id account;    /* whose token it was; nil: no account's */
    uint64_t key;            /* what has signed it, as the keeper of tokens names it; 0: nothing */
    int64_t refused_from_ms; /* when that token has expired, wall time; 0: there was none */
    bool is_relayed;         /* another replica asks: it is passed to no third one */
    /* It is the caller of the run, at a front, to whom the stream is the answer to his call: it ends as the run does;
     * `is_plain`: with the app's own bytes, without ids of ours; `has_begun`: he has the head. */
    bool is_call, is_plain, has_begun;
    uint16_t wanted_n; /* 0: from the first event on */
    char wanted[HL_EVENT_ID_MAX];
    struct hl_follow_place place;
};

/* Gives the place back. NULL-safe. */
static inline void hl_follow_free(struct hl_follow *f)
{
    if (f)
        hl_journals_leave(&f->place);
    free(f);
}

enum hl_follow_answer {
    HL_FOLLOW_OK,        /* 200: bytes follow, and the end */
    HL_FOLLOW_NOTHING,   /* 204 */
    HL_FOLLOW_BAD_ID,    /* 400 */
    HL_FOLLOW_NO_STREAM, /* 409 */
    HL_FOLLOW_GONE,      /* 410 */
    HL_FOLLOW_FAILED,    /* 503: the store cannot tell */
};

#define HL_FOLLOW_PIECE (16 * 1024)

/* For whom a follower reads. Each may free the follower, and then says so by false. */
struct hl_follower_events {
    /* Once, first. After anything but OK there is nothing more; the follower is the owner's to free. */
    bool (*answer)(void *owner, enum hl_follow_answer answer, enum hl_run_state state);
    bool (*is_blocked)(void *owner);
    /* Part of the answer, framed: at most HL_FOLLOW_PIECE bytes. */
    bool (*write)(void *owner, struct hl_str bytes);
    /* Nothing more comes; `is_whole`: not broken off. The follower is the owner's to free. */
    void (*end)(void *owner, bool is_whole);
};

#endif
