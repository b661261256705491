/* link.c - see link.h. */
#include "store/postgres/link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "store/postgres/param.h"
#include "store/postgres/session.h"

#define PAUSE_MIN_MS 50
#define PAUSE_MAX_MS 5000
/* Who comes back at once buries the others a lifetime later: by then each has tried several times. */
#define PAUSES_IN_TTL 6
/* A statement is ended by the server after 10 s; what says nothing for longer is cut off. */
#define SILENCE_MS 15000
#define LOOK_MS    1000
/* The log has why a connection is lost, and why none is made since: it is seldom the same. What lasts no
 * longer needs no second line, and reasons that take turns have one in this time. */
#define SAY_AGAIN_MS 5000

/* --- making a connection ---------------------------------------------------------------------- */

enum hl_err hl_pg_link_prepare(struct hl_pg_session *s, const struct hl_pg_texts *texts,
    enum hl_pg_way way, char *why, size_t why_len)
{
    if (!s->settings->prepares)
        return HL_OK;
    enum hl_err err = hl_pg_session_prepare_begin(s, why, why_len);
    for (enum hl_pg_sql i = 0; i < HL_PG_SQL_COUNT && !err; i++)
        if (hl_pg_statement_goes(i, way))
            err = hl_pg_session_prepare(
                s, hl_pg_sql_statements[i].name, texts->text[i], why, why_len);
    return err ? err : hl_pg_session_prepare_end(s, why, why_len);
}

static enum hl_err prepare(struct hl_pg_session *s, void *arg, char *why, size_t why_len)
{
    const struct hl_pg_link *l = arg;
    return hl_pg_link_prepare(s, l->texts, l->way, why, why_len);
}

static void try_later(struct hl_pg_link *l);

static void connect_again(struct hl_pg_link *l)
{
    hl_pg_work begin = l->begin ? l->begin : prepare;
    void *arg = l->begin ? l->self : l;
    l->job = hl_pg_job_start(l->settings, begin, arg, &l->connected);
    if (!l->job)
        try_later(l);
}

static void on_timer(uv_timer_t *timer);

/* With jitter: replicas that lost the server together do not come back together. */
static void try_later(struct hl_pg_link *l)
{
    uint32_t dice;
    hl_random_fill(&dice, sizeof(dice));
    uint64_t wait_ms = l->pause_ms / 2 + dice % (l->pause_ms / 2 + 1);
    uint64_t max_ms = l->settings->ttl_ms / PAUSES_IN_TTL;
    if (max_ms > PAUSE_MAX_MS)
        max_ms = PAUSE_MAX_MS;
    l->pause_ms = l->pause_ms * 2 < max_ms ? l->pause_ms * 2 : max_ms;
    uv_timer_start(&l->timer, on_timer, wait_ms, 0);
}

/* --- up and down ---------------------------------------------------------------------------- */

static void on_io(uv_poll_t *poll, int status, int events);

static void free_handle(uv_handle_t *handle)
{
    struct hl_pg_link *l = handle->data;
    l->handles--;
    free(handle);
}

static void stop_polling(struct hl_pg_link *l)
{
    if (l->poll)
        uv_close((uv_handle_t *)l->poll, free_handle);
    l->poll = NULL;
}

/* Only when it changes: to libuv a start is a stop, too, and two system calls. */
static int watch(struct hl_pg_link *l, int events)
{
    if (events == l->watched)
        return 0;
    l->watched = events;
    return uv_poll_start(l->poll, events, on_io);
}

static bool start_polling(struct hl_pg_link *l)
{
    l->poll = calloc(1, sizeof(*l->poll));
    if (!l->poll || uv_poll_init(l->loop, l->poll, PQsocket(l->conn)) != 0) {
        free(l->poll);
        l->poll = NULL;
        return false;
    }
    l->poll->data = l;
    l->handles++;
    l->watched = 0;
    return watch(l, UV_READABLE) == 0;
}

static void end_flight(struct hl_pg_flight *f, enum hl_pg_fate fate)
{
    hl_list_remove(&f->node);
    PGresult *results[HL_PG_FLIGHT_MAX];
    size_t n = f->answered < f->n ? f->answered : f->n;
    memcpy(results, f->results, sizeof(results));
    f->on_end(f, fate);
    for (size_t i = 0; i < n; i++)
        PQclear(results[i]);
}

