/* What a process does not free is found where nothing points to it any more (tests/sanitizer/globals.c decides where
 * pointers are looked for). */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__

static void *volatile lost;
static void *in_bss[64 * 1024];
static void *in_data[64 * 1024] = {in_data};

static void nowhere(void)
{
    for (int i = 0; i < 10; i++) /* one may still stand in a register */
        lost = malloc(1234);
    lost = NULL;
}

static void in_globals(void)
{
    in_bss[44444] = malloc(1234);
    in_data[55555] = malloc(1234);
    in_data[0] = malloc(1234);
}

/* setenv keeps it in what libc has allocated, which a variable of libc leads to. */
static void in_a_library(void)
{
    setenv("HOOKLINE_TEST_LEAK", "x", 1);
}

/* What the sanitizer says at the end of a process that does this. */
static void end_after(void (*body)(void), char *said, size_t size)
{
    int output[2], status;
    size_t n = 0;
    cr_assert_eq(pipe(output), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(output[1], STDERR_FILENO);
        close(output[0]);
        close(output[1]);
        body();
        exit(0);
    }
    close(output[1]);
    for (ssize_t got; (got = read(output[0], said + n, size - 1 - n)) > 0;)
        n += (size_t)got;
    said[n] = '\0';
    close(output[0]);
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    cr_assert_eq(WIFEXITED(status) && WEXITSTATUS(status) == 0, n == 0, "%s", said);
}

Test(leak, is_what_nothing_points_to)
{
    char said[16384];
    end_after(nowhere, said, sizeof(said));
    cr_assert(strstr(said, "Direct leak of "), "%s", said);
}

Test(leak, is_not_what_a_global_variable_points_to)
{
    char said[16384];
    end_after(in_globals, said, sizeof(said));
    cr_assert_str_empty(said);
}

Test(leak, is_not_what_a_library_points_to)
{
    char said[16384];
    end_after(in_a_library, said, sizeof(said));
    cr_assert_str_empty(said);
}

#endif
