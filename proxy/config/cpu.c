/* cpu.c - how many processors this process may use: affinity, and the CPU quota of its cgroups. Runs at
 * start. */
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>

#include "config/cgroup.h"
#include "config/settle.h"

static unsigned round_up(int64_t quota_us, int64_t period_us)
{
    if (quota_us <= 0 || period_us <= 0)
        return 0;
    int64_t n = (quota_us - 1) / period_us + 1;
    return n > UINT_MAX ? UINT_MAX : (unsigned)n;
}

static uint64_t quota_v2(const char *directory)
{
    char line[HL_CGROUP_LINE];
    int64_t quota, period;
    if (!hl_cgroup_read_line(directory, "cpu.max", line))
        return 0;
    /* "max 100000" is neither a quota nor a number. */
    return sscanf(line, "%" SCNd64 " %" SCNd64, &quota, &period) == 2 ? round_up(quota, period) : 0;
}

static uint64_t quota_v1(const char *directory)
{
    return round_up(hl_cgroup_read_number(directory, "cpu.cfs_quota_us"),
        hl_cgroup_read_number(directory, "cpu.cfs_period_us"));
}

unsigned hl_cpu_quota(const char *root)
{
    static const struct hl_cgroup_limit limit = {
        .controller = "cpu", .read_v2 = quota_v2, .read_v1 = quota_v1};
    return (unsigned)hl_cgroup_least(root, &limit);
}

unsigned hl_cpu_count(void)
{
    cpu_set_t set;
    unsigned cores = 1, quota = hl_cpu_quota("");
    if (sched_getaffinity(0, sizeof(set), &set) == 0)
        cores = (unsigned)CPU_COUNT(&set);
    return quota != 0 && quota < cores ? quota : cores;
}
