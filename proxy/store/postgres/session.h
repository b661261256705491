/* session.h - a connection as it begins: made, looked at, set up. All of it blocks, but never for
 * longer than the deadline, and ends at once when it is cancelled. One thread owns a session.
 *
 * Messages for people are one line, begin with the setting that is wrong, if one is, and never
 * have the URL, which may hold the password: libpq's own texts are passed on only where they cannot
 * quote it. */
#ifndef HL_STORE_POSTGRES_SESSION_H
#define HL_STORE_POSTGRES_SESSION_H

#include <libpq-fe.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/err.h"

struct hl_buf;
struct hl_config;
struct hl_pg_params;
struct hl_statement;

struct hl_pg_settings {
    const char *url;
    char schema[80];  /* quoted as an identifier */
    char name[160];   /* application_name */
    bool is_unsafe;   /* a server that may forget what it committed will do */
    bool prepares;    /* prepared statements are kept by the connection */
    uint64_t ttl_ms;  /* HOOKLINE_REPLICA_TTL */
    bool is_nameless; /* the server does not say which one it is */
    /* Somebody is in between, as was found out: each session is told as one that others have, too. Any thread. */
    atomic_bool is_pooled;
};

/* Which server it is: its system identifier, and its timeline. Until the first checkpoint after a promotion only the
 * end of recovery has the new one. */
#define HL_PG_SERVER                                                                               \
    "(SELECT c.system_identifier::text || '/' || greatest((SELECT timeline_id FROM"                \
    " pg_control_checkpoint()), (SELECT min_recovery_end_timeline FROM pg_control_recovery()))"    \
    " FROM pg_control_system() c)"

/* `url` is borrowed from the config. */
void hl_pg_settings_init(struct hl_pg_settings *settings, const struct hl_config *config);

struct hl_pg_session {
    const struct hl_pg_settings *settings; /* borrowed */
    PGconn *conn;
    const atomic_bool *is_cancelled;
    uint64_t step_ms;     /* how long one step may take */
    uint64_t deadline_ms; /* CLOCK_MONOTONIC, of the step under way */
    char sqlstate[6];     /* of the last error; "": none, or the connection is gone */
    /* More that each transaction is told, as commands that end with a semicolon; owned. */
    struct hl_buf setup;
};

/* Whether somebody is in between who may give the next transaction to another process of the server. */
bool hl_pg_is_pooled(const PGconn *conn);
/* There is: it makes up the number by which it lets its clients cancel. False: out of memory. */
HL_MUST_CHECK bool hl_pg_mark_pooled(PGconn *conn);

/* From then on the wall clock is the server's. `is_cancelled` and `settings` are borrowed.
 * HL_ERR_INVALID: `why` says what is wrong and stays so (password, database, rights, version,
 * fsync); HL_ERR_UNAVAILABLE: it may come yet, `why` says what is in the way; HL_ERR_CANCELLED;
 * HL_ERR_NOMEM. On success the caller closes it. */
HL_MUST_CHECK enum hl_err hl_pg_session_open(struct hl_pg_session *s,
    const struct hl_pg_settings *settings, const atomic_bool *is_cancelled, char *why,
    size_t why_len);
void hl_pg_session_close(struct hl_pg_session *s);
/* For those who do not wait for a server that is not there: the line then begins with the setting too. */
void hl_pg_session_name_setting(enum hl_err err, char *why, size_t why_len);
/* Says in `why` that the session's role may not do something, `text`, and who can mend that. */
void hl_pg_session_miss_right(
    const struct hl_pg_session *s, const char *text, char *why, size_t why_len);

/* One or several commands without an answer; `~` is the schema. Errors as above. */
HL_MUST_CHECK enum hl_err hl_pg_session_run(
    struct hl_pg_session *s, const char *sql, char *why, size_t why_len);
/* One command with an answer in text form, owned by the caller (PQclear); NULL after an error. */
HL_MUST_CHECK enum hl_err hl_pg_session_ask(
    struct hl_pg_session *s, const char *sql, PGresult **out, char *why, size_t why_len);
/* A statement with its parameters; the answer is in binary form. Where each transaction is told what it relies on, this
 * one is, too. */
HL_MUST_CHECK enum hl_err hl_pg_session_do(struct hl_pg_session *s,
    const struct hl_statement *statement, const struct hl_pg_params *params, PGresult **out,
    char *why, size_t why_len);
/* One number; 0 where there is no row. */
HL_MUST_CHECK enum hl_err hl_pg_session_ask_int(
    struct hl_pg_session *s, const char *sql, int64_t *out, char *why, size_t why_len);

/* Statements whose schema is in place, sent together: begin, prepare …, end, which waits for all. After an
 * error the session is of no use. */
HL_MUST_CHECK enum hl_err hl_pg_session_prepare_begin(
    struct hl_pg_session *s, char *why, size_t why_len);
HL_MUST_CHECK enum hl_err hl_pg_session_prepare(
    struct hl_pg_session *s, const char *name, const char *text, char *why, size_t why_len);
HL_MUST_CHECK enum hl_err hl_pg_session_prepare_end(
    struct hl_pg_session *s, char *why, size_t why_len);

/* Until the socket is ready for poll(2)'s `events`, or the step's time is over. */
HL_MUST_CHECK enum hl_err hl_pg_session_wait(
    struct hl_pg_session *s, short events, char *why, size_t why_len);
void hl_pg_session_begin_step(struct hl_pg_session *s); /* its time begins */
/* Of a message of the server's: those do not quote what we said to connect. */
void hl_pg_first_line(char *why, size_t why_len, const char *text);
/* Whether a state of the server's says that it would be the same another time. */
bool hl_pg_sqlstate_is_definite(const char *sqlstate);

/* `sql` with the schema in place of each '~', and HL_PG_SERVER of each '`', appended to `out`. HL_ERR_NOMEM. */
HL_MUST_CHECK enum hl_err hl_pg_qualify(
    const struct hl_pg_settings *settings, const char *sql, struct hl_buf *out);

#endif
