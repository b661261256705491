/* test_postgres_link.c - a connection of the store's thread, whose server goes while it is used. */
#include <poll.h>
#include <stdio.h>

#include "loop_fixture.h"
#include "postgres_cluster.h"
#include "store/postgres/link.h"
#include "store/postgres/param.h"
#include "store/postgres/session.h"

#define FLIGHTS         64
#define MSEC_OF_SILENCE 20000 /* for which a server is cut off */

static struct hl_pg_link session;
static const struct hl_pg_settings settings = {.ttl_ms = 3000};
static const struct hl_pg_texts texts = {.text = {[HL_PG_DO_EVENT_ACCOUNTS] = "SELECT 1"}};
static struct hl_pg_flight flights[FLIGHTS];
static size_t sent, ended;

static void on_change(void *self, bool is_up)
{
    (void)self;
    (void)is_up;
}

static void on_end(struct hl_pg_flight *flight, enum hl_pg_fate fate)
{
    (void)flight;
    (void)fate;
    ended++;
}

static bool send_one(void)
{
    struct hl_pg_params none;
    hl_pg_params_init(&none);
    hl_pg_flight_init(&flights[sent], on_end);
    hl_pg_link_add(&session, &flights[sent], HL_PG_DO_EVENT_ACCOUNTS, &none);
    bool is_sent = hl_pg_link_end(&session, &flights[sent]);
    hl_pg_params_fini(&none);
    sent += is_sent;
    return is_sent;
}

/* The session is up; returns its connection. */
static PGconn *begin_session(void)
{
    loop_begin();
    cr_assert_eq(hl_pg_link_init(&session, &loop, &settings, &texts, on_change, NULL), 0);
    PGconn *conn = PQconnectdb(postgres_url());
    cr_assert_eq(PQsetnonblocking(conn, 1), 0);
    hl_pg_link_open(&session, conn);
    return conn;
}

static void finish_session(void)
{
    hl_pg_link_close(&session);
    UNTIL(session.handles == 0);
    loop_end();
}

/* Comes back when the kernel knows it, too. */
static void end_session(int backend_pid, int socket)
{
    char sql[64];
    struct pollfd fd = {.fd = socket, .events = POLLRDHUP};
    PGconn *other = PQconnectdb(postgres_url());
    snprintf(sql, sizeof(sql), "SELECT pg_terminate_backend(%d)", backend_pid);
    PGresult *result = PQexec(other, sql);
    cr_assert_eq(PQresultStatus(result), PGRES_TUPLES_OK, "%s", PQerrorMessage(other));
    PQclear(result);
    PQfinish(other);
    cr_assert_eq(poll(&fd, 1, PATIENCE_MS), 1, "the server kept the session");
}

/* As the store's turn does: after the timers of a turn of the loop, and before it waits. */
static void on_turn(uv_prepare_t *turn)
{
    uv_prepare_stop(turn);
    PGconn *conn = session.conn;
    cr_assert(send_one());
    end_session(PQbackendPID(conn), PQsocket(conn));
    while (PQsocket(conn) >= 0 && sent < FLIGHTS && send_one())
        ;
    cr_assert_lt(PQsocket(conn), 0, "libpq has not noticed");
}

/* libpq closes its socket in the middle of a call, and libuv ends the process without a word when it is
 * to watch a descriptor that is none any more. */
Test(postgres_link, session_that_ends_between_two_flights_of_a_turn_ends_them_all)
{
    uv_prepare_t turn;
    begin_session();
    cr_assert(send_one());
    UNTIL(ended == 1);

    uv_prepare_init(&loop, &turn);
    uv_prepare_start(&turn, on_turn);
    UNTIL(!hl_pg_link_is_up(&session));
    cr_assert_gt(sent, 1);
    cr_assert_eq(ended, sent);

    uv_close((uv_handle_t *)&turn, NULL);
    finish_session();
}

/* The timer of a loop that was away comes before what has arrived meanwhile is read. */
Test(postgres_link, server_that_answered_while_the_process_was_away_is_not_cut_off)
{
    PGconn *conn = begin_session();
    cr_assert(send_one());
    struct pollfd answer = {.fd = PQsocket(conn), .events = POLLIN};
    cr_assert_eq(poll(&answer, 1, PATIENCE_MS), 1, "no answer");
    flights[0].sent_ms -= MSEC_OF_SILENCE;
    session.timer.timer_cb(&session.timer);
    UNTIL(ended == 1);
    cr_assert(hl_pg_link_is_up(&session));

    finish_session();
}
