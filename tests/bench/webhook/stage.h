/* stage.h - the app, its callers and a good receiver, in one thread: hookline stands between them.
 *
 * The app's answer carries the time at which it was sent, and so does the webhook that has it: the
 * receiver knows how late each one is. It looks whether it has had each, and checks the signature of
 * one in SIGNED_EACH. */
#ifndef BENCH_STAGE_H
#define BENCH_STAGE_H

#include "wire.h"

#define STAGE_SECRET      "the bench's secret"
#define STAGE_SIGNED_EACH 64
#define STAGE_DELAYS      (1 << 20)

/* Answers that the receiver owes: each is sent `latency_us` after its request. */
struct owed {
    struct wire_conn *conn;
    uint64_t at_us;
};

struct stage {
    struct wire wire;
    int hookline_port, receiver_port;
    struct wire_conn *idle; /* callers without a call */

    uint64_t latency_us; /* the receiver's */
    bool holds;          /* it answers nothing */
    struct owed *owed;   /* a ring of STAGE_DELAYS */
    size_t owed_first, owed_n;

    uint64_t called, answered, refused; /* calls; answered with 200; with anything else */
    uint64_t received;                  /* webhooks, of any sender */
    uint64_t last_us;                   /* when the last of them came */
    uint64_t checked, forged;           /* signatures */

    bool times;
    size_t delays_n; /* set it to 0 to begin anew */
    uint32_t *delays_us;
};

/* Never NULL; so many callers. */
struct stage *stage_new(int app_port, int receiver_port, int hookline_port, int callers);

/* One call whose webhook goes there; false: no caller is idle. */
bool stage_call(struct stage *s, const char *scheme, int port);

/* The receiver answers what it has held. */
void stage_release(struct stage *s);

/* All sides play for at most that long: one turn. */
void stage_turn(struct stage *s, int wait_ms);
void stage_run_for(struct stage *s, double seconds);
/* Until `*count` is `goal`; false: it was not in that time. */
bool stage_run(struct stage *s, double seconds, const uint64_t *count, uint64_t goal);

/* The delay below which `share` of the recorded ones lie. Sorts them. */
uint32_t stage_delay(struct stage *s, double share);

#endif
