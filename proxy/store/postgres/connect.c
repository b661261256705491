/* connect.c - how a session begins: connected, looked at, set up. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "store/postgres/once.h"
#include "store/postgres/session_setup.h"
#include "store/postgres/session.h"
#include "store/postgres/statement.h"

#define STEP_MS                   10000
#define LEAST_MAJOR               15
#define FIRST_TRANSACTION_TIMEOUT 170000

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
     * half a lifetime of a replica, so that its locks do not outlive it. Kerberos is asked for nothing unless that is
     * wanted: its library ends the process where it finds no memory. */
    char seconds[24], user_ms[24];
    uint64_t half_ms = s->settings->ttl_ms / 2;
    snprintf(seconds, sizeof(seconds), "%llu",
        (unsigned long long)(half_ms / 1000 > 1 ? half_ms / 1000 : 1));
    snprintf(user_ms, sizeof(user_ms), "%llu", (unsigned long long)half_ms);
    const char *gss = getenv("PGGSSENCMODE");
    const char *const keys[] = {"application_name", "keepalives_idle", "keepalives_interval",
        "keepalives_count", "tcp_user_timeout", "client_encoding", "gssencmode", "dbname", NULL};
    const char *const values[] = {s->settings->name, seconds, "1", "3", user_ms, "UTF8",
        gss ? gss : "disable", s->settings->url, NULL};
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
        if (!is_state ||
            (found && !hl_pg_sqlstate_is_definite((char[6]){at[3], at[4], at[5], at[6], at[7]})))
            continue;
        memcpy(state, at + 3, 5);
        state[5] = '\0';
        found = at + 10;
        if (hl_pg_sqlstate_is_definite(state))
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
        {"28", "correct the user or the password in it, or allow this user (pg_hba.conf)"},
        {"3D", "create that database, or name another in it"},
        {"42501", "grant this user CONNECT on the database"},
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(known); i++)
        if (strncmp(state, known[i].begins, strlen(known[i].begins)) == 0)
            return known[i].advice;
    return "correct it, or the server's settings";
}

static enum hl_err explain_refusal(
    const char *state, const char *message, char *why, size_t why_len)
{
    char text[256];
    hl_pg_first_line(text, sizeof(text), message);
    if (!hl_pg_sqlstate_is_definite(state) && !is_pooler_definite(text)) {
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
            "HOOKLINE_POSTGRES_URL: the server asks for a password, and none is given: add one, or "
            "a passfile");
        return HL_ERR_INVALID;
    }
    if (!was_sent) {
        snprintf(why, why_len,
            "HOOKLINE_POSTGRES_URL: **** cannot be read: a URI such as "
            "postgresql://user:password@host:5432/database, or keywords such as host=… dbname=…");
        return HL_ERR_INVALID;
    }
    char line[256];
    hl_pg_first_line(line, sizeof(line), text);
    if (!is_untrusted(text)) {
        snprintf(why, why_len, "%s", line);
        return HL_ERR_UNAVAILABLE;
    }
    snprintf(why, why_len,
        "HOOKLINE_POSTGRES_URL: %s: correct sslmode or sslrootcert in it, or the server's "
        "certificate",
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
        err =
            hl_pg_session_wait(s, status == PGRES_POLLING_READING ? POLLIN : POLLOUT, why, why_len);
        if (!err)
            status = PQconnectPoll(s->conn);
        if (status == PGRES_POLLING_FAILED)
            return explain_connect(s, why, why_len);
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
        err = hl_pg_session_ask(
            s, hl_pg_once_statements[HL_PG_ONCE_LOOK].text, &result, why, why_len);
    if (err)
        return err;
    hl_clock_follow(strtoll(PQgetvalue(result, 0, 3), NULL, 10), asked_ms);
    const char *wrong = judge(s->settings, result);
    bool is_other = strtol(PQgetvalue(result, 0, 4), NULL, 10) != PQbackendPID(s->conn);
    bool was_told = strcmp(PQgetvalue(result, 0, 5), "1") == 0;
    PQclear(result);
    bool is_pooled = is_other || was_told || atomic_load(&s->settings->is_pooled);
    if (is_pooled && !hl_pg_mark_pooled(s->conn))
        return HL_ERR_NOMEM;
    if (was_told)
        err = hl_pg_session_run(s, HL_PG_SETUP_UNDONE, why, why_len);
    if (err)
        return err;
    if (!wrong)
        return HL_OK;
    snprintf(why, why_len, "%s", wrong);
    return HL_ERR_INVALID;
}

/* Behind a pooler each transaction is told. An older server does not know the last one. */
static enum hl_err set_up(struct hl_pg_session *s, char *why, size_t why_len)
{
    bool is_pooled = hl_pg_is_pooled(s->conn);
    enum hl_err err =
        is_pooled ? HL_OK
                  : hl_pg_session_run(s, HL_PG_SETUP_SIGN HL_PG_SETUP_OF_SESSION, why, why_len);
    if (!err && !is_pooled && PQserverVersion(s->conn) >= FIRST_TRANSACTION_TIMEOUT)
        err = hl_pg_session_run(s, HL_PG_SETUP_SIGN "SET transaction_timeout = 0", why, why_len);
    return err;
}

enum hl_err hl_pg_session_open(struct hl_pg_session *s, const struct hl_pg_settings *settings,
    const atomic_bool *is_cancelled, char *why, size_t why_len)
{
    *s = (struct hl_pg_session){
        .settings = settings, .is_cancelled = is_cancelled, .step_ms = STEP_MS};
    hl_pg_session_begin_step(s);
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
