/* loop_memory.c - see loop_memory.h. libuv tells its callers when there is no memory, but for the list of
 * descriptors that a loop watches: where that cannot grow it aborts. It grows by doubling, and is what
 * realloc is used for; so realloc waits until there is memory again. Any thread. */
#include "loop/loop_memory.h"

#include <stdlib.h>
#include <time.h>
#include <uv.h>

#define PAUSE_NS     (10 * 1000 * 1000)
#define PATIENCE_MAX 3000 /* pauses: 30 s */

static void *patient_realloc(void *p, size_t n)
{
    for (unsigned i = 0;; i++) {
        void *grown = realloc(p, n);
        if (grown || n == 0 || i == PATIENCE_MAX)
            return grown;
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    }
}

void hl_loop_memory_set(void)
{
    (void)uv_replace_allocator(malloc, patient_realloc, calloc, free);
}
