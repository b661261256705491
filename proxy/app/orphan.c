/* orphan.c - children that we did not start.
 * Thread: control. The process forks in child.c only, so whatever else is our child is an orphan.
 * Not here: the app's first process (supervisor.c waits for it by its id). */
#include "app/orphan.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"

void hl_orphan_adopt(void)
{
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
        HL_LOG(WARN, "cannot become the parent of processes that the app leaves behind");
}

void hl_orphan_reap(pid_t own)
{
    for (;;) {
        siginfo_t info = {0};
        /* Looked at first, taken afterwards: the status of `own` belongs to its waiter. */
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0 ||
            info.si_pid == own)
            return;
        waitpid(info.si_pid, NULL, WNOHANG);
    }
}

/* The children that the kernel lists for one of our threads. */
static unsigned kill_children_of(const char *thread)
{
    char path[64];
    int pid;
    unsigned killed = 0;
    snprintf(path, sizeof(path), "/proc/self/task/%.20s/children", thread);
    FILE *list = fopen(path, "re");
    if (!list)
        return 0;
    while (fscanf(list, "%d", &pid) == 1)
        if (getsid(pid) != getsid(0) && kill(pid, SIGKILL) == 0)
            killed++;
    fclose(list);
    return killed;
}

unsigned hl_orphan_kill(void)
{
    unsigned killed = 0;
    struct dirent *entry;
    DIR *threads = opendir("/proc/self/task");
    if (!threads)
        return 0;
    while ((entry = readdir(threads)) != NULL)
        if (entry->d_name[0] != '.')
            killed += kill_children_of(entry->d_name);
    closedir(threads);
    return killed;
}
