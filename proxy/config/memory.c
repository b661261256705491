/* memory.c - how much memory this process may use: the limit of its cgroups. Runs at start. */
#include "config/cgroup.h"
#include "config/settle.h"

/* What is no limit is a number in version 1: all that a 64-bit kernel could count, in pages. */
#define NO_LIMIT ((int64_t)1 << 60)

static uint64_t read_bytes(const char *directory, const char *name)
{
    int64_t n = hl_cgroup_read_number(directory, name); /* "max" is none */
    return n > 0 && n < NO_LIMIT ? (uint64_t)n : 0;
}

static uint64_t limit_v2(const char *directory)
{
    return read_bytes(directory, "memory.max");
}

static uint64_t limit_v1(const char *directory)
{
    return read_bytes(directory, "memory.limit_in_bytes");
}

uint64_t hl_memory_limit(const char *root)
{
    static const struct hl_cgroup_limit limit = {
        .controller = "memory", .read_v2 = limit_v2, .read_v1 = limit_v1};
    return hl_cgroup_least(root, &limit);
}

#define TLS_CONNECTION    (40u * 1024) /* what one takes at most when nothing is being said on it */
#define LEAST_CONNECTIONS 16u

uint32_t hl_connections_by_memory(uint32_t by_descriptors, uint64_t memory)
{
    uint64_t n = memory / 4 / TLS_CONNECTION;
    if (n < LEAST_CONNECTIONS)
        n = LEAST_CONNECTIONS;
    return memory == 0 || n > by_descriptors ? by_descriptors : (uint32_t)n;
}
