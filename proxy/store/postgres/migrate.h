/* migrate.h - what `hookline store migrate` does: the schema, made by one who may. Blocking. */
#ifndef HL_STORE_POSTGRES_MIGRATE_H
#define HL_STORE_POSTGRES_MIGRATE_H

#include "base/compiler.h"
#include "base/err.h"

struct hl_config;

/* Makes what is missing or brings it up to date, and gives `role`, unless it is NULL, all that a replica
 * needs. With no replica alive it also forgets the lifetime of one: the next to start says it anew. May be
 * repeated, and beside running replicas. Needs no key. `*version` is the schema's then. On failure `why`
 * has one line. */
HL_MUST_CHECK enum hl_err hl_pg_migrate(
    const struct hl_config *config, const char *role, int *version, char *why, size_t why_len);

#endif
