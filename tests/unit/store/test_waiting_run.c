/* test_waiting_run.c - queued runs, remembered until they are claimed. */
#include "store/sqlite/waiting_run.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#include "store/accept.h"
#include "store/claim.h"

static struct hl_waiting_runs *runs;
static int64_t app_id;
static const int64_t numbers[] = {5, 5 + HL_WAITING_RUNS_MAX}; /* of the same place */

static void begin(void)
{
    runs = calloc(1, sizeof(*runs));
}

static void end(void)
{
    hl_waiting_run_forget(runs);
    free(runs);
}

TestSuite(waiting_run, .init = begin, .fini = end);

static struct hl_claimed *put(int64_t number)
{
    struct hl_claimed *claimed = calloc(1, sizeof(*claimed));
    hl_waiting_run_put(runs, number, number + 1, claimed);
    return claimed;
}

static bool fits(int64_t number, struct hl_accept a)
{
    return hl_waiting_run_fits(runs, number, &a);
}

Test(waiting_run, is_given_once)
{
    struct hl_claimed *claimed = put(numbers[0]);
    cr_assert_eq(hl_waiting_run_take(runs, numbers[0], &app_id), claimed);
    cr_assert_eq(app_id, numbers[0] + 1);
    cr_assert_null(hl_waiting_run_take(runs, numbers[0], &app_id));
    hl_claimed_free(claimed);
}

Test(waiting_run, that_has_a_place_keeps_it_and_is_no_others)
{
    struct hl_claimed *claimed = put(numbers[0]);
    cr_assert_not(fits(numbers[1], (struct hl_accept){0}));
    cr_assert_null(hl_waiting_run_take(runs, numbers[1], &app_id));
    hl_waiting_run_drop(runs, numbers[1]);
    cr_assert_eq(hl_waiting_run_take(runs, numbers[0], &app_id), claimed);
    cr_assert(fits(numbers[1], (struct hl_accept){0}));
    hl_claimed_free(claimed);
}

Test(waiting_run, that_was_dropped_or_forgotten_leaves_its_place)
{
    put(numbers[0]);
    hl_waiting_run_drop(runs, numbers[0]);
    cr_assert(fits(numbers[1], (struct hl_accept){0}));
    put(numbers[1]);
    hl_waiting_run_forget(runs);
    cr_assert_null(hl_waiting_run_take(runs, numbers[1], &app_id));
    cr_assert(fits(numbers[0], (struct hl_accept){0}));
}

Test(waiting_run, that_is_large_is_not_remembered_but_a_body_in_a_file_does_not_count)
{
    struct hl_accept a = {.head = {"", 2000}, .body = {.where = HL_BODY_INLINE, .size = 100}};
    cr_assert_not(fits(numbers[0], a));
    a.body.where = HL_BODY_FILE;
    cr_assert(fits(numbers[0], a));
}
