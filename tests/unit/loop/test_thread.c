#include <criterion/criterion.h>
#include <signal.h>

#include "loop/thread.h"

struct seen {
    char name[16];
    sigset_t mask;
};

static void look(void *arg)
{
    struct seen *seen = arg;
    pthread_getname_np(pthread_self(), seen->name, sizeof(seen->name));
    pthread_sigmask(SIG_BLOCK, NULL, &seen->mask);
}

Test(thread, has_its_name_and_takes_no_signal)
{
    struct hl_thread thread;
    struct seen seen;
    sigset_t own;
    cr_assert_eq(hl_thread_start(&thread, "a-name-longer-than-15", look, &seen), 0);
    hl_thread_join(&thread);
    cr_assert_str_eq(seen.name, "a-name-longer-t");
    cr_assert(sigismember(&seen.mask, SIGTERM) && sigismember(&seen.mask, SIGCHLD));
    pthread_sigmask(SIG_BLOCK, NULL, &own);
    cr_assert_not(sigismember(&own, SIGTERM));
}
