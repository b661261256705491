/* test_memory.c - what only the memory driver promises. */
#include <criterion/criterion.h>
#include <unistd.h>

#include "fixture.h"

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
