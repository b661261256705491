/* follower_parts.h - what a follower is made of: for its three sources, and for the desk that wakes it. Thread: the
 * desk's loop. */
#ifndef HL_BODY_FOLLOWER_PARTS_H
#define HL_BODY_FOLLOWER_PARTS_H

#include "body/follow_clock.h"
#include "body/follow_cursor.h"
#include "body/follow_query.h"
#include "body/follow_writer.h"

struct hl_desk_tap;
struct hl_journal_reading;
struct hl_relay;

/* Where its bytes come from just now. */
enum hl_follow_source {
    HL_FOLLOW_FROM_JOURNAL, /* the tap's, or nothing is there yet: follow_journal.c */
    HL_FOLLOW_FROM_STORE,   /* the run has ended, or is another process's: follow_store.c */
    HL_FOLLOW_FROM_RELAY,   /* another replica writes it: follow_relay.c */
};

struct hl_follower {
    struct hl_follow_desk *desk;
    struct hl_follow *grant;                 /* owned */
    struct hl_list in_all, in_tap, in_ready; /* the desk's, its tap's */
    struct hl_desk_tap *tap;                 /* NULL: it has not needed one */

    enum hl_follow_source source;
    struct hl_journal_reading *reading; /* JOURNAL: NULL: none */
    struct hl_relay *relay;             /* RELAY: NULL: none */
    bool has_asked;                     /* the store, since it has a tap */
    bool has_relayed;                   /* another replica was asked */
    uint8_t late_asks;                  /* for what it names, at the end of what the store has */
    uint32_t progress;                  /* the last one that was seen */

    struct hl_follow_clock clock;
    struct hl_follow_writer writer;
    struct hl_follow_cursor cursor;
    struct hl_follow_query query;
};

#endif
