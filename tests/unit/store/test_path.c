/* test_path.c - a small file is there whole or not at all. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "store/path.h"

static char dir[] = "/tmp/hookline-path-XXXXXX", path[64], tmp[64];

static void setup(void)
{
    cr_assert(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/file", dir);
    snprintf(tmp, sizeof(tmp), "%s/file.new", dir);
}

static void teardown(void)
{
    unlink(path);
    rmdir(dir);
}

TestSuite(path, .init = setup, .fini = teardown);

Test(path, reads_what_it_wrote)
{
    char text[16];
    size_t n;
    cr_assert_eq(hl_path_write(path, "0123456789", 10), HL_OK);
    cr_assert_eq(hl_path_read(path, text, sizeof(text), &n), HL_OK);
    cr_assert_eq(n, 10);
    cr_assert_str_eq(text, "0123456789");
    cr_assert_neq(access(tmp, F_OK), 0);
}

/* The write stops short without an error of its own. */
Test(path, write_that_stops_short_is_an_error_and_leaves_the_old_file)
{
    char text[16];
    size_t n;
    const struct rlimit small = {4, RLIM_INFINITY}, none = {RLIM_INFINITY, RLIM_INFINITY};
    cr_assert_eq(hl_path_write(path, "old", 3), HL_OK);
    signal(SIGXFSZ, SIG_IGN);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    enum hl_err err = hl_path_write(path, "0123456789", 10);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &none), 0);
    cr_assert_neq(err, HL_OK);
    cr_assert_eq(hl_path_read(path, text, sizeof(text), &n), HL_OK);
    cr_assert_str_eq(text, "old");
    cr_assert_neq(access(tmp, F_OK), 0);
}
