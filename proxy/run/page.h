/* page.h - a request's head and the first bytes of its body, as they go to the app. One thread's. */
#ifndef HL_RUN_PAGE_H
#define HL_RUN_PAGE_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/slab.h"
#include "base/str.h"
#include "http/message.h"

#define HL_PAGE_SIZE 4096

/* Room for them: pages from a slab, larger ones from the heap. */
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

/* The head of a request, and the first bytes of its body. */
struct hl_page {
    char *p; /* NULL: it has gone */
    size_t n, cap;
    size_t deadline_at; /* where X-Run-Deadline's digits stand; 0: nowhere */
    bool is_grown;      /* by GATHERING: it goes when it is sent */
};

/* An empty one with room for n bytes. False: out of memory. */
HL_MUST_CHECK static inline bool hl_page_make(
    struct hl_page *page, struct hl_pages *pages, size_t n)
{
    page->cap = n > HL_PAGE_SIZE ? n : HL_PAGE_SIZE;
    page->p = hl_pages_get(pages, page->cap);
    return page->p != NULL;
}

/* There is room. */
static inline void hl_page_append(struct hl_page *page, struct hl_str bytes)
{
    if (bytes.n)
        memcpy(page->p + page->n, bytes.p, bytes.n);
    page->n += bytes.n;
}

/* Harmless when it has gone. */
static inline void hl_page_drop(struct hl_page *page, struct hl_pages *pages)
{
    if (page->p)
        hl_pages_put(pages, page->p, page->cap);
    page->p = NULL;
}

/* What came of a body stands behind what there is, framed for the app; the page grows for it. False: out of
 * memory. */
HL_MUST_CHECK bool hl_page_add_body(
    struct hl_page *page, struct hl_pages *pages, enum hl_framing framing, struct hl_str data);
HL_MUST_CHECK bool hl_page_add_end(
    struct hl_page *page, struct hl_pages *pages, enum hl_framing framing, struct hl_str trailer);

#endif
