/* pages.h - room for heads: pages from a slab, larger ones from the heap. One thread's. */
#ifndef HL_RUN_PAGES_H
#define HL_RUN_PAGES_H

#include <stdlib.h>

#include "base/slab.h"

#define HL_PAGE_SIZE 4096

struct hl_pages {
    struct hl_slab slab;
};

static inline void hl_pages_init(struct hl_pages *pages)
{
    hl_slab_init(&pages->slab, HL_PAGE_SIZE, 16);
}

static inline void hl_pages_fini(struct hl_pages *pages)
{
    hl_slab_fini(&pages->slab);
}

/* Room for n bytes. NULL: out of memory. */
static inline char *hl_pages_get(struct hl_pages *pages, size_t n)
{
    return n <= HL_PAGE_SIZE ? hl_slab_get(&pages->slab) : malloc(n);
}

/* `n` as it was asked for. */
static inline void hl_pages_put(struct hl_pages *pages, char *page, size_t n)
{
    if (n <= HL_PAGE_SIZE)
        hl_slab_put(&pages->slab, page);
    else
        free(page);
}

#endif
