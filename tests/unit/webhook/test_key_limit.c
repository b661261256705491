/* test_key_limit.c - who is let in, who waits, and that nothing is kept of those who left. */
#include "base/list.h"
#include "webhook/key_limit.h"

#include <criterion/criterion.h>

static struct hl_key_limit t;
static struct hl_list nodes[4];

static void init(void)
{
    hl_key_limit_init(&t, 2);
    for (size_t i = 0; i < HL_ARRAY_LEN(nodes); i++)
        hl_list_init(&nodes[i]);
}

static void fini(void)
{
    hl_key_limit_fini(&t);
}

TestSuite(key_limit, .init = init, .fini = fini);

Test(key_limit, lets_in_as_many_of_each_kind_as_it_may)
{
    for (uint64_t kind = 0; kind < 3; kind++) {
        cr_assert(hl_key_limit_enter(&t, kind, &nodes[0]));
        cr_assert(hl_key_limit_enter(&t, kind, &nodes[1]));
    }
    cr_assert_not(hl_key_limit_enter(&t, 1, &nodes[2]));
}

Test(key_limit, hands_a_free_place_to_the_first_in_line)
{
    cr_assert(hl_key_limit_enter(&t, 7, &nodes[0]));
    cr_assert(hl_key_limit_enter(&t, 7, &nodes[1]));
    cr_assert_not(hl_key_limit_enter(&t, 7, &nodes[2]));
    cr_assert_not(hl_key_limit_enter(&t, 7, &nodes[3]));
    cr_assert_eq(hl_key_limit_leave(&t, 7), &nodes[2]);
    hl_list_remove(&nodes[3]); /* it waits no longer */
    cr_assert_null(hl_key_limit_leave(&t, 7));
    cr_assert(hl_key_limit_enter(&t, 7, &nodes[0]));
    cr_assert_not(hl_key_limit_enter(&t, 7, &nodes[3]));
    cr_assert_eq(hl_key_limit_leave(&t, 7), &nodes[3]);
    cr_assert_null(hl_key_limit_leave(&t, 7));
    cr_assert_null(hl_key_limit_leave(&t, 7));
    cr_assert_eq(t.keys.n, 0, "nothing is kept of a kind that is not inside");
}
