/* cpu.c - how many processors this process may use: affinity, and the CPU quota of its cgroup.
 * In a container the cgroup's own directory is often mounted as the root of /sys/fs/cgroup while
 * /proc still names the host's path, so a path that is not there is shortened until it is. Runs at
 * start. */
#include "config/settle.h"

#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Reads the first line of a file, without its end. */
static bool read_line(const char *path, char *out, int n)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    bool is_read = fgets(out, n, file) != NULL;
    fclose(file);
    if (is_read)
        out[strcspn(out, "\n")] = '\0';
    return is_read;
}

static unsigned round_up(int64_t quota_us, int64_t period_us)
{
    if (quota_us <= 0 || period_us <= 0)
        return 0;
    int64_t n = (quota_us - 1) / period_us + 1;
    return n > UINT_MAX ? UINT_MAX : (unsigned)n;
}

static unsigned quota_v2(const char *directory)
{
    char path[PATH_MAX + 32], line[64];
    int64_t quota, period;
    snprintf(path, sizeof(path), "%s/cpu.max", directory);
    if (!read_line(path, line, sizeof(line)))
        return 0;
    /* "max 100000" is neither a quota nor a number. */
    return sscanf(line, "%" SCNd64 " %" SCNd64, &quota, &period) == 2 ? round_up(quota, period) : 0;
}

static int64_t read_number(const char *directory, const char *name)
{
    char path[PATH_MAX + 32], line[64];
    int64_t v;
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    return read_line(path, line, sizeof(line)) && sscanf(line, "%" SCNd64, &v) == 1 ? v : 0;
}

static unsigned quota_v1(const char *directory)
{
    return round_up(
        read_number(directory, "cpu.cfs_quota_us"), read_number(directory, "cpu.cfs_period_us"));
}

static unsigned lesser(unsigned a, unsigned b)
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}

/* The least quota of `path` below `mount` and of all that is above it: a parent's binds its
 * children. */
static unsigned least_quota(const char *mount, const char *path, unsigned (*quota)(const char *))
{
    char directory[PATH_MAX];
    size_t root = strlen(mount);
    unsigned least = 0;
    if (snprintf(directory, sizeof(directory), "%s%s", mount, path) >= (int)sizeof(directory))
        return quota(mount);
    for (;;) {
        least = lesser(least, quota(directory));
        char *slash = strrchr(directory + root, '/');
        if (!slash)
            return least;
        *slash = '\0';
    }
}

static bool names_cpu(char *controllers)
{
    char *rest;
    for (char *name = strtok_r(controllers, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
        if (strcmp(name, "cpu") == 0)
            return true;
    }
    return false;
}

/* A line of /proc/self/cgroup: id, controllers, path, with colons between. */
static unsigned quota_of_line(const char *root, char *line)
{
    char mount[PATH_MAX];
    char *controllers = strchr(line, ':');
    char *path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!path)
        return 0;
    *controllers++ = '\0';
    *path++ = '\0';
    if (strcmp(line, "0") == 0 && *controllers == '\0') {
        snprintf(mount, sizeof(mount), "%s/sys/fs/cgroup", root);
        return least_quota(mount, path, quota_v2);
    }
    snprintf(mount, sizeof(mount), "%s/sys/fs/cgroup/cpu", root);
    return names_cpu(controllers) ? least_quota(mount, path, quota_v1) : 0;
}

unsigned hl_cpu_quota(const char *root)
{
    char path[PATH_MAX], line[PATH_MAX];
    unsigned least = 0;
    snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    while (fgets(line, sizeof(line), file)) {
        line[strcspn(line, "\n")] = '\0';
        least = lesser(least, quota_of_line(root, line));
    }
    fclose(file);
    return least;
}

unsigned hl_cpu_count(void)
{
    cpu_set_t set;
    unsigned cores = 1, quota = hl_cpu_quota("");
    if (sched_getaffinity(0, sizeof(set), &set) == 0)
        cores = (unsigned)CPU_COUNT(&set);
    return quota != 0 && quota < cores ? quota : cores;
}
