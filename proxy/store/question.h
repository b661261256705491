/* question.h - what can be asked about runs and deliveries. Requests like those of store.h; they change
 * nothing. A store on a disk answers them on a thread of their own, where they delay no commit.
 *
 * A `project` that is not the record's makes it NOT_FOUND, and so does an `app`; empty ones match
 * any. Lists are newest first and go on at `before`: nil at first, then the `next` of the page
 * before. `next` is the store's own (most often the last row's id) and comes with `has_more`; such a
 * page may hold less than `limit`, even nothing, for one request looks at a bounded number of
 * records. A record that is there throughout is on exactly one page.
 *
 * `since_ms` and `until_ms` are by the time in the record's id: from since_ms on, before until_ms;
 * 0 is no bound. */
#ifndef HL_STORE_QUESTION_H
#define HL_STORE_QUESTION_H

#include "base/buf.h"
#include "store/destination.h"
#include "store/listing.h"
#include "store/op.h"
#include "store/run_curve.h"
#include "store/search.h"
#include "store/tally.h"

#define HL_LIST_MAX 200

/* Of each class so many queued runs are counted for a place; one behind them is said to be at least so far
 * back. */
#define HL_PLACE_LOOKS 5000

/* What is asked of a run's request: nothing, its head, or also its body and where its webhook goes. */
enum hl_asked_request { HL_ASKED_NO_REQUEST, HL_ASKED_HEAD, HL_ASKED_REQUEST };

/* Of an asynchronous run that has not ended, or whose request was kept (HOOKLINE_KEEP_REQUESTS). */
struct hl_kept_request {
    bool is_there;
    struct hl_buf head;                        /* as accepted (hl_accept.head) */
    struct hl_body body;                       /* DROPPED: it is not what was stored */
    struct hl_buf webhook_url, webhook_secret; /* empty: none */
};
void hl_kept_request_fini(struct hl_kept_request *r); /* wipes them; twice is harmless */

/* A run that repeats another one. */
#define HL_RERUNS_SHOWN 10

struct hl_rerun {
    struct hl_id run_id;
    enum hl_run_state state;
    int64_t created_ms;
};

/* GET_RUN: reply OK fills `run` and `outcome` (whose body has no bytes unless with_body). CORRUPT:
 * all but the body, whose bytes are not those that were stored; its place says DROPPED. */
struct hl_get_run {
    struct hl_store_msg m;
    struct hl_id run_id;
    char project[HL_STORE_NAME_MAX + 1], app[HL_STORE_NAME_MAX + 1];
    bool with_body, with_log, with_place, with_head;
    /* Instead of with_body, above 0: at most so many bytes of it, from range_from on, into `range`, wherever the
     * body is; unchecked. */
    uint32_t range_max;
    uint64_t range_from;
    struct hl_run_row run;     /* owned by the message */
    struct hl_outcome outcome; /* body owned by the message */
    uint64_t place;            /* with_place: in the queue, 1 is next; 0: it is not queued */
    struct hl_buf log;         /* with_log: what came with its finish; owned by the message */
    struct hl_buf range;       /* owned by the message */
    /* with_head, likewise: of the app's answer, if it was kept; of a run that goes on, if it is an event stream. */
    struct hl_buf answer_head;
    /* Where it is shared, owned by the message: what the run said last of how far it is; and where the other
     * replica is reached that has it just now. */
    struct hl_buf progress, home;
    bool with_reruns; /* the newest that repeat it, below */
    struct hl_rerun reruns[HL_RERUNS_SHOWN];
    size_t n_reruns;
    enum hl_asked_request with_request;
    struct hl_kept_request request; /* with_request; owned by the message */
};
/* Of a reply OK with a body: CORRUPT, as above, if that is not what was stored. */
HL_MUST_CHECK enum hl_err hl_get_run_check(struct hl_get_run *g);
void hl_get_run_fini(struct hl_get_run *g); /* what the reply filled; not the message */