static void say(struct hl_pg_link *l, const char *what, const char *why)
{
    HL_LOG(WARN, what, HL_LOG_TEXT("why", why));
    snprintf(l->said, sizeof(l->said), "%s", why);
    l->said_ms = hl_clock_mono_ms();
}

static void go_down(struct hl_pg_link *l, const char *why)
{
    if (!l->conn)
        return;
    stop_polling(l);
    PQfinish(l->conn);
    l->conn = NULL;
    l->broken = NULL;
    l->down_ms = hl_clock_mono_ms();
    if (!l->is_closing)
        say(l, "store: the connection to PostgreSQL is lost", why);
    while (!hl_list_is_empty(&l->flights))
        end_flight(HL_CONTAINER_OF(l->flights.next, struct hl_pg_flight, node), HL_PG_LOST);
    uv_timer_stop(&l->timer);
    if (!l->is_closing)
        try_later(l);
    l->on_change(l->self, false);
}

static void go_up(struct hl_pg_link *l, PGconn *conn)
{
    l->conn = conn;
    if (!PQenterPipelineMode(conn) || !start_polling(l)) {
        go_down(l, "the connection cannot be watched");
        return;
    }
    if (l->said_ms > 0)
        HL_LOG(INFO, "store: connected to PostgreSQL again",
            HL_LOG_INT("ms", l->down_ms ? hl_clock_mono_ms() - l->down_ms : 0));
    l->is_doubted = false;
    l->down_ms = l->said_ms = 0;
    l->pause_ms = PAUSE_MIN_MS;
    uv_timer_start(&l->timer, on_timer, LOOK_MS, LOOK_MS);
    l->on_change(l->self, true);
}

static void on_connected(uv_async_t *async)
{
    struct hl_pg_link *l = async->data;
    char why[HL_PG_WHY_MAX];
    PGconn *conn;
    if (!l->job || !hl_pg_job_is_done(l->job))
        return;
    enum hl_err err = hl_pg_job_end(l->job, &conn, why, sizeof(why));
    l->job = NULL;
    if (!err) {
        go_up(l, conn);
        return;
    }
    if (l->on_failure && !l->on_failure(l->self, err, why))
        return;
    bool is_new = l->said_ms == 0 ||
                  (strcmp(why, l->said) != 0 && hl_clock_mono_ms() - l->said_ms >= SAY_AGAIN_MS);
    if (is_new)
        say(l, "store: PostgreSQL cannot be reached", why);
    try_later(l);
}

/* A link is doubted before it goes down: after the process was away its timers come first, and what the
 * server has said meanwhile is read after them. */
static void on_timer(uv_timer_t *timer)
{
    struct hl_pg_link *l = timer->data;
    if (!l->conn) {
        if (!l->job)
            connect_again(l);
        return;
    }
    if (l->broken) {
        go_down(l, l->broken);
        return;
    }
    if (hl_list_is_empty(&l->flights))
        return;
    const struct hl_pg_flight *oldest = HL_CONTAINER_OF(l->flights.next, struct hl_pg_flight, node);
    if (hl_clock_mono_ms() - oldest->sent_ms <= SILENCE_MS)
        return;
    if (l->is_doubted)
        go_down(l, "the server does not answer");
    else
        l->is_doubted = true;
}

int hl_pg_link_init(struct hl_pg_link *l, uv_loop_t *loop, const struct hl_pg_settings *settings,
    const struct hl_pg_texts *texts, void (*on_change)(void *self, bool is_up), void *self)
{
    *l = (struct hl_pg_link){.loop = loop,
        .settings = settings,
        .texts = texts,
        .pause_ms = PAUSE_MIN_MS,
        .on_change = on_change,
        .self = self};
    hl_list_init(&l->flights);
    int rc = uv_timer_init(loop, &l->timer);
    if (rc == 0)
        rc = uv_async_init(loop, &l->connected, on_connected);
    l->timer.data = l->connected.data = l;
    l->handles = 2;
    return rc;
}

