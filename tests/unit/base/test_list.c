/* test_list.c - lists whose nodes are moved as a whole. */
#include <criterion/criterion.h>

#include "base/compiler.h"
#include "base/list.h"

static void expect(struct hl_list *list, struct hl_list *const nodes[], size_t n)
{
    for (size_t i = 0; i < n; i++)
        cr_assert_eq(hl_list_pop_front(list), nodes[i], "%zu", i);
    cr_assert(hl_list_is_empty(list));
}

Test(list, moves_all_nodes_behind_those_that_are_there_in_their_order)
{
    struct hl_list from, to, nodes[4];
    struct hl_list *const all[] = {&nodes[0], &nodes[1], &nodes[2], &nodes[3]};
    hl_list_init(&from);
    hl_list_init(&to);
    hl_list_move_all(&from, &to);
    cr_assert(hl_list_is_empty(&to), "of none");
    hl_list_push_back(&from, &nodes[0]);
    hl_list_push_back(&from, &nodes[1]);
    hl_list_move_all(&from, &to);
    cr_assert(hl_list_is_empty(&from));
    hl_list_push_back(&from, &nodes[2]);
    hl_list_push_back(&from, &nodes[3]);
    hl_list_move_all(&from, &to);
    cr_assert(hl_list_is_empty(&from));
    expect(&to, all, HL_ARRAY_LEN(all));
}
