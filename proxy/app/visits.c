/* visits.c - who alone was inside the app at some time.
 * Owns: nothing. Thread: any; the workers go on writing meanwhile.
 * Promise: what cannot be known for certain is nobody.
 * Not here: when it was that the app said something (arrival.c). */
#include "app/visits.h"

#define TRIES 3 /* somebody came or went meanwhile */

struct found {
    uint64_t from_us, until_us;
    uint64_t words[2];
    unsigned count; /* of those that were inside; more than one: nobody was alone */
};

static void look_at(struct hl_visit *visit, struct found *found, uint64_t *inside)
{
    uint64_t ended_us = atomic_load_explicit(&visit->ended_us, memory_order_relaxed);
    uint64_t begun_us = atomic_load_explicit(&visit->begun_us, memory_order_relaxed);
    *inside += ended_us == 0;
    if (begun_us > found->until_us || (ended_us != 0 && ended_us < found->from_us))
        return;
    found->count++;
    for (int i = 0; i < 2; i++)
        found->words[i] = atomic_load_explicit(&visit->id[i], memory_order_relaxed);
}

/* False: it cannot be known. The slot that is written next is not looked at. */
static bool look(struct hl_visits *v, struct found *found)
{
    uint64_t was_inside = atomic_load_explicit(&v->inside, memory_order_acquire), inside = 0;
    uint64_t count = atomic_load_explicit(&v->count, memory_order_acquire);
    uint64_t first = count < HL_VISITS ? 0 : count - HL_VISITS + 1;
    for (uint64_t n = first; n < count && found->count < 2; n++)
        look_at(&v->ring[n % HL_VISITS], found, &inside);
    atomic_thread_fence(memory_order_acquire);
    return found->count < 2 && inside == was_inside &&
           atomic_load_explicit(&v->inside, memory_order_relaxed) == was_inside &&
           atomic_load_explicit(&v->count, memory_order_relaxed) == count &&
           (first == 0 || atomic_load_explicit(&v->ring[first % HL_VISITS].begun_us,
                              memory_order_relaxed) <= found->from_us) &&
           atomic_load_explicit(&v->forgotten_us, memory_order_relaxed) < found->from_us;
}

static bool look_at_all(struct hl_visits *const *each, uint32_t n, struct found *found)
{
    for (uint32_t i = 0; i < n; i++)
        if (!look(each[i], found))
            return false;
    return true;
}

bool hl_visits_find_lone(struct hl_visits *const *each, uint32_t n, uint64_t from_us,
    uint64_t until_us, struct hl_id *id)
{
    for (int i = 0; i < TRIES; i++) {
        struct found found = {.from_us = from_us, .until_us = until_us};
        if (look_at_all(each, n, &found)) {
            memcpy(id->b, found.words, sizeof(found.words));
            return found.count == 1;
        }
        if (found.count > 1)
            break;
    }
    return false;
}
