/* replica.h - HOOKLINE_REPLICA: what a process calls itself among others on the same database. */
#ifndef HL_CONFIG_REPLICA_H
#define HL_CONFIG_REPLICA_H

#include <stdbool.h>

#include "config/choice.h"

#define HL_REPLICA_MAX 128 /* bytes */

/* 1 to 128 printable ASCII characters, none of them blank. */
bool hl_replica_is_valid(struct hl_str text);
/* The host's name, or "hookline" where that cannot be used. Writes a NUL. */
void hl_replica_by_host(char out[HL_REPLICA_MAX + 1]);

/* Where others reach this one's run listener, unless it is told: the address that it listens on; where that
 * is any, the machine's first that is no loopback one. Empty: it has none, or its port is not known yet. Writes
 * a NUL. */
void hl_replica_url_by_listener(
    const struct hl_listen_list *listen, char out[HL_REPLICA_URL_MAX + 1]);

#endif
