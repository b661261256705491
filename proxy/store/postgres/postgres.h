/* postgres.h - the store that many processes share, on PostgreSQL: its thread, beside the engine of the
 * store that one process owns. What assumed one owner and is otherwise here: proxy/README.md.
 *
 *   mailbox ─▶ queue ─▶ flush (op.c, one transaction) ─▶ replies, then pushes (handout.c)
 *                          ▲ again when the connection went
 */
#ifndef HL_STORE_POSTGRES_POSTGRES_H
#define HL_STORE_POSTGRES_POSTGRES_H

#include "base/compiler.h"
#include "base/err.h"

struct hl_config;
struct hl_store;

/* Opens it: makes or checks the schema. As hl_store_open. */
HL_MUST_CHECK enum hl_err hl_pg_open(
    struct hl_store **out, const struct hl_config *config, char *why, size_t why_len);

#endif
