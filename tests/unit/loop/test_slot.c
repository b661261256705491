#include <criterion/criterion.h>

#include "loop/slot.h"

Test(slot, finds_an_object_until_it_is_removed)
{
    struct hl_slot_table t;
    int a, b;
    hl_slot_table_init(&t);
    struct hl_slot_name name_a = hl_slot_add(&t, &a), name_b = hl_slot_add(&t, &b);
    cr_assert_neq(name_a.generation, 0);
    cr_assert_eq(hl_slot_find(&t, name_a), &a);
    cr_assert_eq(hl_slot_find(&t, name_b), &b);
    hl_slot_remove(&t, name_a);
    cr_assert_null(hl_slot_find(&t, name_a));
    cr_assert_eq(hl_slot_find(&t, name_b), &b);
    cr_assert_eq(t.in_use, 1);
    hl_slot_table_fini(&t);
}

Test(slot, misses_the_successor_by_an_old_name)
{
    struct hl_slot_table t;
    int a, b;
    hl_slot_table_init(&t);
    struct hl_slot_name old = hl_slot_add(&t, &a);
    hl_slot_remove(&t, old);
    struct hl_slot_name successor = hl_slot_add(&t, &b);
    cr_assert_eq(successor.index, old.index);
    cr_assert_null(hl_slot_find(&t, old));
    hl_slot_remove(&t, old);
    cr_assert_eq(hl_slot_find(&t, successor), &b);
    hl_slot_table_fini(&t);
}

Test(slot, keeps_names_valid_while_it_grows)
{
    struct hl_slot_table t;
    static int objects[1000];
    static struct hl_slot_name names[1000];
    hl_slot_table_init(&t);
    for (int i = 0; i < 1000; i++)
        names[i] = hl_slot_add(&t, &objects[i]);
    for (int i = 0; i < 1000; i++)
        cr_assert_eq(hl_slot_find(&t, names[i]), &objects[i]);
    cr_assert_eq(t.in_use, 1000);
    hl_slot_table_fini(&t);
}

Test(slot, finds_nothing_by_the_empty_or_an_unknown_name)
{
    struct hl_slot_table t;
    int a;
    hl_slot_table_init(&t);
    cr_assert_null(hl_slot_find(&t, (struct hl_slot_name){0, 0}));
    cr_assert_null(hl_slot_find(&t, (struct hl_slot_name){7, 1}));
    hl_slot_add(&t, &a);
    cr_assert_null(hl_slot_find(&t, (struct hl_slot_name){1, 1}));
    hl_slot_table_fini(&t);
}

Test(slot, passes_over_generation_zero)
{
    struct hl_slot_table t;
    int a;
    hl_slot_table_init(&t);
    struct hl_slot_name name = hl_slot_add(&t, &a);
    t.entries[name.index].generation = UINT32_MAX;
    hl_slot_remove(&t, (struct hl_slot_name){name.index, UINT32_MAX});
    name = hl_slot_add(&t, &a);
    cr_assert_eq(name.generation, 1);
    hl_slot_table_fini(&t);
}
