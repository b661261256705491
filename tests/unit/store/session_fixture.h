/* session_fixture.h - a session of a PostgreSQL store's schema: for tests of what the database says by itself. */
#ifndef SESSION_FIXTURE_H
#define SESSION_FIXTURE_H

#include "fixture.h"
#include "store/postgres/session.h"

struct session_fixture {
    struct fixture f;
    struct hl_pg_settings settings;
    struct hl_pg_session session;
};

/* The schema is made by a store, which has closed again. */
void session_fixture_begin(struct session_fixture *s);
void session_fixture_end(struct session_fixture *s);

void session_fixture_run(struct session_fixture *s, const char *sql);
/* The first row's columns as numbers. */
void session_fixture_read(
    struct session_fixture *s, const char *sql, long *const values[], int count);

#endif
