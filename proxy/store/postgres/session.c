/* session.c - see session.h; how one is made: connect.c. libpq is used without blocking even here, so that a server which accepts
 * and then says nothing holds nobody for longer than the deadline. */
#include "store/postgres/session.h"

#include <errno.h>
#include <libpq-events.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "config/config.h"
#include "store/postgres/param.h"
#include "store/postgres/session_setup.h"
#include "store/statement.h"

#define LOOK_MS 100 /* how soon a cancellation is seen */

void hl_pg_settings_init(struct hl_pg_settings *settings, const struct hl_config *config)
{
    *settings = (struct hl_pg_settings){.url = config->postgres_url.p,
        .is_unsafe = config->postgres_unsafe,
        .prepares = config->postgres_prepare,
        .ttl_ms = config->replica_ttl_ms};
    snprintf(settings->schema, sizeof(settings->schema), "\"%.*s\"",
        HL_STR_ARG(config->postgres_schema));
    snprintf(settings->name, sizeof(settings->name), "hookline/%.*s", HL_STR_ARG(config->replica));
}

/* --- poolers --------------------------------------------------------------------------------- */

/* The mark is libpq's to keep: it goes with the connection. */
static int on_pooled_event(PGEventId id, void *event, void *arg)
{
    (void)id;
    (void)event;
    (void)arg;
    return 1;
}

bool hl_pg_mark_pooled(PGconn *conn)
{
    return PQregisterEventProc(conn, on_pooled_event, "pooled", NULL) &&
           PQsetInstanceData(conn, on_pooled_event, conn);
}

bool hl_pg_is_pooled(const PGconn *conn)
{
    return PQinstanceData(conn, on_pooled_event) != NULL;
}

/* --- waiting -------------------------------------------------------------------------------- */

enum hl_err hl_pg_session_wait(struct hl_pg_session *s, short events, char *why, size_t why_len)
{
    for (;;) {
        uint64_t now_ms = hl_clock_mono_ms();
        if (s->is_cancelled && atomic_load(s->is_cancelled))
            return HL_ERR_CANCELLED;
        if (now_ms >= s->deadline_ms) {
            snprintf(why, why_len, "the server does not answer");
            return HL_ERR_UNAVAILABLE;
        }
        uint64_t left_ms = s->deadline_ms - now_ms;
        struct pollfd fd = {.fd = PQsocket(s->conn), .events = events};
        int n = poll(&fd, 1, (int)(left_ms < LOOK_MS ? left_ms : LOOK_MS));
        if (n > 0)
            return HL_OK;
        if (n < 0 && errno != EINTR)
            return hl_err_from_errno(errno);
    }
}

void hl_pg_session_begin_step(struct hl_pg_session *s)
{
    s->deadline_ms = hl_clock_mono_ms() + s->step_ms;
}

/* --- what is wrong -------------------------------------------------------------------------- */

void hl_pg_first_line(char *why, size_t why_len, const char *text)
{
    size_t n = strcspn(text, "\n");
    snprintf(why, why_len, "%.*s", (int)n, text);
}

/* Who may (28, 42501), what is not there (3D, 3F, 42), what it is not made for (0A). */
bool hl_pg_sqlstate_is_definite(const char *sqlstate)
{
    static const char *const classes[] = {"28", "3D", "3F", "42", "0A", "22", "23"};
    for (size_t i = 0; i < HL_ARRAY_LEN(classes); i++)
        if (strncmp(sqlstate, classes[i], 2) == 0)
            return true;
    return strcmp(sqlstate, "25006") == 0; /* read-only */
}

void hl_pg_session_miss_right(
    const struct hl_pg_session *s, const char *text, char *why, size_t why_len)
{
    const char *role = PQuser(s->conn);
    snprintf(why, why_len,
        "HOOKLINE_POSTGRES_URL: the role %s lacks a privilege (%s): have a role that may create "
        "the schema run hookline store migrate --role %s",
        role, text, role);
}

void hl_pg_session_name_setting(enum hl_err err, char *why, size_t why_len)
{
    char text[300];
    if (err != HL_ERR_UNAVAILABLE)
        return;
    snprintf(text, sizeof(text), "%s", why);
    snprintf(why, why_len, "HOOKLINE_POSTGRES_URL: %s", text);
}

static enum hl_err explain(
    struct hl_pg_session *s, const PGresult *result, char *why, size_t why_len)
{
    char text[256];
    const char *state = result ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : NULL;
    const char *message = result ? PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY) : NULL;
    snprintf(s->sqlstate, sizeof(s->sqlstate), "%s", state ? state : "");
    if (!state || PQstatus(s->conn) == CONNECTION_BAD) {
        snprintf(why, why_len, "the connection was lost");
        return HL_ERR_UNAVAILABLE;
    }
    hl_pg_first_line(text, sizeof(text), message ? message : state);
    if (strcmp(state, "42501") == 0)
        hl_pg_session_miss_right(s, text, why, why_len);
    else
        snprintf(why, why_len, "%s%s",
            hl_pg_sqlstate_is_definite(state) ? "HOOKLINE_POSTGRES_URL: " : "", text);
    return hl_pg_sqlstate_is_definite(state) ? HL_ERR_INVALID : HL_ERR_UNAVAILABLE;
}

