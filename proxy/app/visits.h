/* visits.h - which requests are inside the app, or recently were: a worker notes when one enters
 * and leaves, so that the control thread can attribute the app's output. A few stores, no lock;
 * only where hookline reads the app's output.
 *
 * A worker remembers its last HL_VISITS. What it has forgotten makes an answer uncertain, and an uncertain
 * answer is nobody. */
#ifndef HL_APP_VISITS_H
#define HL_APP_VISITS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "base/id.h"

#define HL_VISITS 64

struct hl_visit {
    _Atomic uint64_t id[2];
    _Atomic uint64_t begun_us, ended_us; /* monotonic; ended 0: inside */
};

/* One worker's; all zeros at first. */
struct hl_visits {
    _Atomic uint64_t count;        /* of all there were; the last ones are in the ring */
    _Atomic uint64_t inside;       /* of them */
    _Atomic uint64_t forgotten_us; /* when one that is not in the ring any more ended last */
    struct hl_visit ring[HL_VISITS];
};

/* The worker's thread: a request goes in, not before `now_us`. Returns what hl_visits_leave wants; not 0. */
static inline uint64_t hl_visits_enter(struct hl_visits *v, const struct hl_id *id, uint64_t now_us)
{
    uint64_t n = atomic_load_explicit(&v->count, memory_order_relaxed), words[2];
    struct hl_visit *visit = &v->ring[n % HL_VISITS];
    memcpy(words, id->b, sizeof(words));
    atomic_store_explicit(&visit->id[0], words[0], memory_order_relaxed);
    atomic_store_explicit(&visit->id[1], words[1], memory_order_relaxed);
    atomic_store_explicit(&visit->begun_us, now_us, memory_order_relaxed);
    atomic_store_explicit(&visit->ended_us, 0, memory_order_relaxed);
    atomic_store_explicit(&v->inside, atomic_load_explicit(&v->inside, memory_order_relaxed) + 1,
        memory_order_relaxed);
    atomic_store_explicit(&v->count, n + 1, memory_order_release);
    return n + 1;
}

static inline void hl_visits_leave(struct hl_visits *v, uint64_t visit, uint64_t now_us)
{
    bool is_there = atomic_load_explicit(&v->count, memory_order_relaxed) < visit + HL_VISITS;
    _Atomic uint64_t *at = is_there ? &v->ring[(visit - 1) % HL_VISITS].ended_us : &v->forgotten_us;
    atomic_store_explicit(at, now_us, memory_order_relaxed);
    atomic_store_explicit(&v->inside, atomic_load_explicit(&v->inside, memory_order_relaxed) - 1,
        memory_order_release);
}

/* Whether exactly one was inside between the two times, over all of `n` workers: `*id`. Any thread. */
bool hl_visits_find_lone(struct hl_visits *const *each, uint32_t n, uint64_t from_us,
    uint64_t until_us, struct hl_id *id);

#endif
