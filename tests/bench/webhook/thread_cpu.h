/* thread_cpu.h - what one thread of another process has used. */
#ifndef BENCH_THREAD_CPU_H
#define BENCH_THREAD_CPU_H

#include <sys/types.h>

/* User and system time of its thread of that name, in microseconds; the program ends when there is
 * none. As exact as the scheduler's own count, where the kernel tells it. */
double thread_cpu_us(pid_t pid, const char *name);

#endif
