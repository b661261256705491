/* follow_desk.h - the place where all followers of a thread are registered: it hears of new bytes
 * once for all of them, and wakes each. Thread: its loop. */
#ifndef HL_BODY_FOLLOW_DESK_H
#define HL_BODY_FOLLOW_DESK_H

#include <uv.h>

#include "base/id_map.h"
#include "base/list.h"
#include "body/relay_name.h"
#include "loop/mailbox.h"
#include "loop/slot.h"

#define HL_FOLLOW_READ (8 * 1024) /* of what is in a journal's memory */

struct hl_journals;
struct hl_store;

/* Messages to a desk, beside the store's replies. */
enum { HL_DESK_TAP = 200, HL_DESK_AGAIN, HL_DESK_LOOK };

struct hl_follow_desk {
    uv_loop_t *loop;
    struct hl_wheel *wheel;
    struct hl_reader *reader;
    struct hl_store *store;
    struct hl_journals *journals;
    struct hl_tls_seat *tls; /* what other replicas are asked by; NULL: they speak none */
    uint64_t beat_ms;        /* HOOKLINE_SSE_HEARTBEAT; 0: off */
    /* Whether a token of this account (nil: of none) and key is good; NULL: nobody asks. */
    bool (*admits)(void *keeper, const struct hl_id *account, uint64_t key);
    void *keeper;
    struct hl_uv_mailbox mail;
    /* to be rung when an account was revoked or a key is gone: who follows with it is sent away */
    struct hl_bell look;
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
    char *in, *out;   /* HL_FOLLOW_READ, HL_FOLLOW_ROOM bytes; valid within one event */
};

/* What stands before `mail` is set. A libuv error code or 0. */
int hl_follow_desk_init(struct hl_follow_desk *desk);
/* The listener closes. */
void hl_follow_desk_drain(struct hl_follow_desk *desk);
/* Nobody follows any more; the loop still has to run its close callbacks. */
void hl_follow_desk_close(struct hl_follow_desk *desk);
/* The store is closed, too. */
void hl_follow_desk_fini(struct hl_follow_desk *desk);

#endif
