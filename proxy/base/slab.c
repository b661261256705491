/* slab.c - objects of one size from chunks that are never given back. One thread owns a slab.
 * A chunk is a header that links it to the next chunk, then the objects; a free object's first word
 * links it to the next free one. Freed last, handed out first: it is the one still in the cache. */
#include "base/slab.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"

#if defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ASAN 1
#endif
#endif

#ifdef HAS_ASAN
#include <sanitizer/asan_interface.h>
#define POISON(p, n)   __asan_poison_memory_region((p), (n))
#define UNPOISON(p, n) __asan_unpoison_memory_region((p), (n))
#else
#define POISON(p, n)   ((void)(p), (void)(n))
#define UNPOISON(p, n) ((void)(p), (void)(n))
#endif

#define ALIGNMENT 16 /* malloc's: objects may hold anything */

struct link {
    struct link *next;
};

static size_t round_up(size_t n)
{
    return (n + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

void hl_slab_init(struct hl_slab *slab, size_t size, size_t per_chunk)
{
    HL_ASSERT(size > 0 && per_chunk > 0);
    *slab = (struct hl_slab){.size = round_up(size), .per_chunk = per_chunk};
}

static void push_free(struct hl_slab *slab, void *object)
{
    struct link *link = object;
    link->next = slab->free;
    slab->free = link;
    POISON(object, slab->size);
}

static int grow(struct hl_slab *slab)
{
    if (slab->per_chunk > (SIZE_MAX - ALIGNMENT) / slab->size)
        return -1;
    struct link *chunk = malloc(ALIGNMENT + slab->per_chunk * slab->size);
    if (!chunk)
        return -1;
    chunk->next = slab->chunks;
    slab->chunks = chunk;
    /* Pushed from the end, so that objects are handed out in the order of addresses. */
    for (size_t i = slab->per_chunk; i-- > 0;)
        push_free(slab, (char *)chunk + ALIGNMENT + i * slab->size);
    return 0;
}

void *hl_slab_get(struct hl_slab *slab)
{
    if (!slab->free && grow(slab) != 0)
        return NULL;
    struct link *link = slab->free;
    UNPOISON(link, slab->size);
    slab->free = link->next;
    slab->in_use++;
    return link;
}

void *hl_slab_get_zeroed(struct hl_slab *slab)
{
    void *object = hl_slab_get(slab);
    return object ? memset(object, 0, slab->size) : NULL;
}

void hl_slab_put(struct hl_slab *slab, void *object)
{
    if (!object)
        return;
    HL_ASSERT(slab->in_use > 0);
    slab->in_use--;
    push_free(slab, object);
}

void hl_slab_fini(struct hl_slab *slab)
{
    for (struct link *chunk = slab->chunks, *next; chunk; chunk = next) {
        next = chunk->next;
        free(chunk);
    }
    *slab = (struct hl_slab){.size = slab->size, .per_chunk = slab->per_chunk};
}
