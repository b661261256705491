/* contender.h - a proxy that runs already: where it listens, and what it has used so far. */
#ifndef BENCH_CONTENDER_H
#define BENCH_CONTENDER_H

#include <sys/types.h>

struct contender {
    char name[24];
    int port;
    pid_t pid;
};

/* Reads "name:port:pid"; ends the program when it is anything else. */
struct contender contender_parse(const char *text);

/* User and system time of all threads that it has or had, in microseconds. */
double contender_cpu_us(const struct contender *contender);

/* RssAnon of a process, in KiB: the memory that is its own, without what it maps from files. */
double process_rss_kib(pid_t pid);

#endif