/* --- commands ------------------------------------------------------------------------------- */

enum hl_err hl_pg_qualify(
    const struct hl_pg_settings *settings, const char *sql, struct hl_buf *out)
{
    enum hl_err err = HL_OK;
    for (const char *at = sql; *at && !err;) {
        size_t n = strcspn(at, "~`");
        const char *server = settings->is_nameless ? "'?'" : HL_PG_SERVER;
        err = hl_buf_append(out, at, n);
        at += n;
        if (*at && !err) {
            err = hl_buf_append_str(out, hl_str_from(*at == '~' ? settings->schema : server));
            at++;
        }
    }
    return err ? err : hl_buf_append(out, "", 1);
}

static enum hl_err flush(struct hl_pg_session *s, char *why, size_t why_len)
{
    for (int left; (left = PQflush(s->conn)) != 0;) {
        enum hl_err err = left < 0 ? explain(s, NULL, why, why_len)
                                   : hl_pg_session_wait(s, POLLOUT, why, why_len);
        if (err)
            return err;
    }
    return HL_OK;
}

/* `params` of the statement; NULL: there are none, and the answer comes in text form. */
static enum hl_err send_command(struct hl_pg_session *s, const char *text,
    const struct hl_statement *statement, const struct hl_pg_params *params, char *why,
    size_t why_len)
{
    const char *values[HL_PG_PARAMS_MAX];
    int lengths[HL_PG_PARAMS_MAX], formats[HL_PG_PARAMS_MAX];
    int sent;
    if (params) {
        hl_pg_params_order(params, statement, values, lengths);
        for (int i = 0; i < params->n; i++)
            formats[i] = 1;
        sent = PQsendQueryParams(s->conn, text, params->n, NULL, values, lengths, formats, 1);
    } else {
        sent = PQsendQuery(s->conn, text);
    }
    return sent ? flush(s, why, why_len) : explain(s, NULL, why, why_len);
}

static bool has_succeeded(const PGresult *result)
{
    ExecStatusType status = PQresultStatus(result);
    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK || status == PGRES_PIPELINE_SYNC;
}

/* Until a result can be taken. */
static enum hl_err await(struct hl_pg_session *s, char *why, size_t why_len)
{
    while (PQisBusy(s->conn)) {
        enum hl_err err = hl_pg_session_wait(s, POLLIN, why, why_len);
        if (err)
            return err;
        if (!PQconsumeInput(s->conn))
            return explain(s, NULL, why, why_len);
    }
    return HL_OK;
}

/* The last answer of a command, or of several; NULL after an error. */
static enum hl_err receive(struct hl_pg_session *s, PGresult **out, char *why, size_t why_len)
{
    enum hl_err err, failed = HL_OK;
    PGresult *result;
    *out = NULL;
    while (!(err = await(s, why, why_len)) && (result = PQgetResult(s->conn)) != NULL) {
        if (!failed && !has_succeeded(result))
            failed = explain(s, result, why, why_len);
        PQclear(*out);
        *out = result;
    }
    err = err ? err : failed;
    if (err) {
        PQclear(*out);
        *out = NULL;
    }
    return err;
}

/* What a transaction that begins here is told: before its first statement, or behind BEGIN. */
static enum hl_err add_setup(struct hl_pg_session *s, struct hl_buf *text)
{
    struct hl_str all = HL_STR(HL_PG_SETUP_OF_TRANSACTION);
    enum hl_err err = hl_pg_is_pooled(s->conn) ? hl_buf_append_str(text, all) : HL_OK;
    return err ? err : hl_buf_append_str(text, hl_buf_str(&s->setup));
}

static enum hl_err write_command(struct hl_pg_session *s, const char *sql, struct hl_buf *text)
{
    bool begins = strncmp(sql, "BEGIN", 5) == 0;
    bool is_told = PQtransactionStatus(s->conn) != PQTRANS_IDLE;
    enum hl_err err = HL_OK;
    if (!is_told && !begins)
        err = add_setup(s, text);
    if (!err)
        err = hl_pg_qualify(s->settings, sql, text);
    if (err || is_told || !begins)
        return err;
    text->p[text->n - 1] = ';'; /* it ended there */
    err = add_setup(s, text);
    return err ? err : hl_buf_append(text, "", 1);
}

enum hl_err hl_pg_session_ask(
    struct hl_pg_session *s, const char *sql, PGresult **out, char *why, size_t why_len)
{
    struct hl_buf text = {0};
    *out = NULL;
    hl_pg_session_begin_step(s);
    enum hl_err err = write_command(s, sql, &text);
    if (!err)
        err = send_command(s, text.p, NULL, NULL, why, why_len);
    hl_buf_fini(&text);
    return err ? err : receive(s, out, why, why_len);
}

