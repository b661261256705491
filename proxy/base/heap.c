/* heap.c - see heap.h. */
#include "base/heap.h"

#include <stdlib.h>

#include "base/assert.h"

void hl_heap_init(struct hl_heap *heap)
{
    *heap = (struct hl_heap){0};
}

void hl_heap_fini(struct hl_heap *heap)
{
    free(heap->nodes);
    hl_heap_init(heap);
}

enum hl_err hl_heap_reserve(struct hl_heap *heap)
{
    if (heap->n < heap->cap)
        return HL_OK;
    size_t cap = heap->cap ? 2 * heap->cap : 16;
    struct hl_heap_node **nodes = realloc(heap->nodes, cap * sizeof(struct hl_heap_node *));
    if (!nodes)
        return HL_ERR_NOMEM;
    heap->nodes = nodes;
    heap->cap = cap;
    return HL_OK;
}

static bool is_before(const struct hl_heap_node *a, const struct hl_heap_node *b)
{
    return a->key < b->key || (a->key == b->key && a->tie < b->tie);
}

static void put(struct hl_heap *heap, struct hl_heap_node *node, size_t place)
{
    heap->nodes[place - 1] = node;
    node->place = place;
}

/* From a place that is free, to where it belongs. */
static void rise(struct hl_heap *heap, struct hl_heap_node *node, size_t place)
{
    for (; place > 1 && is_before(node, heap->nodes[place / 2 - 1]); place /= 2)
        put(heap, heap->nodes[place / 2 - 1], place);
    put(heap, node, place);
}

static void sink(struct hl_heap *heap, struct hl_heap_node *node, size_t place)
{
    for (size_t child; (child = 2 * place) <= heap->n; place = child) {
        if (child < heap->n && is_before(heap->nodes[child], heap->nodes[child - 1]))
            child++;
        if (!is_before(heap->nodes[child - 1], node))
            break;
        put(heap, heap->nodes[child - 1], place);
    }
    put(heap, node, place);
}

void hl_heap_add(struct hl_heap *heap, struct hl_heap_node *node, int64_t key, uint64_t tie)
{
    HL_ASSERT(heap->n < heap->cap && node->place == 0);
    node->key = key;
    node->tie = tie;
    rise(heap, node, ++heap->n);
}

void hl_heap_remove(struct hl_heap *heap, struct hl_heap_node *node)
{
    size_t place = node->place;
    if (place == 0)
        return;
    node->place = 0;
    struct hl_heap_node *last = heap->nodes[--heap->n];
    if (last == node)
        return;
    if (is_before(last, node))
        rise(heap, last, place);
    else
        sink(heap, last, place);
}
