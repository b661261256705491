/* test_imported_mark.c - the mark in a directory whose store was taken elsewhere. */
#include "base/id.h"
#include "store/data_dir.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char directory[] = "/tmp/hookline-moved-XXXXXX";
static char path[64], why[512];

static void begin(void)
{
    cr_assert_not_null(mkdtemp(directory));
    snprintf(path, sizeof(path), "%s/moved", directory);
}

static void end(void)
{
    unlink(path);
    rmdir(directory);
}

TestSuite(imported_mark, .init = begin, .fini = end);

Test(imported_mark, is_not_where_there_is_no_mark)
{
    struct hl_id id;
    cr_assert_eq(hl_imported_mark_read(directory, &id), HL_ERR_NOT_FOUND);
    cr_assert_eq(hl_imported_mark_check(directory, why, sizeof(why)), HL_OK);
}

Test(imported_mark, says_which_move_it_was_and_stops_a_start)
{
    const struct hl_id id = {{1, 2, 3, 4, 5, 6, 0x70, 8, 0x90, 10, 11, 12, 13, 14, 15, 16}};
    struct hl_id read;
    cr_assert_eq(hl_imported_mark_write(directory, &id, "elsewhere"), HL_OK);
    cr_assert_eq(hl_imported_mark_read(directory, &read), HL_OK);
    cr_assert(hl_id_eq(&id, &read));
    cr_assert_eq(hl_imported_mark_check(directory, why, sizeof(why)), HL_ERR_DENIED);
    cr_assert(strstr(why, "HOOKLINE_DATA_DIR: ") == why && strstr(why, path), "%s", why);
}

Test(imported_mark, is_a_mark_whatever_is_in_it)
{
    struct hl_id id;
    FILE *file = fopen(path, "w");
    cr_assert(file && fputs("I was here", file) >= 0 && fclose(file) == 0);
    cr_assert_eq(hl_imported_mark_read(directory, &id), HL_ERR_INVALID);
    cr_assert_eq(hl_imported_mark_check(directory, why, sizeof(why)), HL_ERR_DENIED);
}
