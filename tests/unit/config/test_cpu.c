#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "config/settle.h"

static char root[] = "/tmp/hookline-cpu-XXXXXX";

/* Writes `text` to a file below the root, making its directories. */
static void write_file(const char *path, const char *text)
{
    char full[512];
    snprintf(full, sizeof(full), "%s%s", root, path);
    for (char *slash = strchr(full + sizeof(root), '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(full, 0700);
        *slash = '/';
    }
    FILE *file = fopen(full, "w");
    cr_assert_not_null(file, "%s", full);
    fputs(text, file);
    fclose(file);
}

static void begin(void)
{
    cr_assert_not_null(mkdtemp(root));
}

static void end(void)
{
    char command[256];
    snprintf(command, sizeof(command), "rm -r '%s'", root);
    cr_assert_eq(system(command), 0);
}

TestSuite(cpu, .init = begin, .fini = end);

Test(cpu, rounds_a_version_2_quota_up)
{
    write_file("/proc/self/cgroup", "0::/\n");
    write_file("/sys/fs/cgroup/cpu.max", "150000 100000\n");
    cr_assert_eq(hl_cpu_quota(root), 2);
}

Test(cpu, takes_the_least_quota_on_the_way_to_the_root)
{
    write_file("/proc/self/cgroup", "0::/a/b/c\n");
    write_file("/sys/fs/cgroup/a/cpu.max", "300000 100000\n");
    write_file("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
    write_file("/sys/fs/cgroup/a/b/c/cpu.max", "500000 100000\n");
    cr_assert_eq(hl_cpu_quota(root), 3);
}

Test(cpu, finds_the_quota_when_the_path_is_the_hosts)
{
    write_file("/proc/self/cgroup", "0::/kubepods/pod1/x\n");
    write_file("/sys/fs/cgroup/cpu.max", "50000 100000\n");
    cr_assert_eq(hl_cpu_quota(root), 1);
}

Test(cpu, reads_version_1)
{
    write_file("/proc/self/cgroup", "5:memory:/x\n4:cpu,cpuacct:/x\n3:cpuset:/y\n");
    write_file("/sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "400000\n");
    write_file("/sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "100000\n");
    write_file("/sys/fs/cgroup/cpu/y/cpu.cfs_quota_us", "100000\n");
    write_file("/sys/fs/cgroup/cpu/y/cpu.cfs_period_us", "100000\n");
    cr_assert_eq(hl_cpu_quota(root), 4);
}

Test(cpu, has_no_quota_without_a_limit)
{
    cr_assert_eq(hl_cpu_quota(root), 0);
    write_file("/proc/self/cgroup", "garbage\n4:cpu:/\n0::/\n");
    cr_assert_eq(hl_cpu_quota(root), 0);
    write_file("/sys/fs/cgroup/cpu.max", "max 100000\n");
    write_file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
    write_file("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    cr_assert_eq(hl_cpu_quota(root), 0);
}

Test(cpu, counts_at_least_one)
{
    cr_assert_geq(hl_cpu_count(), 1);
}

TestSuite(memory, .init = begin, .fini = end);

Test(memory, takes_the_least_limit_on_the_way_to_the_root)
{
    write_file("/proc/self/cgroup", "0::/a/b\n");
    write_file("/sys/fs/cgroup/memory.max", "max\n");
    write_file("/sys/fs/cgroup/a/memory.max", "268435456\n");
    write_file("/sys/fs/cgroup/a/b/memory.max", "536870912\n");
    cr_assert_eq(hl_memory_limit(root), 268435456);
}

Test(memory, reads_version_1)
{
    write_file("/proc/self/cgroup", "5:memory:/x\n4:cpu,cpuacct:/x\n");
    write_file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    write_file("/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "1073741824\n");
    cr_assert_eq(hl_memory_limit(root), 1073741824);
}

Test(memory, has_no_limit_where_none_is_set)
{
    cr_assert_eq(hl_memory_limit(root), 0);
    write_file("/proc/self/cgroup", "0::/\n");
    write_file("/sys/fs/cgroup/memory.max", "max\n");
    cr_assert_eq(hl_memory_limit(root), 0);
}

Test(memory, gives_tls_a_quarter_for_connections)
{
    cr_assert_eq(hl_connections_by_memory(1000, 0), 1000);
    cr_assert_eq(hl_connections_by_memory(1000, 1 << 30), 1000);
    cr_assert_eq(hl_connections_by_memory(100000, 256 << 20), 1638); /* 64 MiB of 40 KiB each */
    cr_assert_eq(hl_connections_by_memory(1000, 1 << 20), 16, "a few, however little there is");
}
