/* status.h - how it stands with all replicas and their work, from the database alone. Blocking. */
#ifndef HL_STORE_POSTGRES_STATUS_H
#define HL_STORE_POSTGRES_STATUS_H

#include "base/compiler.h"
#include "base/err.h"

struct hl_buf;
struct hl_config;

/* Appends a JSON object (deploy/replicas.md says what is in it). Changes nothing, is none of the replicas,
 * needs no key. On failure `why` has one line. */
HL_MUST_CHECK enum hl_err hl_pg_status(
    const struct hl_config *config, struct hl_buf *json, char *why, size_t why_len);

#endif
