/* follower_parts.h - what a follower is made of: for its three sources, and for the desk that wakes it. Thread: the
 * desk's loop. */
#ifndef HL_BODY_FOLLOWER_PARTS_H
#define HL_BODY_FOLLOWER_PARTS_H

#include "body/follow_clock.h"
#include "body/follow_cursor.h"
#include "body/follow_query.h"
#include "body/follow_writer.h"

struct hl_desk_tap;
struct hl_get_run;
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

/* ---- its sources ---- */

enum hl_follow_step {
    HL_FOLLOW_STEP_MORE, /* there is another */
    HL_FOLLOW_STEP_WAIT, /* until it is woken */
    HL_FOLLOW_STEP_FILE, /* what is next has to be read from the journal's file */
    HL_FOLLOW_STEP_GONE, /* the follower is gone, or has nothing more to do */
};

/* follow_journal.c: a step through the journal of a run that is inside this process, or may come there. */
enum hl_follow_step hl_follow_journal_step(struct hl_follower *f);

/* follow_store.c: what the store's answer comes to, of a run that has ended, or is not inside this process. `g` is
 * borrowed. False: the follower is gone, or has nothing more to do. */
bool hl_follow_store_take(struct hl_follower *f, const struct hl_get_run *g);

/* follow_relay.c: the store has said which other replica has the run; what that one writes goes out as it comes.
 * False: it goes by the store. */
bool hl_follow_relay_begin(struct hl_follower *f, const struct hl_get_run *g);

#endif
