/* slab.h - objects of one size from chunks that are never given back, last freed first out.
 * One thread owns a slab. Under AddressSanitizer freed objects are poisoned. */
#ifndef HL_BASE_SLAB_H
#define HL_BASE_SLAB_H

#include <stddef.h>

struct hl_slab {
    size_t size;      /* of one object, rounded up */
    size_t per_chunk; /* objects allocated at once */
    size_t in_use;
    void *free;
    void *chunks;
};

void hl_slab_init(struct hl_slab *slab, size_t size, size_t per_chunk);
/* Frees every object, in use or not; a slab of zeros has none. */
void hl_slab_fini(struct hl_slab *slab);

/* Not zeroed. NULL when out of memory. */
void *hl_slab_get(struct hl_slab *slab);
/* Zeroed: for objects of more than a few cache lines cheaper than a memset of known size, which gcc turns
 * into `rep stos`. Likewise. */
void *hl_slab_get_zeroed(struct hl_slab *slab);
void hl_slab_put(struct hl_slab *slab, void *object); /* NULL-safe */

#endif
