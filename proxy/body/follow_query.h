/* follow_query.h - what a follower asks of the store: the run with a piece of its stream, and to be told when it
 * ends. Thread: the desk's loop. */
#ifndef HL_BODY_FOLLOW_QUERY_H
#define HL_BODY_FOLLOW_QUERY_H

#include <stdbool.h>

#include "loop/slot.h"

struct hl_watch;

struct hl_follow_query {
    struct hl_store *store;
    struct hl_mailbox *reply_to; /* the desk's */
    struct hl_slot_name name;    /* of the follower, there */
    const struct hl_follow *grant;
    struct hl_follow_clock *clock;
    bool is_asking;   /* for bytes */
    bool is_watching; /* the store has been told to say when the run ends */
    bool is_over;     /* and has said so */
};

/* Asks for the run and its bytes from `offset` on. False: out of memory. */
bool hl_follow_query_ask(struct hl_follow_query *q, uint64_t offset);
/* Where others write to the store, too, a look is due in a second. */
void hl_follow_query_poll(struct hl_follow_query *q);
/* It is told when the run ends. */
void hl_follow_query_watch(struct hl_follow_query *q);
void hl_follow_query_leave_watch(struct hl_follow_query *q);
/* The run has ended, or the store is closing: it says which. True: it is to be asked. */
bool hl_follow_query_hear(struct hl_follow_query *q, const struct hl_watch *watch);

#endif
