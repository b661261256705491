/* thread_cpu.c - /proc/PID/task/TID/schedstat, whose first number is nanoseconds on a processor; stat
 * has the same in ticks of 10 ms, too coarse for a round. */
#include "thread_cpu.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool read_line(pid_t pid, const char *task, const char *file, char *line, int n)
{
    char path[320];
    snprintf(path, sizeof path, "/proc/%d/task/%s/%s", pid, task, file);
    FILE *f = fopen(path, "r");
    bool is_read = f && fgets(line, n, f);
    if (f)
        fclose(f);
    return is_read;
}

double thread_cpu_us(pid_t pid, const char *name)
{
    char path[32], line[256];
    double us = -1;
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *tasks = opendir(path);
    for (struct dirent *task; tasks && us < 0 && (task = readdir(tasks));)
        if (read_line(pid, task->d_name, "comm", line, sizeof line) &&
            strncmp(line, name, strlen(name)) == 0 &&
            read_line(pid, task->d_name, "schedstat", line, sizeof line))
            us = strtod(line, NULL) / 1000;
    if (tasks)
        closedir(tasks);
    if (us < 0) {
        fprintf(stderr, "process %d has no thread %s\n", pid, name);
        exit(1);
    }
    return us;
}
