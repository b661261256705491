#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/crash_point.h"

/* The status of a process that passes one point three times. */
static int pass_thrice(const char *wish, enum hl_crash_point point)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        if (!hl_crash_point_arm(wish))
            _exit(2);
        for (int i = 0; i < 3; i++)
            hl_crash_point_pass(point);
        _exit(0);
    }
    waitpid(child, &status, 0);
    return status;
}

static bool is_killed(int status)
{
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

Test(crash_point, kills_at_the_passage_that_was_asked_for)
{
    cr_assert(is_killed(pass_thrice("accept-applied:1", HL_CRASH_ACCEPT_APPLIED)));
    cr_assert(is_killed(pass_thrice("accept-applied:3", HL_CRASH_ACCEPT_APPLIED)));
    cr_assert_eq(pass_thrice("accept-applied:4", HL_CRASH_ACCEPT_APPLIED), 0, "not reached");
    cr_assert_eq(pass_thrice("accept-applied:1", HL_CRASH_ACCEPT_COMMITTED), 0, "another point");
}

Test(crash_point, takes_only_a_name_and_a_number)
{
    static const char *const wrong[] = {"", ":", ":1", "accept-applied",
        "accept-applied:", "accept-applied:0", "accept-applied:1x", "accept:1", "accept-applied2:1",
        "list"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        cr_expect_not(hl_crash_point_arm(wrong[i]), "%s", wrong[i]);
}

Test(crash_point, names_are_distinct)
{
    for (int i = 0; i < HL_CRASH_POINT_COUNT; i++)
        for (int j = 0; j < i; j++)
            cr_expect_str_neq(hl_crash_point_text(i), hl_crash_point_text(j));
}