void hl_pg_link_open(struct hl_pg_link *l, PGconn *conn)
{
    if (conn) {
        go_up(l, conn);
        return;
    }
    l->down_ms = hl_clock_mono_ms();
    connect_again(l);
}

void hl_pg_link_hurry(struct hl_pg_link *l)
{
    if (l->down_ms > 0 && !l->job && !l->is_closing)
        uv_timer_start(&l->timer, on_timer, 0, 0);
}

static void on_closed(uv_handle_t *handle)
{
    struct hl_pg_link *l = handle->data;
    l->handles--;
}

void hl_pg_link_close(struct hl_pg_link *l)
{
    l->is_closing = true;
    hl_pg_job_leave(l->job);
    l->job = NULL;
    go_down(l, "");
    uv_close((uv_handle_t *)&l->timer, on_closed);
    uv_close((uv_handle_t *)&l->connected, on_closed);
}

/* --- sending -------------------------------------------------------------------------------- */

void hl_pg_flight_init(
    struct hl_pg_flight *f, void (*on_end)(struct hl_pg_flight *flight, enum hl_pg_fate fate))
{
    hl_list_init(&f->node);
    f->n = f->answered = 0;
    f->setup = 0;
    f->sqlstate[0] = f->message[0] = '\0';
    f->lacks_partition = f->is_full = false;
    f->on_end = on_end;
}

/* Who sends is in the middle of something: flights end in a turn of the loop of their own. The socket is
 * not watched until then: libpq may have closed it, and libuv ends the process for one that is none. */
static void break_soon(struct hl_pg_link *l, const char *why)
{
    l->broken = why;
    stop_polling(l);
    uv_timer_start(&l->timer, on_timer, 0, 0);
}

void hl_pg_link_renew(struct hl_pg_link *l, const char *why)
{
    if (l->conn && !l->broken)
        break_soon(l, why);
}

static bool send_query(
    struct hl_pg_link *l, enum hl_pg_sql query, const struct hl_pg_params *params)
{
    const char *values[HL_PG_PARAMS_MAX];
    int lengths[HL_PG_PARAMS_MAX], formats[HL_PG_PARAMS_MAX];
    const struct hl_statement *statement = &hl_pg_sql_statements[query];
    hl_pg_params_order(params, statement, values, lengths);
    for (int i = 0; i < params->n; i++)
        formats[i] = 1;
    if (l->settings->prepares)
        return PQsendQueryPrepared(
            l->conn, statement->name, params->n, values, lengths, formats, 1);
    return PQsendQueryParams(
        l->conn, l->texts->text[query], params->n, NULL, values, lengths, formats, 1);
}

/* In a connection that others use as well a transaction begins with what it relies on. */
static bool send_setup(struct hl_pg_link *l, struct hl_pg_flight *f)
{
    static const enum hl_pg_sql queries[] = {HL_PG_DO_ISOLATE, HL_PG_DO_SETUP};
    struct hl_pg_params none = {.n = 0};
    for (size_t i = 0; i < HL_ARRAY_LEN(queries); i++) {
        if (!send_query(l, queries[i], &none))
            return false;
        f->setup++;
    }
    return true;
}

void hl_pg_link_add(struct hl_pg_link *l, struct hl_pg_flight *f, enum hl_pg_sql query,
    const struct hl_pg_params *params)
{
    HL_ASSERT(f->n < HL_PG_FLIGHT_MAX);
    if (!l->conn || l->broken)
        return;
    bool is_told = f->n > 0 || !hl_pg_is_pooled(l->conn) || send_setup(l, f);
    f->queries[f->n] = query;
    f->results[f->n++] = NULL;
    if (params->err || !is_told || !send_query(l, query, params))
        break_soon(l, params->err ? "out of memory" : "a statement could not be sent");
}

static void flush(struct hl_pg_link *l)
{
    int left = PQflush(l->conn);
    if (left < 0)
        break_soon(l, "the connection was lost");
    else
        watch(l, left ? UV_READABLE | UV_WRITABLE : UV_READABLE);
}

bool hl_pg_link_end(struct hl_pg_link *l, struct hl_pg_flight *f)
{
    if (!l->conn || l->broken)
        return false;
    if (!PQpipelineSync(l->conn)) {
        break_soon(l, "a statement could not be sent");
        return false;
    }
    f->sent_ms = hl_clock_mono_ms();
    hl_list_push_back(&l->flights, &f->node);
    flush(l);
    return true;
}

