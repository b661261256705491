/* check.h - what is wrong with a database, before anything is changed in it. Blocking. */
#ifndef HL_STORE_POSTGRES_CHECK_H
#define HL_STORE_POSTGRES_CHECK_H

#include <stdbool.h>

#include "base/compiler.h"
#include "base/err.h"

struct hl_buf;
struct hl_config;
struct hl_pg_session;
struct hl_sealer;

/* Looks at all that could be wrong with the schema, as a start or as a guest, who makes nothing: rights,
 * version, key, lifetime of a replica. `sealer` NULL: the key does not matter. Changes nothing. Errors as
 * in session.h. */
HL_MUST_CHECK enum hl_err hl_pg_look(struct hl_pg_session *session, struct hl_sealer *sealer,
    bool is_guest, char *why, size_t why_len);

/* As hl_store_check. */
HL_MUST_CHECK enum hl_err hl_pg_check(const struct hl_config *config, struct hl_buf *problems);

#endif
