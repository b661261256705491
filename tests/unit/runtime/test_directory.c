/* test_directory.c - functions' names: which are allowed, which path finds which. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "core/directory.h"
#include "core/server.h"

static char why[HL_SETTINGS_WHY];

static enum hl_err make(struct hl_directory *d, const char *name)
{
    static struct hl_callee callee;
    callee.name = name;
    return hl_directory_init(d, &callee, 1, why);
}

Test(directory, finds_a_function_by_its_path)
{
    static const struct hl_callee callees[] = {{.name = "run"}, {.name = "other", .is_raw = true}};
    struct hl_directory d;
    cr_assert_eq(hl_directory_init(&d, callees, 2, why), HL_OK);
    cr_assert_eq(hl_directory_find(&d, HL_STR("/run")), 0);
    cr_assert_eq(hl_directory_find(&d, HL_STR("/other")), 1);
    static const char *const strangers[] = {"", "/", "run", "/Run", "/run/", "/runs", "//run", "*"};
    for (size_t i = 0; i < HL_ARRAY_LEN(strangers); i++)
        cr_expect_eq(hl_directory_find(&d, hl_str_from(strangers[i])), HL_DIRECTORY_NONE, "%s",
            strangers[i]);
    cr_assert_str_eq(d.unknown.p, "There is no function of that name; available are: run, other.");
    hl_directory_fini(&d);
}

Test(directory, lists_each_function_with_what_it_takes)
{
    static const struct hl_callee callees[] = {
        {.name = "run", .input = "{\"type\":\"object\"}"}, {.name = "other", .is_raw = true}};
    struct hl_directory d;
    cr_assert_eq(hl_directory_init(&d, callees, 2, why), HL_OK);
    cr_expect(hl_str_eq(hl_buf_str(&d.listing),
        HL_STR("{\"functions\":[{\"name\":\"run\",\"input\":{\"type\":\"object\"}},"
               "{\"name\":\"other\",\"input\":null}]}")));
    hl_directory_fini(&d);
    cr_assert_eq(hl_directory_init(&d, callees, 0, why), HL_OK);
    cr_expect(hl_str_eq(hl_buf_str(&d.listing), HL_STR("{\"functions\":[]}")));
    hl_directory_fini(&d);
}

Test(directory, takes_identifiers_and_nothing_else)
{
    struct hl_directory d;
    static const char *const good[] = {"a", "Z9", "run_all", "healthz2", "Model/run", "a/b"};
    static const char *const bad[] = {"", "_run", "9a", "a-b", "a.b", "a/", "/a", "a//b", "a/b/c",
        "a/_b", "_a/b", "a b", "\xc3\xa4", "healthz"};
    for (size_t i = 0; i < HL_ARRAY_LEN(good); i++) {
        cr_expect_eq(make(&d, good[i]), HL_OK, "%s", good[i]);
        hl_directory_fini(&d);
    }
    for (size_t i = 0; i < HL_ARRAY_LEN(bad); i++)
        cr_expect_eq(make(&d, bad[i]), HL_ERR_INVALID, "%s", bad[i]);
    char name[130];
    memset(name, 'a', sizeof(name));
    name[129] = '\0';
    cr_expect_eq(make(&d, name), HL_ERR_INVALID);
    name[128] = '\0';
    cr_expect_eq(make(&d, name), HL_OK);
    hl_directory_fini(&d);
}

Test(directory, refuses_a_name_twice)
{
    static const struct hl_callee callees[] = {
        {.name = "run"}, {.name = "a"}, {.name = "run", .is_raw = true}};
    struct hl_directory d;
    cr_assert_eq(hl_directory_init(&d, callees, 3, why), HL_ERR_INVALID);
    cr_assert_str_eq(why, "there are two functions named 'run'");
}

Test(directory, names_some_of_very_many)
{
    static char names[1000][16];
    static struct hl_callee callees[1000];
    struct hl_directory d;
    for (int i = 0; i < 1000; i++) {
        snprintf(names[i], sizeof(names[i]), "function_%d", i);
        callees[i].name = names[i];
    }
    cr_assert_eq(hl_directory_init(&d, callees, 1000, why), HL_OK);
    cr_assert_eq(hl_directory_find(&d, HL_STR("/function_999")), 999);
    cr_assert_lt(d.unknown.n, 1000);
    cr_assert(strstr(d.unknown.p, ", and more."));
    hl_directory_fini(&d);
}
