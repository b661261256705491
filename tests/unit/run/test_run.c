/* test_run.c - the memory of a run. */
#include "run/run.h"

#include <criterion/criterion.h>

#include "runs_fixture.h"

TestSuite(run, .init = runs_begin, .fini = runs_end, .timeout = 180);

Test(run, is_new_with_an_id_of_its_own_and_nothing_attached)
{
    struct hl_run *a = run_new(), *b = run_new();
    cr_assert_not(hl_id_eq(&a->id, &b->id));
    cr_assert(a->stage == HL_STAGE_NEW && a->request.half == HL_REQUEST_HELD);
    cr_assert(a->response.half == HL_RESPONSE_HEAD && a->store.record == HL_RECORD_NONE);
    cr_assert_eq(hl_run_mode(a), HL_MODE_SYNC);
    cr_assert_eq(run_count(), 2);
}

Test(run, has_ended_but_can_be_looked_at_until_the_turn_ends)
{
    struct hl_run *run = run_new();
    run_record(run);
    struct hl_slot_name name = run->name;
    hl_run_free(run);
    cr_assert(hl_run_has_ended(run));
    cr_assert_eq(run->response.half, HL_RESPONSE_DONE);
    cr_assert_eq(run_count(), 0);
    cr_assert_null(hl_slot_find(runs.slots, name), "no answer finds it any more");
    cr_assert_eq(runs.memory.in_use, 1);
    hl_runs_free_ended(&runs);
    cr_assert_eq(runs.memory.in_use, 0);
}

Test(run, gives_its_page_back_whatever_size_it_has)
{
    struct hl_run *small = run_new(), *large = run_new();
    cr_assert(hl_page_make(&small->request.page, &runs.pages, HL_PAGE_SIZE));
    cr_assert(hl_page_make(&large->request.page, &runs.pages, 3 * HL_PAGE_SIZE));
    cr_assert_eq(runs.pages.slab.in_use, 1, "the large one is from the heap");
    hl_run_free(small);
    hl_run_free(large);
    cr_assert_eq(runs.pages.slab.in_use, 0);
}

Test(run, is_counted_as_what_its_answer_makes_of_it)
{
    struct hl_run *run = run_new();
    run->response.is_event_stream = true;
    cr_assert_eq(hl_run_mode(run), HL_MODE_STREAM);
    run->response.status = 101;
    cr_assert_eq(hl_run_mode(run), HL_MODE_TUNNEL);
}
