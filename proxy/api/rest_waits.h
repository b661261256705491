/* rest_waits.h - calls of the REST interface that wait for a run's end: how many there may be, what wakes
 * them (contract 3 and 8). The control thread.
 *
 * A waiter costs a message with the store and an entry here: no thread, and nobody asks again and again. */
#ifndef HL_API_REST_WAITS_H
#define HL_API_REST_WAITS_H

#include "base/compiler.h"
#include "loop/slot.h"
#include "loop/wheel.h"
#include "base/id_map.h"

struct hl_config;
struct hl_mailbox;
struct hl_store;
struct hl_str;

struct hl_rest_waits {
    struct hl_wheel wheel;
    struct hl_store *store;
    struct hl_mailbox *mail; /* that the store's answers come to */
    struct hl_list list;
    uint32_t n, max;
    uint64_t key[2];           /* of the next */
    struct hl_id_map subjects; /* by a hash of the subject, how many it has: owned */
    bool has_wheel, is_over;   /* nobody waits any more */
};

/* Embedded in the waiter. */
struct hl_rest_wait {
    struct hl_list node; /* linked while it counts */
    struct hl_rest_waits *waits;
    struct hl_timer timer;
    struct hl_slot_name name; /* of its call */
    struct hl_id run_id, subject;
    /* A call's own at a front, set before it begins: it is told of the head of a stream, too, and waits on while the
     * process ends. */
    bool is_call;
    bool is_watched;                               /* the store has its message */
    bool is_over;                                  /* the run has ended, or the time is over */
    void (*on_watched)(struct hl_rest_wait *wait); /* from now on no end is missed */
    /* Told at once when it is over; NULL: the waiter looks for itself. */
    void (*on_over)(struct hl_rest_wait *wait);
};

/* A libuv error code or 0. */
int hl_rest_waits_init(struct hl_rest_waits *waits, uv_loop_t *loop, struct hl_store *store,
    struct hl_mailbox *mail, const struct hl_config *config);
/* Nobody waits from now on; whoever does is told. */
void hl_rest_waits_end(struct hl_rest_waits *waits);
void hl_rest_waits_close(struct hl_rest_waits *waits);
void hl_rest_waits_fini(struct hl_rest_waits *waits);

void hl_rest_wait_init(struct hl_rest_wait *wait);
/* Once wait->on_watched is called, the run's end is seen. `subject` may be empty. False: nobody may wait now, or too many do, or
 * this subject has a quarter of all places. */
HL_MUST_CHECK bool hl_rest_wait_begin(struct hl_rest_wait *wait, struct hl_rest_waits *waits,
    struct hl_slot_name name, const struct hl_id *run_id, struct hl_str subject, uint64_t ms);
/* The store has its message. */
void hl_rest_wait_on_watched(struct hl_rest_wait *wait);
/* The store has answered its message, which is freed. */
void hl_rest_wait_on_watch(struct hl_rest_wait *wait, enum hl_err rc);
/* It counts no more. Harmless when it does not wait. */
void hl_rest_wait_leave(struct hl_rest_wait *wait);

#endif
