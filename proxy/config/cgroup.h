/* cgroup.h - limits of this process's cgroups, for cpu.c and memory.c. */
#ifndef HL_CONFIG_CGROUP_H
#define HL_CONFIG_CGROUP_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#define HL_CGROUP_LINE 64

struct hl_cgroup_limit {
    const char *controller; /* of version 1, and its directory below /sys/fs/cgroup */
    /* What the files in a directory say; 0: there is no limit. */
    uint64_t (*read_v2)(const char *directory);
    uint64_t (*read_v1)(const char *directory);
};

/* The least at all levels, 0: there is none. `root` stands before /proc and /sys. */
uint64_t hl_cgroup_least(const char *root, const struct hl_cgroup_limit *limit);

/* The first line of a file there, without its end. */
bool hl_cgroup_read_line(const char *directory, const char *name, char out[HL_CGROUP_LINE]);
/* The number in it; 0: none. */
int64_t hl_cgroup_read_number(const char *directory, const char *name);

#endif
