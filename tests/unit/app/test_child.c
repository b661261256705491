/* test_child.c - fork and exec: which program, with what, and how its failure is told. */
#include "app/child.h"
#include "config/command.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct hl_child child;
static char text[4096]; /* what it wrote to stdout */
static int status;

/* Runs words to their end. */
static void run_as(const struct hl_user *user, const char *const words[])
{
    char *const environment[] = {"PATH=/usr/bin:/bin", "ONLY=this", NULL};
    struct hl_child_plan plan = {.path = words[0],
        .argv = (char *const *)words,
        .environment = environment,
        .user = user,
        .files = {.rlim_cur = 99, .rlim_max = 1000}};
    cr_assert_eq(hl_child_start(&child, &plan), 0);
    cr_assert_gt(child.pid, 0);
    cr_assert_eq(waitpid(child.pid, &status, 0), child.pid);
    ssize_t n = read(child.output[0], text, sizeof(text) - 1);
    text[n > 0 ? n : 0] = '\0';
}

#define RUN(...) run_as(NULL, (const char *const[]){__VA_ARGS__, NULL})

static void end(void)
{
    hl_child_close(&child);
}

TestSuite(child, .fini = end, .timeout = 180);

Test(child, runs_its_program_with_its_words_and_environment)
{
    struct hl_child_failure failure;
    RUN("/bin/sh", "-c", "echo \"$0 $1 $ONLY\"; cd /; exit 5", "zero", "one two");
    cr_assert_str_eq(text, "zero one two this\n");
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 5);
    cr_assert_not(hl_child_has_failed(&child, &failure));
}

Test(child, is_a_session_and_a_group_of_its_own)
{
    RUN("/bin/sh", "-c", "cut -d' ' -f 1,5,6 /proc/$$/stat");
    int pid, group, session;
    cr_assert_eq(sscanf(text, "%d %d %d", &pid, &group, &session), 3, "%s", text);
    cr_assert_eq(pid, child.pid);
    cr_assert_eq(group, pid);
    cr_assert_eq(session, pid);
}

Test(child, has_three_descriptors_whatever_is_open_here)
{
    for (int i = 0; i < 50; i++)
        cr_assert_geq(open("/dev/null", O_RDONLY), 0); /* without O_CLOEXEC, as libraries may */
    RUN("/bin/sh", "-c",
        "for fd in $(seq 0 98); do [ -e /proc/$$/fd/$fd ] && echo $fd; done; ulimit -S -n");
    cr_assert_str_eq(text, "0\n1\n2\n99\n");
}

Test(child, is_started_though_0_to_2_are_taken_by_others)
{
    int saved = dup(STDERR_FILENO);
    close(STDIN_FILENO);
    close(STDERR_FILENO);
    RUN("/bin/sh", "-c", "echo out; readlink /proc/$$/fd/0");
    dup2(saved, STDERR_FILENO);
    cr_assert_str_eq(text, "out\n/dev/null\n");
}