enum hl_err hl_pg_session_run(struct hl_pg_session *s, const char *sql, char *why, size_t why_len)
{
    PGresult *result;
    enum hl_err err = hl_pg_session_ask(s, sql, &result, why, why_len);
    PQclear(result);
    return err;
}

static enum hl_err do_alone(struct hl_pg_session *s, const struct hl_statement *statement,
    const struct hl_pg_params *params, PGresult **out, char *why, size_t why_len)
{
    struct hl_buf text = {0};
    *out = NULL;
    hl_pg_session_begin_step(s);
    enum hl_err err = params->err;
    if (!err)
        err = hl_pg_qualify(s->settings, statement->text, &text);
    if (!err)
        err = send_command(s, text.p, statement, params, why, why_len);
    hl_buf_fini(&text);
    return err ? err : receive(s, out, why, why_len);
}

/* A statement with parameters stands alone in its message: what it relies on is said before it. */
static enum hl_err do_told(struct hl_pg_session *s, const struct hl_statement *statement,
    const struct hl_pg_params *params, PGresult **out, char *why, size_t why_len)
{
    char ignored[256];
    *out = NULL;
    enum hl_err err = hl_pg_session_run(s, "BEGIN", why, why_len);
    if (!err)
        err = do_alone(s, statement, params, out, why, why_len);
    if (!err)
        err = hl_pg_session_run(s, "COMMIT", why, why_len);
    if (!err)
        return HL_OK;
    char sqlstate[sizeof(s->sqlstate)];
    memcpy(sqlstate, s->sqlstate, sizeof(sqlstate));
    enum hl_err undone = hl_pg_session_run(s, "ROLLBACK", ignored, sizeof(ignored));
    (void)undone; /* the connection has gone, too */
    memcpy(s->sqlstate, sqlstate, sizeof(sqlstate));
    PQclear(*out);
    *out = NULL;
    return err;
}

enum hl_err hl_pg_session_do(struct hl_pg_session *s, const struct hl_statement *statement,
    const struct hl_pg_params *params, PGresult **out, char *why, size_t why_len)
{
    bool is_begun = PQtransactionStatus(s->conn) != PQTRANS_IDLE;
    bool has_setup = hl_pg_is_pooled(s->conn) || s->setup.n > 0;
    if (has_setup && !is_begun)
        return do_told(s, statement, params, out, why, why_len);
    return do_alone(s, statement, params, out, why, why_len);
}

enum hl_err hl_pg_session_ask_int(
    struct hl_pg_session *s, const char *sql, int64_t *out, char *why, size_t why_len)
{
    PGresult *result;
    enum hl_err err = hl_pg_session_ask(s, sql, &result, why, why_len);
    *out = err || PQntuples(result) == 0 ? 0 : strtoll(PQgetvalue(result, 0, 0), NULL, 10);
    PQclear(result);
    return err;
}

/* --- preparing ------------------------------------------------------------------------------ */

enum hl_err hl_pg_session_prepare_begin(struct hl_pg_session *s, char *why, size_t why_len)
{
    return PQenterPipelineMode(s->conn) ? HL_OK : explain(s, NULL, why, why_len);
}

enum hl_err hl_pg_session_prepare(
    struct hl_pg_session *s, const char *name, const char *text, char *why, size_t why_len)
{
    bool is_sent = PQsendPrepare(s->conn, name, text, 0, NULL);
    return is_sent ? HL_OK : explain(s, NULL, why, why_len);
}

/* A statement's answers end with a NULL each; the last of all is the pipeline's own. */
enum hl_err hl_pg_session_prepare_end(struct hl_pg_session *s, char *why, size_t why_len)
{
    enum hl_err failed = HL_OK;
    hl_pg_session_begin_step(s);
    enum hl_err err =
        PQpipelineSync(s->conn) ? flush(s, why, why_len) : explain(s, NULL, why, why_len);
    for (bool is_over = false; !err && !is_over;) {
        err = await(s, why, why_len);
        PGresult *result = err ? NULL : PQgetResult(s->conn);
        is_over = result && PQresultStatus(result) == PGRES_PIPELINE_SYNC;
        if (result && !failed && !has_succeeded(result))
            failed = explain(s, result, why, why_len);
        if (!err && !result && PQstatus(s->conn) == CONNECTION_BAD)
            err = explain(s, NULL, why, why_len);
        PQclear(result);
    }
    if (err || failed)
        return failed ? failed : err;
    return PQexitPipelineMode(s->conn) ? HL_OK : explain(s, NULL, why, why_len);
}

void hl_pg_session_close(struct hl_pg_session *s)
{
    PQfinish(s->conn);
    s->conn = NULL;
    hl_buf_fini(&s->setup);
}