bool hl_pg_sqlstate_passes(const char *sqlstate)
{
    return strncmp(sqlstate, "40", 2) == 0 || strncmp(sqlstate, "53", 2) == 0 ||
           strncmp(sqlstate, "55", 2) == 0 || strncmp(sqlstate, "57", 2) == 0 ||
           strncmp(sqlstate, "58", 2) == 0;
}

/* --- answers -------------------------------------------------------------------------------- */

static void note_failure(struct hl_pg_flight *f, const PGresult *result)
{
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    if (f->sqlstate[0] || !state)
        return;
    snprintf(f->sqlstate, sizeof(f->sqlstate), "%s", state);
    snprintf(f->message, sizeof(f->message), "%s", text ? text : "");
    /* A constraint would have a name; the text is in any language. */
    f->lacks_partition =
        strcmp(state, "23514") == 0 && !PQresultErrorField(result, PG_DIAG_CONSTRAINT_NAME);
    f->is_full = strcmp(state, "53100") == 0;
}

/* The server is going, or is no longer the one that may be written to: what it said of a flight is not
 * its last word. */
static bool is_going(const char *sqlstate)
{
    return strncmp(sqlstate, "57P", 3) == 0 || strcmp(sqlstate, "25006") == 0;
}

/* libpq made it itself, having no memory for what the server said: nobody knows what that was. */
static bool is_local(ExecStatusType status, const PGresult *result)
{
    return status == PGRES_FATAL_ERROR && !PQresultErrorField(result, PG_DIAG_SQLSTATE);
}

static void take_result(struct hl_pg_link *l, PGresult *result)
{
    struct hl_pg_flight *f = hl_list_is_empty(&l->flights)
                                 ? NULL
                                 : HL_CONTAINER_OF(l->flights.next, struct hl_pg_flight, node);
    ExecStatusType status = PQresultStatus(result);
    if (!f) {
        PQclear(result);
        return;
    }
    if (status == PGRES_PIPELINE_SYNC) {
        PQclear(result);
        if (is_going(f->sqlstate))
            go_down(l, f->message);
        else
            end_flight(f, f->sqlstate[0] ? HL_PG_REJECTED : HL_PG_COMMITTED);
        return;
    }
    if (is_local(status, result)) {
        PQclear(result);
        go_down(l, "an answer from the server could not be stored: out of memory");
        return;
    }
    if (status == PGRES_FATAL_ERROR)
        note_failure(f, result);
    if (f->setup > 0) {
        f->setup--;
        PQclear(result);
    } else if (f->answered < f->n) {
        f->results[f->answered++] = result;
    } else {
        PQclear(result); /* the commit's own failure */
    }
}

static void read_results(struct hl_pg_link *l)
{
    /* One without a result is the end of a query's, two are the end of what there is. */
    for (int ends = 0; l->conn && ends < 2 && !PQisBusy(l->conn);) {
        PGresult *result = PQgetResult(l->conn);
        ends = result ? 0 : ends + 1;
        if (result)
            take_result(l, result);
    }
    if (l->conn && PQstatus(l->conn) == CONNECTION_BAD)
        go_down(l, "the connection was lost");
}

static void take_notifications(struct hl_pg_link *l)
{
    for (PGnotify *n; l->conn && (n = PQnotifies(l->conn)) != NULL;) {
        int backend_pid = n->be_pid;
        bool is_answer = *n->extra;
        PQfreemem(n);
        if (l->on_notify)
            l->on_notify(l->self, backend_pid, is_answer);
    }
}

static void on_io(uv_poll_t *poll, int status, int events)
{
    struct hl_pg_link *l = poll->data;
    if (!l->conn || poll != l->poll)
        return;
    l->is_doubted = false;
    if (status < 0 || ((events & UV_READABLE) && !PQconsumeInput(l->conn))) {
        go_down(l, "the connection was lost");
        return;
    }
    if (events & UV_WRITABLE)
        flush(l);
    if (l->conn)
        read_results(l);
    take_notifications(l);
}