Test(child, has_its_signals_as_the_system_has_them)
{
    sigset_t blocked;
    signal(SIGPIPE, SIG_IGN);
    signal(SIGUSR1, SIG_IGN);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    RUN("/bin/grep", "-h", "Sig[BI]", "/proc/self/status");
    cr_assert_str_eq(text, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
    sigprocmask(SIG_BLOCK, NULL, &blocked);
    cr_assert(sigismember(&blocked, SIGTERM), "and ours are as they were");
}

Test(child, tells_that_its_program_cannot_be_run)
{
    struct hl_child_failure failure;
    RUN("/no/such/program");
    cr_assert(hl_child_has_failed(&child, &failure));
    cr_assert_eq(failure.step, HL_CHILD_STEP_EXEC);
    cr_assert_eq(failure.error, ENOENT);
}

Test(child, tells_that_it_cannot_become_its_user)
{
    if (geteuid() == 0)
        cr_assert_eq(setresuid(1, 1, 1), 0);
    struct hl_child_failure failure;
    struct hl_user user = {.uid = 2, .gid = 2, .groups = {2}, .group_count = 1};
    run_as(&user, (const char *const[]){"/bin/true", NULL});
    cr_assert(hl_child_has_failed(&child, &failure));
    cr_assert_eq(failure.step, HL_CHILD_STEP_USER);
    cr_assert_eq(failure.error, EPERM);
}

Test(child, becomes_its_user)
{
    if (geteuid() != 0)
        return;
    struct hl_user user = {.uid = 1234, .gid = 2345, .groups = {2345, 77}, .group_count = 2};
    run_as(&user,
        (const char *const[]){"/bin/grep", "-hE", "^(Uid|Gid|Groups)", "/proc/self/status", NULL});
    cr_assert_str_eq(text, "Uid:\t1234\t1234\t1234\t1234\nGid:\t2345\t2345\t2345\t2345\n"
                           "Groups:\t77 2345 \n");
}

Test(child, is_killed_when_its_parent_ends)
{
    int report[2];
    pid_t pid = 0;
    cr_assert_eq(pipe(report), 0);
    pid_t parent = fork();
    if (parent == 0) {
        struct hl_child_plan plan = {.path = "/bin/sleep",
            .argv = (char *const[]){"sleep", "1000", NULL},
            .environment = (char *const[]){NULL},
            .files = {.rlim_cur = 99, .rlim_max = 99}};
        struct pollfd started;
        _exit(hl_child_start(&child, &plan) == 0 &&
                      (started.fd = child.failure_pipe, started.events = POLLIN, true) &&
                      poll(&started, 1, 10000) == 1 && /* closed by the exec */
                      write(report[1], &child.pid, sizeof(pid)) == sizeof(pid)
                  ? 0
                  : 1);
    }
    cr_assert_eq(waitpid(parent, &status, 0), parent);
    cr_assert_eq(status, 0);
    cr_assert_eq(read(report[0], &pid, sizeof(pid)), sizeof(pid));
    while (kill(pid, 0) == 0) {
        char path[64], state = 'Z';
        snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
        FILE *stat = fopen(path, "re");
        if (stat && fscanf(stat, "%*d %*s %c", &state) != 1)
            state = 'Z';
        if (stat)
            fclose(stat);
        if (state == 'Z')
            break; /* dead; whoever inherited it has not looked yet */
        usleep(1000);
    }
}

/* ---- which program ---- */

static char directory[] = "/tmp/hookline-child-XXXXXX";

static void make_file(const char *name, mode_t mode)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    int fd = open(path, O_CREAT | O_WRONLY, mode);
    cr_assert_geq(fd, 0);
    fchmod(fd, mode);
    close(fd);
}

Test(child, finds_its_program_as_a_shell_does)
{
    char path[256], found[512], expected[512];
    cr_assert(mkdtemp(directory));
    make_file("plain-file", 0644);
    make_file("program", 0755);
    snprintf(path, sizeof(path), "PATH=/no/such:%s:/bin", directory);
    char *const environment[] = {"A=b", path, NULL};
    cr_assert(hl_child_find("program", environment, found, sizeof(found)));
    snprintf(expected, sizeof(expected), "%s/program", directory);
    cr_assert_str_eq(found, expected);
    cr_assert(hl_child_find("sh", environment, found, sizeof(found)));
    cr_assert_str_eq(found, "/bin/sh");
    cr_assert(hl_child_find("/bin/sh", environment, found, sizeof(found)));
    cr_assert_str_eq(found, "/bin/sh");

    cr_assert_not(hl_child_find("no-such-program", environment, found, sizeof(found)));
    cr_assert_eq(errno, ENOENT);
    cr_assert_not(hl_child_find("plain-file", environment, found, sizeof(found)));
    cr_assert_eq(errno, EACCES);
    cr_assert_not(hl_child_find("./sh", environment, found, sizeof(found)));
    cr_assert_eq(errno, ENOENT);
    cr_assert_not(hl_child_find("/bin", environment, found, sizeof(found)));
    cr_assert_eq(errno, EACCES);
    cr_assert_not(hl_child_find("sh", environment, found, 5));
    cr_assert(hl_child_find("sh", (char *const[]){NULL}, found, sizeof(found)), "a default PATH");

    char command[160];
    snprintf(command, sizeof(command), "rm -r %s", directory);
    cr_assert_eq(system(command), 0);
}
