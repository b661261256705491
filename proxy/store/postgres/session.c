/* session.c - see session.h. libpq is used without blocking even here, so that a server which accepts
 * and then says nothing holds nobody for longer than the deadline. */
#include "store/postgres/session.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "store/postgres/statement.h"

#define STEP_MS     10000
#define LOOK_MS     100 /* how soon a cancellation is seen */
#define LEAST_MAJOR 15

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

/* --- waiting -------------------------------------------------------------------------------- */

static enum hl_err wait_for(struct hl_pg_session *s, short events)
{
    for (;;) {
        uint64_t now_ms = hl_clock_mono_ms();
        if (s->is_cancelled && atomic_load(s->is_cancelled))
            return HL_ERR_CANCELLED;
        if (now_ms >= s->deadline_ms)
            return HL_ERR_TIMEOUT;
        uint64_t left_ms = s->deadline_ms - now_ms;
        struct pollfd fd = {.fd = PQsocket(s->conn), .events = events};
        int n = poll(&fd, 1, (int)(left_ms < LOOK_MS ? left_ms : LOOK_MS));
        if (n > 0)
            return HL_OK;
        if (n < 0 && errno != EINTR)
            return hl_err_from_errno(errno);
    }
}

static void set_deadline(struct hl_pg_session *s)
{
    s->deadline_ms = hl_clock_mono_ms() + s->step_ms;
}

/* --- what is wrong -------------------------------------------------------------------------- */

/* The first line of a message of the server's: those do not quote what we said to connect. */
static void first_line(char *why, size_t why_len, const char *text)
{
    size_t n = strcspn(text, "\n");
    snprintf(why, why_len, "%.*s", (int)n, text);
}

/* Whether a state of the server's says that it would be the same another time: who may (28, 42501), what
 * is not there (3D, 3F, 42), what it is not made for (0A). */
static bool is_definite(const char *sqlstate)
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
        "HOOKLINE_POSTGRES_URL: the role %s lacks a right (%s): let one who may make the schema "
        "run "
        "hookline store migrate --role %s",
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
    first_line(text, sizeof(text), message ? message : state);
    if (strcmp(state, "42501") == 0)
        hl_pg_session_miss_right(s, text, why, why_len);
    else
        snprintf(why, why_len, "%s%s", is_definite(state) ? "HOOKLINE_POSTGRES_URL: " : "", text);
    return is_definite(state) ? HL_ERR_INVALID : HL_ERR_UNAVAILABLE;
}

/* --- commands ------------------------------------------------------------------------------- */

enum hl_err hl_pg_qualify(
    const struct hl_pg_settings *settings, const char *sql, struct hl_buf *out)
{
    enum hl_err err = HL_OK;
    for (const char *at = sql; *at && !err;) {
        size_t n = strcspn(at, "~");
        err = hl_buf_append(out, at, n);
        at += n;
        if (*at && !err) {
            err = hl_buf_append_str(out, hl_str_from(settings->schema));
            at++;
        }
    }
    return err ? err : hl_buf_append(out, "", 1);
}

static enum hl_err flush(struct hl_pg_session *s, char *why, size_t why_len)
{
    for (int left; (left = PQflush(s->conn)) != 0;) {
        enum hl_err err = left < 0 ? explain(s, NULL, why, why_len) : wait_for(s, POLLOUT);
        if (err)
            return err;
    }
    return HL_OK;
}

static enum hl_err send_command(struct hl_pg_session *s, const char *text,
    const struct hl_pg_params *params, char *why, size_t why_len)
{
    const char *values[HL_PG_PARAMS_MAX];
    int formats[HL_PG_PARAMS_MAX];
    int sent;
    if (params) {
        hl_pg_params_values(params, values);
        for (int i = 0; i < params->n; i++)
            formats[i] = 1;
        sent =
            PQsendQueryParams(s->conn, text, params->n, NULL, values, params->lengths, formats, 1);
    } else {
        sent = PQsendQuery(s->conn, text);
    }
    return sent ? flush(s, why, why_len) : explain(s, NULL, why, why_len);
}