/* LIST_RUNS. Newest first by run_id; with state QUEUED by acceptance. */
struct hl_list_runs {
    struct hl_store_msg m;
    char project[HL_STORE_NAME_MAX + 1], app[HL_STORE_NAME_MAX + 1];
    int state;    /* enum hl_run_state; -1: any */
    int is_async; /* -1: either */
    int64_t since_ms, until_ms;
    struct hl_run_search search;
    uint32_t limit; /* 1 to HL_LIST_MAX; what is beyond is cut */
    struct hl_id before;
    /* Instead of rows: when those were accepted that are found among the `looks` newest. With has_more, `next` is the id
     * of the last that was looked at. */
    bool only_counts;
    uint32_t looks;
    struct hl_run_curve curve; /* its span as asked; reply: its counts */

    HL_LISTING(struct hl_run_row); /* reply */
    struct hl_id *picked;          /* the store's own: what runs just now */
    size_t n_picked;
};
/* Of which state they are, or -1: only failures have an error. */
int hl_list_runs_state(const struct hl_list_runs *l);

/* GET_DELIVERY: reply OK fills `delivery`, with its attempts and their reports. */
struct hl_get_delivery {
    struct hl_store_msg m;
    struct hl_id delivery_id;
    char project[HL_STORE_NAME_MAX + 1];
    struct hl_delivery_row delivery; /* owned by the message */
    /* The same; where it goes, whole, and the caller's secret: not to be shown. Empty: there is none, or it cannot be
     * opened. */
    struct hl_buf webhook_url, webhook_secret;
    struct hl_buf traceparent; /* its run's */
};
void hl_get_delivery_fini(struct hl_get_delivery *g);

/* LIST_DELIVERIES. Newest first by delivery_id. */
struct hl_list_deliveries {
    struct hl_store_msg m;
    char project[HL_STORE_NAME_MAX + 1], app[HL_STORE_NAME_MAX + 1];
    int state;           /* enum hl_delivery_state; -1: any */
    struct hl_id run_id; /* nil: any */
    int64_t since_ms, until_ms;
    char destination
        [HL_DESTINATION_MAX]; /* scheme://host, and :port unless it is the scheme's; empty: any */
    struct hl_status_range status; /* of the last attempt that has ended */
    /* instead of rows: how many there are, of up to HL_SEARCH_RECORDS that are looked at */
    bool only_counts;
    uint32_t limit; /* 1 to HL_LIST_MAX; what is beyond is cut */
    struct hl_id before;
    bool with_attempts;

    HL_LISTING(struct hl_delivery_row); /* reply; only_counts: no rows, but how many */
};

/* LIST_DESTINATIONS: where a project's webhooks go, in the order of the lanes' numbers. What is said of the
 * last hour is by the newest HL_DESTINATION_LOOKS deliveries of each. */
#define HL_DESTINATION_LOOKS 1000

struct hl_destination_row {
    char destination[HL_DESTINATION_MAX]; /* scheme://host, and :port unless it is the scheme's */
    uint64_t lane;
    uint64_t pending, dead;   /* the project's own, as all that follows but failing_since_ms */
    int64_t oldest_ms;        /* when the oldest pending one began to wait; 0: none is */
    int64_t failing_since_ms; /* 0: it is not */
    uint64_t attempts, ok;    /* that ended within the last hour; those of them with a 2xx */
    int64_t p95_us;           /* how long those took; -1: there was none */
    int64_t last_ms;          /* when its last attempt ended; 0: there was none */
    uint16_t last_status;     /* of it; 0: no response */
    char last_error[HL_ATTEMPT_ERROR_MAX +
                    1]; /* of the last that failed, whenever that was; empty: none */
};

struct hl_list_destinations {
    struct hl_store_msg m;
    char project[HL_STORE_NAME_MAX + 1];
    uint32_t limit; /* 1 to HL_LIST_MAX; what is beyond is cut */
    bool has_after;
    uint64_t after; /* has_after: go on behind this lane */

    HL_LISTING(struct hl_destination_row); /* reply; has_more: after the last row's lane */
};

/* LIST_APPS: the apps of a project that have runs, by name, the first HL_LIST_MAX; without a project
 * the projects. */
struct hl_name {
    char text[HL_STORE_NAME_MAX + 1];
};

struct hl_list_apps {
    struct hl_store_msg m;
    char project[HL_STORE_NAME_MAX + 1];

    HL_LISTING(struct hl_name); /* reply */
};

/* LIST_REPLICAS: who shares the store: the living first, each in the order in which they came, the first
 * HL_LIST_MAX; dead ones for a day. INVALID with a store that one process owns. */
