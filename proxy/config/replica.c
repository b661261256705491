/* replica.c - a replica's name: the rule, and the default. Any thread; no state. */
#include "config/replica.h"

#include <stdio.h>
#include <unistd.h>

bool hl_replica_is_valid(struct hl_str text)
{
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] <= ' ' || text.p[i] > '~')
            return false;
    }
    return text.n >= 1 && text.n <= HL_REPLICA_MAX;
}

void hl_replica_by_host(char out[HL_REPLICA_MAX + 1])
{
    int rc = gethostname(out, HL_REPLICA_MAX + 1);
    out[HL_REPLICA_MAX] = '\0';
    if (rc != 0 || !hl_replica_is_valid(hl_str_from(out)))
        snprintf(out, HL_REPLICA_MAX + 1, "hookline");
}