/* The last answer of a command, or of several. */
static enum hl_err receive(struct hl_pg_session *s, PGresult **out, char *why, size_t why_len)
{
    enum hl_err err = HL_OK;
    *out = NULL;
    for (;;) {
        while (PQisBusy(s->conn)) {
            enum hl_err waited = wait_for(s, POLLIN);
            if (waited)
                return waited;
            if (!PQconsumeInput(s->conn))
                return explain(s, NULL, why, why_len);
        }
        PGresult *result = PQgetResult(s->conn);
        if (!result)
            return err;
        ExecStatusType status = PQresultStatus(result);
        if (!err && status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
            err = explain(s, result, why, why_len);
        PQclear(*out);
        *out = result;
    }
}

static enum hl_err receive_in_time(
    struct hl_pg_session *s, PGresult **out, char *why, size_t why_len)
{
    enum hl_err err = receive(s, out, why, why_len);
    if (err == HL_ERR_TIMEOUT) {
        snprintf(why, why_len, "the server does not answer");
        err = HL_ERR_UNAVAILABLE;
    }
    if (err) {
        PQclear(*out);
        *out = NULL;
    }
    return err;
}

enum hl_err hl_pg_session_ask(struct hl_pg_session *s, const char *sql,
    const struct hl_pg_params *params, PGresult **out, char *why, size_t why_len)
{
    struct hl_buf text = {0};
    *out = NULL;
    set_deadline(s);
    enum hl_err err = params && params->err ? params->err : hl_pg_qualify(s->settings, sql, &text);
    if (!err)
        err = send_command(s, text.p, params, why, why_len);
    hl_buf_fini(&text);
    return err ? err : receive_in_time(s, out, why, why_len);
}

enum hl_err hl_pg_session_run(struct hl_pg_session *s, const char *sql, char *why, size_t why_len)
{
    PGresult *result;
    enum hl_err err = hl_pg_session_ask(s, sql, NULL, &result, why, why_len);
    PQclear(result);
    return err;
}

enum hl_err hl_pg_session_prepare(
    struct hl_pg_session *s, const char *name, const char *text, char *why, size_t why_len)
{
    PGresult *result = NULL;
    set_deadline(s);
    bool is_sent = PQsendPrepare(s->conn, name, text, 0, NULL);
    enum hl_err err = is_sent ? flush(s, why, why_len) : explain(s, NULL, why, why_len);
    if (!err)
        err = receive_in_time(s, &result, why, why_len);
    PQclear(result);
    return err;
}

/* --- connecting ----------------------------------------------------------------------------- */

/* What the server sends unasked, while it is connected to too, is not for our stderr. */
static void drop_notice(void *arg, const PGresult *result)
{
    (void)arg;
    (void)result;
}

static enum hl_err begin(struct hl_pg_session *s)
{
    /* Those of the URL stand behind, and win. A client that vanishes is noticed by the server within
     * half a lifetime of a replica, so that its locks do not outlive it. */
    char seconds[24], user_ms[24];
    uint64_t half_ms = s->settings->ttl_ms / 2;
    snprintf(seconds, sizeof(seconds), "%llu",
        (unsigned long long)(half_ms / 1000 > 1 ? half_ms / 1000 : 1));
    snprintf(user_ms, sizeof(user_ms), "%llu", (unsigned long long)half_ms);
    const char *const keys[] = {"application_name", "keepalives_idle", "keepalives_interval",
        "keepalives_count", "tcp_user_timeout", "dbname", NULL};
    const char *const values[] = {
        s->settings->name, seconds, "1", "3", user_ms, s->settings->url, NULL};
    s->conn = PQconnectStartParams(keys, values, 1);
    if (!s->conn)
        return HL_ERR_NOMEM;
    PQsetNoticeReceiver(s->conn, drop_notice, NULL);
    PQsetErrorVerbosity(s->conn, PQERRORS_VERBOSE); /* with the state: texts come in any language */
    return HL_OK;
}

/* The first definite refusal of a server's in libpq's text ("SEVERITY:  STATE: message"), else the first
 * one of all; NULL: none has answered. */
static const char *find_refusal(const char *text, char state[6])
{
    const char *found = NULL;
    for (const char *at = text; (at = strstr(at, ":  ")) != NULL; at += 3) {
        bool is_state = strspn(at + 3, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") == 5 && at[8] == ':';
        if (!is_state || (found && !is_definite((char[6]){at[3], at[4], at[5], at[6], at[7]})))
            continue;
        memcpy(state, at + 3, 5);
        state[5] = '\0';
        found = at + 10;
        if (is_definite(state))
            break;
    }
    return found;
}

/* pgbouncer says this with the state of all that it says. */
static bool is_pooler_definite(const char *text)
{
    return strncmp(text, "no such ", 8) == 0 ||
           strncmp(text, "unsupported startup parameter", 29) == 0;
}

static const char *advise(const char *state)
{
    static const struct {
        const char *begins, *advice;
    } known[] = {
        {"28", "mend the user or the password in it, or let this user in (pg_hba.conf)"},
        {"3D", "make that database, or name another in it"},
        {"42501", "grant this user CONNECT on the database"},
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(known); i++)
        if (strncmp(state, known[i].begins, strlen(known[i].begins)) == 0)
            return known[i].advice;
    return "mend it, or the server's settings";
}

static enum hl_err explain_refusal(
    const char *state, const char *message, char *why, size_t why_len)
{
    char text[256];
    first_line(text, sizeof(text), message);
    if (!is_definite(state) && !is_pooler_definite(text)) {
        snprintf(why, why_len, "%s", text);
        return HL_ERR_UNAVAILABLE;
    }
    snprintf(why, why_len, "HOOKLINE_POSTGRES_URL: %s: %s", text, advise(state));
    return HL_ERR_INVALID;
}

/* What libpq itself finds wrong with the way to the server will be wrong another time. */
static bool is_untrusted(const char *text)
{
    static const char *const texts[] = {"root certificate file", "but SSL was required",
        "certificate verify failed", "does not match host name"};
    for (size_t i = 0; i < HL_ARRAY_LEN(texts); i++)
        if (strstr(text, texts[i]))
            return true;
    return false;
}

/* libpq's text of a connection that failed begins with where it went, and has no password: that stands
 * only in what it says of a URL that it cannot read. */
static enum hl_err explain_connect(struct hl_pg_session *s, char *why, size_t why_len)
{
    char state[6] = "";
    const char *text = PQerrorMessage(s->conn);
    const char *refusal = find_refusal(text, state);
    bool was_sent = strstr(text, "connection to server") || strstr(text, "translate host name");
    snprintf(s->sqlstate, sizeof(s->sqlstate), "%s", state);
    if (refusal)
        return explain_refusal(state, refusal, why, why_len);
    if (PQconnectionNeedsPassword(s->conn)) {
        snprintf(why, why_len,
            "HOOKLINE_POSTGRES_URL: the server wants a password, and none is in it: add it, or a "
            "passfile");
        return HL_ERR_INVALID;
    }
    if (!was_sent) {
        snprintf(why, why_len,
            "HOOKLINE_POSTGRES_URL: **** cannot be read: a URI such as "
            "postgresql://user:password@host:5432/database, or keywords such as host=… dbname=…");
        return HL_ERR_INVALID;
    }
    char line[256];
    first_line(line, sizeof(line), text);
    if (!is_untrusted(text)) {
        snprintf(why, why_len, "%s", line);
        return HL_ERR_UNAVAILABLE;
    }
    snprintf(why, why_len,
        "HOOKLINE_POSTGRES_URL: %s: mend sslmode or sslrootcert in it, or the server's certificate",
        line);
    return HL_ERR_INVALID;
}

static enum hl_err connect_to(struct hl_pg_session *s, char *why, size_t why_len)
{
    enum hl_err err = begin(s);
    PostgresPollingStatusType status = PGRES_POLLING_WRITING;
    if (!err && PQstatus(s->conn) == CONNECTION_BAD)
        return explain_connect(s, why, why_len);
    while (!err && status != PGRES_POLLING_OK) {
        err = wait_for(s, status == PGRES_POLLING_READING ? POLLIN : POLLOUT);
        if (!err)
            status = PQconnectPoll(s->conn);
        if (status == PGRES_POLLING_FAILED)
            return explain_connect(s, why, why_len);
    }
    if (err == HL_ERR_TIMEOUT) {
        snprintf(why, why_len, "the server does not answer");
        err = HL_ERR_UNAVAILABLE;
    }
    return err;
}

/* --- what the server is ----------------------------------------------------------------------- */

static enum hl_err check_version(const struct hl_pg_session *s, char *why, size_t why_len)
{
    int version = PQserverVersion(s->conn);
    if (version >= LEAST_MAJOR * 10000)
        return HL_OK;
    snprintf(why, why_len,
        "HOOKLINE_POSTGRES_URL: the server is PostgreSQL %d: name one of version %d or newer",
        version / 10000, LEAST_MAJOR);
    return HL_ERR_INVALID;
}

/* What is wrong with its settings, or NULL. */
static const char *judge(const struct hl_pg_settings *settings, const PGresult *result)
{
    bool forgets = strcmp(PQgetvalue(result, 0, 0), "off") == 0 ||
                   strcmp(PQgetvalue(result, 0, 1), "off") == 0;
    if (strcmp(PQgetvalue(result, 0, 2), "off") != 0)
        return "HOOKLINE_POSTGRES_URL: the server, the database or the role is read-only: name the "
               "primary, or add target_session_attrs=read-write";
    if (forgets && !settings->is_unsafe)
        return "HOOKLINE_POSTGRES_URL: the server may lose what it has committed (fsync or "
               "synchronous_commit is off): turn both on, or set HOOKLINE_POSTGRES_UNSAFE=on";
    return NULL;
}

static enum hl_err check_server(struct hl_pg_session *s, char *why, size_t why_len)
{
    PGresult *result;
    uint64_t asked_ms = hl_clock_mono_ms();
    enum hl_err err = check_version(s, why, why_len);
    if (!err)
        err = hl_pg_session_ask(s,
            "SELECT current_setting('fsync'), current_setting('synchronous_commit'),"
            " current_setting('transaction_read_only'), " HL_PG_NOW_MS,
            NULL, &result, why, why_len);
    if (err)
        return err;
    hl_clock_follow(strtoll(PQgetvalue(result, 0, 3), NULL, 10), asked_ms);
    const char *wrong = judge(s->settings, result);
    PQclear(result);
    if (!wrong)
        return HL_OK;
    snprintf(why, why_len, "%s", wrong);
    return HL_ERR_INVALID;
}

/* Plans are made while the tables are empty, and kept while they grow: what is right for a few rows (to
 * read them all, to hash them) is 30 times slower for 100,000, until somebody analyses the table. */
static enum hl_err set_up(struct hl_pg_session *s, char *why, size_t why_len)
{
    return hl_pg_session_run(s,
        "SET statement_timeout = '10s'; SET lock_timeout = '2s';"
        " SET idle_in_transaction_session_timeout = '10s'; SET client_min_messages = warning;"
        " SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off;"
        " SET jit = off; SET timezone = 'UTC'",
        why, why_len);
}

enum hl_err hl_pg_session_open(struct hl_pg_session *s, const struct hl_pg_settings *settings,
    const atomic_bool *is_cancelled, char *why, size_t why_len)
{
    *s = (struct hl_pg_session){
        .settings = settings, .is_cancelled = is_cancelled, .step_ms = STEP_MS};
    set_deadline(s);
    enum hl_err err = connect_to(s, why, why_len);
    if (!err) {
        PQsetErrorVerbosity(s->conn, PQERRORS_DEFAULT);
        err = PQsetnonblocking(s->conn, 1) == 0 ? HL_OK : HL_ERR_NOMEM;
    }
    if (!err)
        err = check_server(s, why, why_len);
    if (!err)
        err = set_up(s, why, why_len);
    if (err)
        hl_pg_session_close(s);
    return err;
}

void hl_pg_session_close(struct hl_pg_session *s)
{
    PQfinish(s->conn);
    s->conn = NULL;
}