struct hl_list_replicas {
    struct hl_store_msg m;

    HL_LISTING(struct hl_replica_row); /* reply */
};

/* OVERVIEW: how runs ended in [since_ms, until_ms), to the minute: of all that the store has ended and of synchronous
 * calls that it was told of (TALLY). What waits and runs now is counted up to a bound (overview.h): `is_more_…`. */
#define HL_OVERVIEW_POINTS  120
#define HL_OVERVIEW_REASONS 16
#define HL_OVERVIEW_WORST   5

struct hl_overview_figures {
    uint32_t ends[2][HL_RUN_CANCELLED + 1][HL_OVERVIEW_REASONS]; /* by is_async */
    uint32_t run[HL_TALLY_BUCKETS], wait[HL_TALLY_BUCKETS];
};

struct hl_overview_app {
    char project[HL_STORE_NAME_MAX + 1], app[HL_STORE_NAME_MAX + 1];
    struct hl_overview_figures figures;
};

struct hl_overview_failing {
    char project[HL_STORE_NAME_MAX + 1];
    struct hl_destination_row row;
};

struct hl_overview {
    struct hl_store_msg m;
    char project[HL_STORE_NAME_MAX + 1], app[HL_STORE_NAME_MAX + 1];
    int64_t since_ms, until_ms;
    int64_t step_ms;      /* of the points: whole minutes, HL_OVERVIEW_POINTS at most */
    int is_async;         /* -1: either */
    bool with_deliveries; /* and destinations and replicas */

    /* reply; owned by the message */
    int64_t counted_ms; /* the first moment of which something is known, since_ms or later */
    struct hl_overview_figures total;
    struct hl_overview_app *apps; /* HL_LIST_MAX at most; the total has all */
    size_t n_apps, last_app;
    bool has_more_apps;
    struct hl_overview_figures *points; /* from first_ms on */
    size_t n_points;
    int64_t first_ms;
    uint64_t queued, running;
    bool is_more_runs;
    uint64_t pending, dead;
    bool is_more_pending, is_more_dead;
    /* destinations of the project, whatever the app; the next are those that fail longest */
    uint64_t n_failing_all;
    struct hl_overview_failing *failing; /* HL_OVERVIEW_WORST at most */
    size_t n_failing;
    struct hl_replica_row *replicas; /* HL_LIST_MAX at most; where the store is shared */
    size_t n_replicas;
};
void hl_overview_fini(struct hl_overview *o);

/* LIST_ERRORS: what went wrong in [since_ms, until_ms), the most frequent first: of the newest HL_ERROR_LOOKS stored runs
 * that failed (of the project; `app` is one of those). Failures without an error are alike where their reasons are. */
#define HL_ERRORS_MAX  20
#define HL_ERROR_LOOKS 100000

struct hl_error_row {
    char project[HL_STORE_NAME_MAX + 1], app[HL_STORE_NAME_MAX + 1];
    enum hl_run_reason reason;
    char error[HL_ERROR_LINE_MAX + 1]; /* empty: none */
    uint64_t count;
    int64_t first_ms, last_ms; /* when those runs were accepted */
};

struct hl_list_errors {
    struct hl_store_msg m;
    char project[HL_STORE_NAME_MAX + 1], app[HL_STORE_NAME_MAX + 1];
    int64_t since_ms, until_ms;

    HL_LISTING(struct hl_error_row); /* reply; HL_ERRORS_MAX at most */
    uint64_t kinds, failures;        /* how many there are, and of how many runs */
    int64_t counted_ms;              /* since when: since_ms, or later where there are more runs */
};

/* For who answers. */
/* What a database says of them, in this order. */
extern const struct hl_columns hl_run_row_columns, hl_delivery_row_columns, hl_attempt_row_columns;
/* Of what was read: the numbers are right, and the strings, borrowed until now, and those of the outcome become the
 * row's. HL_ERR_NOMEM. */
HL_MUST_CHECK enum hl_err hl_run_row_keep(struct hl_run_row *row, const struct hl_outcome *outcome);
/* The strings, borrowed until now, and what is said of its receiver become the row's. HL_ERR_NOMEM. */
HL_MUST_CHECK enum hl_err hl_delivery_row_keep(
    struct hl_delivery_row *row, const struct hl_receiver *receiver);

#endif
