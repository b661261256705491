/* settle.h - the last step of loading: settings that follow from others or from the machine. */
#ifndef HL_CONFIG_SETTLE_H
#define HL_CONFIG_SETTLE_H

#include <stdint.h>

#include "base/compiler.h"
#include "base/err.h"

struct hl_buf;
struct hl_config;

/* Replaces "decide yourself" by values, and appends a line to `problems` for what cannot be used.
 * HL_ERR_NOMEM. */
HL_MUST_CHECK enum hl_err hl_config_settle(struct hl_config *config, struct hl_buf *problems);

/* ---- how many processors this process may use ---- */

/* The cgroup's CPU quota rounded up (version 2 or 1, the least of all levels), at most the
 * processors that the scheduler may use for us. At least 1. Reads files: at start only. */
unsigned hl_cpu_count(void);

/* The quota alone, 0 if there is none; `root` stands before /proc and /sys. For tests. */
unsigned hl_cpu_quota(const char *root);

/* ---- how much memory ---- */

/* The least limit of its cgroups in bytes, 0 if there is none; `root` as above. */
uint64_t hl_memory_limit(const char *root);

/* So many connections, or fewer, where TLS may take a quarter of that for them; 0: there is no limit. */
uint32_t hl_connections_by_memory(uint32_t by_descriptors, uint64_t memory);

#endif
