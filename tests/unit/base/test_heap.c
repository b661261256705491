#include <criterion/criterion.h>
#include <stdlib.h>

#include "base/heap.h"

#define MANY 500

static struct hl_heap heap;
static struct hl_heap_node nodes[MANY];

static void add(struct hl_heap_node *node, int64_t key)
{
    cr_assert_eq(hl_heap_reserve(&heap), HL_OK);
    hl_heap_add(&heap, node, key, 0);
}

static int64_t take(void)
{
    struct hl_heap_node *node = hl_heap_first(&heap);
    hl_heap_remove(&heap, node);
    cr_assert_eq(node->place, 0);
    return node->key;
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

Test(heap, first_is_the_smallest_whatever_was_added_and_removed)
{
    hl_heap_init(&heap);
    for (unsigned seed = 1; seed <= 20; seed++) {
        int64_t left[MANY];
        size_t n = 0;
        srand(seed);
        for (size_t i = 0; i < MANY; i++)
            add(&nodes[i], rand() % 100 - 50);
        for (size_t i = 0; i < MANY; i++)
            if (rand() % 2)
                hl_heap_remove(&heap, &nodes[i]);
            else
                left[n++] = nodes[i].key;
        qsort(left, n, sizeof(left[0]), compare);
        cr_assert_eq(heap.n, n);
        for (size_t i = 0; i < n; i++)
            cr_assert_eq(take(), left[i], "seed %u", seed);
        cr_assert_null(hl_heap_first(&heap));
    }
    hl_heap_fini(&heap);
}

Test(heap, removing_what_is_in_none_is_harmless)
{
    hl_heap_init(&heap);
    hl_heap_remove(&heap, &nodes[0]);
    add(&nodes[0], 1);
    hl_heap_remove(&heap, &nodes[1]);
    cr_assert_eq(take(), 1);
    hl_heap_remove(&heap, &nodes[0]);
    cr_assert_eq(heap.n, 0);
    hl_heap_fini(&heap);
}

Test(heap, of_those_with_the_same_key_the_smallest_tie_is_first)
{
    hl_heap_init(&heap);
    for (size_t i = 0; i < MANY; i++) {
        cr_assert_eq(hl_heap_reserve(&heap), HL_OK);
        hl_heap_add(&heap, &nodes[i], (int64_t)(i % 7), (i * 263) % MANY);
    }
    int64_t key = 0;
    for (uint64_t last = 0; heap.n > 0;) {
        const struct hl_heap_node *first = hl_heap_first(&heap);
        cr_assert(first->key > key || first->tie >= last);
        last = first->tie;
        key = take();
    }
    hl_heap_fini(&heap);
}
