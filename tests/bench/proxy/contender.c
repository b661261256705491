/* contender.c - what the kernel tells of another process. */
#include "contender.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct contender contender_parse(const char *text)
{
    struct contender c;
    if (sscanf(text, "%23[^:]:%d:%d", c.name, &c.port, &c.pid) == 3)
        return c;
    fprintf(stderr, "not name:port:pid: %s\n", text);
    exit(2);
}

double contender_cpu_us(const struct contender *contender)
{
    clockid_t clock;
    struct timespec t;
    if (clock_getcpuclockid(contender->pid, &clock) != 0 || clock_gettime(clock, &t) != 0) {
        fprintf(stderr, "%s has ended\n", contender->name);
        exit(1);
    }
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

double process_rss_kib(pid_t pid)
{
    char path[32], line[256];
    double kib = 0;
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    FILE *status = fopen(path, "r");
    while (status && fgets(line, sizeof line, status))
        if (sscanf(line, "RssAnon: %lf", &kib) == 1)
            break;
    if (status)
        fclose(status);
    return kib;
}
