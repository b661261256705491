/* cpu.h - how many processors this process may use. */
#ifndef HL_CONFIG_CPU_H
#define HL_CONFIG_CPU_H

/* The cgroup's CPU quota rounded up (version 2 or 1, the least of all levels), at most the
 * processors that the scheduler may use for us. At least 1. Reads files: at start only. */
unsigned hl_cpu_count(void);

/* The quota alone, 0 if there is none; `root` stands before /proc and /sys. For tests. */
unsigned hl_cpu_quota(const char *root);

#endif
