/* test_memory.c - what only the memory driver promises. */
#include <criterion/criterion.h>
#include <unistd.h>

#include "fixture.h"
#include "store/accept.h"
#include "store/claim.h"
#include "store/lease.h"
#include "store/memory/memory.h"
#include "store/question.h"
#include "store/store.h"

Test(memory, i17_nothing_is_written_to_any_file)
{
    struct fixture f;
    fixture_init(&f, HL_STORE_MEMORY);
    fixture_open(&f);
    cr_assert_null(hl_store_data_dir(f.store));
    struct hl_leased *l = lease_one(&f, "https://e.org/hook");
    cr_assert_eq(say_outcome(&f, l, 1, HL_ATTEMPT_DEAD), HL_OK);
    hl_leased_free(l);
    fixture_close(&f);
    cr_assert_eq(rmdir(f.dir), 0, "the data directory is empty");
    fixture_fini(&f);
}

Test(memory, nothing_is_left_for_the_next_process)
{
    struct fixture f;
    struct hl_id id;
    struct hl_get_run g;
    fixture_init(&f, HL_STORE_MEMORY);
    fixture_open(&f);
    cr_assert_eq(accept_run(&f, (struct run_spec){.key = "k"}, &id), HL_OK);
    fixture_reopen(&f);
    cr_assert_eq(get_run(&f, &id, &g), HL_ERR_NOT_FOUND);
    cr_assert_eq(accept_run(&f, (struct run_spec){.key = "k"}, NULL), HL_OK);
    fixture_fini(&f);
}

Test(memory, shedding_looks_at_so_many_in_a_step_and_at_none_twice)
{
    enum { RUNS = 1000, LOOKS = 256 };
    struct fixture f;
    struct hl_backlog backlog;
    struct hl_driver *d;
    fixture_init(&f, HL_STORE_MEMORY);
    f.config.store_max_bytes = (struct hl_store_limit){.bytes = 1};
    hl_backlog_init(&backlog, RUNS, RUNS, 256, 4);
    cr_assert_eq(hl_memory_open(&d, &f.config, &backlog), HL_OK);
    struct hl_memory *m = hl_memory_of(d);
    hl_backlog_begin(&backlog);
    for (int i = 0; i < RUNS; i++) {
        struct run_spec spec = {.url = i < RUNS - 1 ? "https://e.org/" : NULL};
        struct hl_accept *a = make_accept(&f, HL_STORE_RECORD, &spec);
        struct hl_finish *finish = make_finish(&a->run_id, 1, "answer");
        cr_assert_eq(d->vt->record(d, a), HL_OK);
        cr_assert_eq(d->vt->finish(d, finish), HL_OK);
        hl_accept_free(a);
        hl_finish_free(finish);
    }
    hl_backlog_commit(&backlog);
    for (uint64_t passed = 0; d->vt->shed(d, 16) == HL_OK; passed = m->n_passed)
        cr_assert_leq(m->n_passed - passed, LOOKS);
    cr_assert_eq(m->n_kept, RUNS - 1, "the one without a delivery gave its body");
    cr_assert_eq(m->n_passed, RUNS - 1);
    const struct hl_list *first = m->kept.next;
    cr_assert_eq(d->vt->shed(d, 16), HL_ERR_NOT_FOUND);
    cr_assert_eq(m->kept.next, first, "nothing is looked at");
    d->vt->close(d);
    hl_backlog_fini(&backlog);
    fixture_fini(&f);
}
