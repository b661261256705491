/* heap.h - the next due of many unordered things: a binary heap of intrusive nodes. Adding and
 * removing any one takes log n steps. One thread owns a heap. */
#ifndef HL_BASE_HEAP_H
#define HL_BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err.h"

struct hl_heap_node {
    int64_t key;
    uint64_t tie; /* of two with the same key, the one with the smaller tie is first */
    size_t place; /* from 1; 0: in no heap */
};

struct hl_heap {
    struct hl_heap_node **nodes; /* owned; none comes before that at half its place */
    size_t n, cap;
};

void hl_heap_init(struct hl_heap *heap);
void hl_heap_fini(struct hl_heap *heap); /* the nodes are simply forgotten */

/* Room for one more: the next hl_heap_add needs no memory. HL_ERR_NOMEM. */
HL_MUST_CHECK enum hl_err hl_heap_reserve(struct hl_heap *heap);
/* After hl_heap_reserve. The node is in no heap, and stays where it is until it is removed. */
void hl_heap_add(struct hl_heap *heap, struct hl_heap_node *node, int64_t key, uint64_t tie);
/* Harmless when it is in none. */
void hl_heap_remove(struct hl_heap *heap, struct hl_heap_node *node);
/* One with the smallest key, and of those the smallest tie; NULL: there is none. */
static inline struct hl_heap_node *hl_heap_first(const struct hl_heap *heap)
{
    return heap->n > 0 ? heap->nodes[0] : NULL;
}

#endif
