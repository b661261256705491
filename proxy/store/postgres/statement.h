/* statement.h - the numbers that stand in the statements of postgres/sql/, and their texts for one schema. */
#ifndef HL_STORE_POSTGRES_STATEMENT_H
#define HL_STORE_POSTGRES_STATEMENT_H

#include <stdbool.h>

#include "base/compiler.h"
#include "base/err.h"
#include "store/postgres/sql.h"

struct hl_pg_settings;

enum hl_pg_code {
    HL_PG_DONE = 0,
    HL_PG_EXISTS = 1,
    HL_PG_CONFLICT = 2,
    HL_PG_STALE = 3,
    HL_PG_NOT_FOUND = 4,
    HL_PG_AGAIN = 5,  /* somebody else was faster: ask once more */
    HL_PG_BUSY = 7,   /* too much waits */
    HL_PG_BEFORE = 6, /* it is so already: a repetition, if this may be one */
};

/* Added to the class of a run that waits for its next attempt: no claim by class sees it. */
#define HL_PG_CLASS_LATER 10

/* What stands in run.keeps: whether a run's request is kept. */
enum hl_pg_keep { HL_PG_KEEP_NOT, HL_PG_KEEP_UNLESS_SUCCESS, HL_PG_KEEP_ALWAYS };

/* `kind` of events, with their subjects. */
enum hl_pg_event {
    HL_PG_EVENT_CANCEL = 1, /* a run that the event's node has */
    HL_PG_EVENT_REVOKED,    /* an account */
    HL_PG_EVENT_ADDED,      /* an account */
    HL_PG_EVENT_LIMITED,    /* an account; replicas of an older hookline pass it over */
    /* Whose permits the event's node has: others wish those that it does not use, or those beyond its share too. */
    HL_PG_EVENT_SPARE,
    HL_PG_EVENT_SHARE,
};

/* Which of the store's connections: each prepares what is sent over it. */
enum hl_pg_way { HL_PG_WRITER, HL_PG_READER, HL_PG_LISTENER };

/* The texts for one schema. */
struct hl_pg_texts {
    char *text[HL_PG_SQL_COUNT]; /* owned */
};

/* HL_ERR_NOMEM. */
HL_MUST_CHECK enum hl_err hl_pg_texts_init(
    struct hl_pg_texts *texts, const struct hl_pg_settings *settings);
void hl_pg_texts_fini(struct hl_pg_texts *texts);

/* Whether it may be sent over that connection: which one it is says its .sql file. */
bool hl_pg_statement_goes(enum hl_pg_sql which, enum hl_pg_way way);

#endif
