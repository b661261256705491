/* schema.h - the tables in PostgreSQL: made and brought up to date by whichever replica comes first.
 * Blocking, over a session that nobody else uses. */
#ifndef HL_STORE_POSTGRES_SCHEMA_H
#define HL_STORE_POSTGRES_SCHEMA_H

#include "base/compiler.h"
#include "base/err.h"
#include "config/choice.h"
#include "store/postgres/statement.h"

struct hl_pg_session;

/* Makes what is missing, in one transaction that other replicas' starts wait for. On failure `why`
 * has one line; HL_ERR_UNAVAILABLE: the server went away; else what is wrong stays wrong. */
HL_MUST_CHECK enum hl_err hl_pg_schema_migrate(struct hl_pg_session *s, char *why, size_t why_len);

/* Of a schema that is there: its version, and whether it is as new as this program wants it. INVALID: it
 * is too new to be read. Changes nothing. */
HL_MUST_CHECK enum hl_err hl_pg_schema_read(
    struct hl_pg_session *s, bool *is_current, int *version, char *why, size_t why_len);

/* What stands in run.keeps. */
static inline enum hl_pg_keep hl_pg_keeps(enum hl_keep_requests keep)
{
    return keep == HL_KEEP_REQUESTS_ALL      ? HL_PG_KEEP_ALWAYS
           : keep == HL_KEEP_REQUESTS_FAILED ? HL_PG_KEEP_UNLESS_SUCCESS
                                             : HL_PG_KEEP_NOT;
}

#endif
