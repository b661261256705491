#include <criterion/criterion.h>
#include <limits.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/bundle.h"

static char **enter(char **environment)
{
    hl_bundle_enter(environment);
    return environment;
}

Test(bundle, gives_back_the_environment_that_the_launcher_was_given)
{
    char *environment[] = {"HOOKLINE_BUNDLE_PROGRAM=/opt/hookline/hookline", "A=1",
        "HOOKLINE_BUNDLE_HIDDEN_LD_PRELOAD=/lib/x.so", "HOOKLINE_LISTEN=:1",
        "HOOKLINE_BUNDLE_HIDDEN_LD_LIBRARY_PATH=", NULL};
    char *given[] = {"A=1", "LD_PRELOAD=/lib/x.so", "HOOKLINE_LISTEN=:1", "LD_LIBRARY_PATH="};
    enter(environment);
    for (size_t i = 0; i < 4; i++)
        cr_assert_str_eq(environment[i], given[i]);
    cr_assert_null(environment[4]);
}

Test(bundle, is_started_again_by_the_launcher_and_has_its_name)
{
    char path[PATH_MAX], name[16];
    enter((char *[]){"HOOKLINE_BUNDLE_PROGRAM=/opt/a folder/hookline", NULL});
    cr_assert(hl_bundle_program(path, sizeof(path)));
    cr_assert_str_eq(path, "/opt/a folder/hookline");
    cr_assert_str_eq(hl_bundle_authorities(), "/opt/a folder/ca-certificates.crt");
    cr_assert_eq(prctl(PR_GET_NAME, name), 0);
    cr_assert_str_eq(name, "hookline");
}

Test(bundle, is_none_where_no_launcher_was)
{
    char *environment[] = {"LD_PRELOAD=/lib/x.so", "A=1", NULL}, path[PATH_MAX];
    enter(environment);
    cr_assert_str_eq(environment[0], "LD_PRELOAD=/lib/x.so");
    cr_assert_str_eq(environment[1], "A=1");
    cr_assert_null(environment[2]);
    cr_assert(hl_bundle_program(path, sizeof(path)));
    cr_assert_str_eq(strrchr(path, '/'), "/test_base");
    cr_assert_null(hl_bundle_authorities());
}

Test(bundle, tells_when_a_path_has_no_room)
{
    char path[8];
    enter((char *[]){"HOOKLINE_BUNDLE_PROGRAM=/opt/hookline/hookline", NULL});
    cr_assert_not(hl_bundle_program(path, sizeof(path)));
}
