/* test_heads.c - heads of queued runs, remembered until they are claimed. */
#include "store/sqlite/heads.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

static struct hl_heads *heads;
static const int64_t numbers[] = {5, 5 + HL_HEADS_MAX}; /* of the same place */
static const struct hl_id ids[] = {{.b = {1}}, {.b = {2}}};
static char out[HL_HEAD_KEPT_MAX + 1];

static void begin(void)
{
    heads = calloc(1, sizeof(*heads));
}

static void end(void)
{
    hl_heads_fini(heads);
    free(heads);
}

TestSuite(heads, .init = begin, .fini = end);

Test(heads, are_given_once)
{
    hl_heads_put(heads, numbers[0], &ids[0], HL_STR("GET / HTTP/1.1\r\n"));
    cr_assert(hl_heads_take(heads, numbers[0], &ids[0], out, 16));
    cr_assert_arr_eq(out, "GET / HTTP/1.1\r\n", 16);
    cr_assert_not(hl_heads_take(heads, numbers[0], &ids[0], out, 16));
}

Test(heads, go_to_no_other_run_and_are_of_the_length_that_is_known)
{
    hl_heads_put(heads, numbers[0], &ids[0], HL_STR("a head"));
    cr_assert_not(hl_heads_take(heads, numbers[1], &ids[1], out, 6));
    cr_assert_not(hl_heads_take(heads, numbers[0], &ids[0], out, 5));
    cr_assert_not(hl_heads_take(heads, numbers[0], &ids[0], out, 7));
    cr_assert(hl_heads_take(heads, numbers[0], &ids[0], out, 6));
}

Test(heads, make_room_for_the_next_one)
{
    hl_heads_put(heads, numbers[0], &ids[0], HL_STR("first"));
    hl_heads_put(heads, numbers[1], &ids[1], HL_STR("second"));
    cr_assert_not(hl_heads_take(heads, numbers[0], &ids[0], out, 5));
    cr_assert(hl_heads_take(heads, numbers[1], &ids[1], out, 6));
}

Test(heads, of_the_last_runs_are_all_known)
{
    for (int64_t i = 0; i < 2 * HL_HEADS_MAX; i++)
        hl_heads_put(heads, i, &ids[0], HL_STR("head"));
    for (int64_t i = HL_HEADS_MAX; i < 2 * HL_HEADS_MAX; i++)
        cr_assert(hl_heads_take(heads, i, &ids[0], out, 4));
}

Test(heads, that_are_long_or_empty_are_not_remembered)
{
    static char bytes[HL_HEAD_KEPT_MAX + 1];
    hl_heads_put(heads, numbers[0], &ids[0], (struct hl_str){bytes, sizeof(bytes)});
    cr_assert_not(hl_heads_take(heads, numbers[0], &ids[0], out, sizeof(bytes)));
    hl_heads_put(heads, numbers[0], &ids[0], (struct hl_str){bytes, HL_HEAD_KEPT_MAX});
    hl_heads_put(heads, numbers[0], &ids[0], HL_STR(""));
    cr_assert_not(hl_heads_take(heads, numbers[0], &ids[0], out, 0));
    cr_assert_not(hl_heads_take(heads, numbers[0], &ids[0], out, HL_HEAD_KEPT_MAX));
}
