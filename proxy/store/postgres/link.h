/* link.h - one connection of the store's thread: it is made again whenever it is lost, and carries
 * flights of statements in pipeline mode. All functions are for the loop's thread.
 *
 * A flight is one transaction: it begins with its first statement and is committed with its end. */
#ifndef HL_STORE_POSTGRES_LINK_H
#define HL_STORE_POSTGRES_LINK_H

#include <libpq-fe.h>

#include "base/list.h"
#include "store/postgres/job.h"
#include "store/postgres/param.h"
#include "store/postgres/statement.h"

#define HL_PG_FLIGHT_MAX 32

enum hl_pg_fate {
    HL_PG_COMMITTED,
    HL_PG_REJECTED, /* rolled back: `sqlstate` and `message` say why */
    HL_PG_LOST,     /* the connection went: it may have been committed */
};

struct hl_pg_flight {
    struct hl_list node; /* the link's own, while it is under way */
    enum hl_pg_sql queries[HL_PG_FLIGHT_MAX];
    PGresult *results[HL_PG_FLIGHT_MAX]; /* in `on_end`: of each query; freed after it */
    size_t n, answered;
    unsigned setup; /* statements before them that have not been answered */
    char sqlstate[6], message[200];
    bool lacks_partition; /* it was refused because a table has none for a row's time */
    bool is_full;         /* or because the server's disk is full */
    uint64_t sent_ms;     /* CLOCK_MONOTONIC */
    /* Takes the flight; never called from within hl_pg_link_end. */
    void (*on_end)(struct hl_pg_flight *flight, enum hl_pg_fate fate);
};

struct hl_pg_link {
    uv_loop_t *loop;
    const struct hl_pg_settings *settings; /* borrowed, as `texts` is */
    const struct hl_pg_texts *texts;
    enum hl_pg_way way; /* the writer, unless set after hl_pg_link_init */
    PGconn *conn;       /* NULL: there is none now */
    uv_poll_t *poll;
    int watched;      /* the events that `poll` waits for */
    uv_timer_t timer; /* the next try, or the next look at what does not answer */
    uv_async_t connected;
    struct hl_pg_job *job;  /* that makes the connection */
    struct hl_list flights; /* in the order of sending */
    uint64_t pause_ms;      /* before the next try */
    uint64_t down_ms;       /* CLOCK_MONOTONIC, since when; 0: it is up */
    uint64_t said_ms; /* CLOCK_MONOTONIC, when `said` was; 0: it was not said that it is down */
    char said[HL_PG_WHY_MAX];
    const char *broken; /* why it goes down in the loop's next turn; NULL: it does not */
    bool is_closing;
    bool is_doubted; /* silent for too long at the last look, and since */
    int handles;     /* that are still to be closed */
    /* It is up, or has gone down: then all its flights have ended. */
    void (*on_change)(void *self, bool is_up);
    /* The next three may be NULL: set after hl_pg_link_init. */
    /* A notification came, from this process of the server. */
    void (*on_notify)(void *self, int backend_pid, bool is_answer); /* NOTIFY, or NOTIFY_ANSWER */
    /* What makes a session one of a link, with `self`; NULL: hl_pg_link_prepare. */
    hl_pg_work begin;
    /* A connection could not be made. False: no more are tried. */
    bool (*on_failure)(void *self, enum hl_err err, const char *why);
    void *self;
};

/* A libuv error code or 0. Nothing happens before hl_pg_link_open. */
int hl_pg_link_init(struct hl_pg_link *l, uv_loop_t *loop, const struct hl_pg_settings *settings,
    const struct hl_pg_texts *texts, void (*on_change)(void *self, bool is_up), void *self);
/* Takes a connection that was made already; NULL: makes one. */
void hl_pg_link_open(struct hl_pg_link *l, PGconn *conn);
/* Another connection has been made: the server is there, and the next try of one that was opened need
 * not wait. */
void hl_pg_link_hurry(struct hl_pg_link *l);
/* Ends its flights as lost and closes its handles: the loop runs until they are. */
void hl_pg_link_close(struct hl_pg_link *l);

/* Ends the connection in a turn of its own, and makes another one. Harmless while there is none. */
void hl_pg_link_renew(struct hl_pg_link *l, const char *why);

static inline bool hl_pg_link_is_up(const struct hl_pg_link *l)
{
    return l->conn != NULL;
}

/* A flight is filled and sent without another one in between: begin, add …, end. `add` copies the
 * parameters. Adding to a link that is down, or has just gone, is harmless: `end` says so. */
void hl_pg_flight_init(
    struct hl_pg_flight *f, void (*on_end)(struct hl_pg_flight *flight, enum hl_pg_fate fate));
void hl_pg_link_add(struct hl_pg_link *l, struct hl_pg_flight *f, enum hl_pg_sql query,
    const struct hl_pg_params *params);
/* False: nothing of it was sent, and `on_end` will not be called. */
HL_MUST_CHECK bool hl_pg_link_end(struct hl_pg_link *l, struct hl_pg_flight *f);

/* Whether what a state says passes by itself: locks, serialization, time-outs, a full disk, too little
 * memory. */
bool hl_pg_sqlstate_passes(const char *sqlstate);

/* Prepares in a new session what is sent over such a link: blocking, on the thread that made it. */
HL_MUST_CHECK enum hl_err hl_pg_link_prepare(struct hl_pg_session *s,
    const struct hl_pg_texts *texts, enum hl_pg_way way, char *why, size_t why_len);

#endif
