/* opening.h - how the store begins. A guest, the commands, has the server at once or not at all. A
 * replica's store opens without it: the writer's link tries until the server has answered for the first
 * time, which is when all that could be wrong is looked at, and the schema is made. */
#ifndef HL_STORE_POSTGRES_OPENING_H
#define HL_STORE_POSTGRES_OPENING_H

#include "base/compiler.h"
#include "base/err.h"

struct hl_pg_session;
struct hl_pg_store;

/* A guest's two sessions: blocks. Errors as in session.h; then both are closed. */
HL_MUST_CHECK enum hl_err hl_pg_opening_visit(struct hl_pg_store *s, struct hl_pg_session *writer,
    struct hl_pg_session *reader, char *why, size_t why_len);

/* A replica's: the link is made ready to look around, and tries. Before the thread runs. */
void hl_pg_opening_begin(struct hl_pg_store *s);
/* The opener waits until it is decided, and questions can be asked; where no server lets us in,
 * about 2 s, or until the first try has failed. HL_OK: it is open, or goes on trying; else it never
 * will be, and `why` has one line. */
HL_MUST_CHECK enum hl_err hl_pg_opening_wait(struct hl_pg_store *s, char *why, size_t why_len);
/* The writer is up; on the store's thread. Opens the other links, the first time. */
void hl_pg_opening_end(struct hl_pg_store *s);

#endif
