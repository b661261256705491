/* rest.h - the REST interface (contract 8) on the control thread: one implementation, whatever
 * front a request came by: the run listener (rest_inquiry.c), the admin listener or the control
 * socket (admin_connection.c), or the command line without a running sidecar (cli/).
 *
 * A front fills a struct hl_rest_call and begins it; the handler of its route asks the store and the
 * workers by message and goes on, step by step, when all that it asked has answered. */
#ifndef HL_API_REST_H
#define HL_API_REST_H

#include <jansson.h>

#include "loop/slot.h"
#include "run/recent.h"
#include "store/account.h"
#include "store/query.h"
#include "worker/inquiry.h"
#include "worker/worker.h"

struct hl_auth;
struct hl_auth_seat;
struct hl_rest;
struct hl_rest_call;
struct hl_rest_route;

/* What it stands on; everything in it outlives it. */
struct hl_rest_parts {
    const struct hl_config *config;
    struct hl_store *store;
    struct hl_service *service; /* NULL: no workers, nothing runs */
    struct hl_auth *auth;       /* accounts, and with HOOKLINE_AUTH=jwt who asks */
};

/* On failure NULL: out of memory. */
struct hl_rest *hl_rest_new(uv_loop_t *loop, const struct hl_rest_parts *parts);
/* After the workers and the store have ended, the loop still runs once more for the close callback,
 * and then hl_rest_free. No calls are open. */
void hl_rest_close(struct hl_rest *rest);
void hl_rest_free(struct hl_rest *rest); /* NULL-safe */

/* Where the fronts of this thread ask who calls; NULL: no token is asked for. */
struct hl_auth_seat *hl_rest_seat(struct hl_rest *rest);
/* Where workers send HL_WORKER_INQUIRY. */
struct hl_mailbox *hl_rest_mailbox(struct hl_rest *rest);
const struct hl_rest_parts *hl_rest_parts(const struct hl_rest *rest);
/* Whether its mailbox alone keeps the loop running. */
void hl_rest_keep_loop(struct hl_rest *rest, bool keeps);
/* A worker asks and answers nothing more: who waits for it goes on without. */
void hl_rest_worker_ended(struct hl_rest *rest, uint32_t index);

/* The project that a path names, unchecked; empty: none. */
struct hl_str hl_rest_project_of(struct hl_str path);

/* What may stand in a query (rest_param.c). */
struct hl_rest_params {
    uint32_t limit;
    struct hl_id cursor; /* nil: from the newest on */
    int state;           /* of a run or a delivery, as the route has it; -1: any */
    int is_async;        /* -1: either */
    int64_t since_ms, until_ms;
    char app[HL_NAME_MAX + 1];
    struct hl_id run_id; /* nil: any */
};

#define HL_REST_STORE_ANSWERS 2

struct hl_rest_call {
    /* the request: set by the front, borrowed until the answer */
    enum hl_method method;
    struct hl_str path, query, body;
    bool is_operator; /* an admin of every project: on the control socket, or on an admin listener
                         that asks for no token */
    struct hl_asker asker;
    /* The reply is there, and is the front's to free. Once, possibly inside hl_rest_begin, unless the
     * call is abandoned. The call may be freed inside. */
    void (*on_reply)(struct hl_rest_call *call);

    struct hl_reply reply;

    /* the interface's own */
    struct hl_rest *rest;
    struct hl_list node;
    struct hl_slot_name name;
    const struct hl_rest_route *route;
    char project[HL_NAME_MAX + 1], app[HL_NAME_MAX + 1]; /* of the path; empty: not in it */
    struct hl_id id;
    struct hl_rest_params params;
    unsigned outstanding;                    /* what was asked and has not answered */
    void (*step)(struct hl_rest_call *call); /* then */
    struct hl_store_msg *answers[HL_REST_STORE_ANSWERS];
    unsigned answer_count;
    struct hl_msg *recent; /* the workers': struct hl_recent_ask, linked by `next` */
    uint64_t asked[4];     /* a bit for each worker that owes an answer */
};

void hl_rest_begin(struct hl_rest *rest, struct hl_rest_call *call);
/* Nobody waits for the answer any more. Frees what the call holds, the reply too. */
void hl_rest_abandon(struct hl_rest_call *call);

/* ---- for handlers ---- */

typedef void hl_rest_handler(struct hl_rest_call *call);

/* Asks the store; `m` is given away and comes back in `answers`. */
void hl_rest_ask_store(struct hl_rest_call *call, uint32_t type, struct hl_store_msg *m);
/* Asks all workers, each with a copy. */
void hl_rest_ask_workers(struct hl_rest_call *call, const struct hl_recent_ask *ask);
/* When all that was asked has answered, `step`; at once when nothing was. */
void hl_rest_then(struct hl_rest_call *call, void (*step)(struct hl_rest_call *call));
/* The reply is complete. The call may be gone afterwards. */
void hl_rest_end(struct hl_rest_call *call);
/* The same with `value` as its body, which is taken; NULL: out of memory. */
void hl_rest_end_json(struct hl_rest_call *call, uint16_t status, json_t *value);
/* A problem ends it. */
void hl_rest_refuse(struct hl_rest_call *call, uint16_t status, const char *fmt, ...)
    HL_PRINTF(3, 4);
/* The store said no: what it means for the asker. `what`: "run", "delivery", … */
void hl_rest_refuse_store(struct hl_rest_call *call, enum hl_err rc, const char *what);
void hl_rest_refuse_memory(struct hl_rest_call *call);

/* ---- routes ---- */

enum hl_rest_right {
    HL_REST_READ,     /* every role */
    HL_REST_ADMIN,    /* admin */
    HL_REST_OPERATOR, /* an admin of every project: over all of them */
};

/* Query parameters that a route takes. */
enum {
    HL_REST_PAGE = 1, /* limit, cursor */
    HL_REST_RUN_STATE = 2,
    HL_REST_DELIVERY_STATE = 4,
    HL_REST_ASYNC = 8,
    HL_REST_TIME = 16, /* since, until */
    HL_REST_APP = 32,
    HL_REST_RUN_ID = 64,
};

struct hl_rest_route {
    enum hl_method method; /* GET stands for HEAD too */
    const char *path;      /* {p} project, {a} app, {i} id */
    enum hl_rest_right right;
    unsigned params;
    hl_rest_handler *handle;
    bool is_by_id; /* with HOOKLINE_AUTH=none for whoever knows a run's id, on the run listener */
};

extern const struct hl_rest_route hl_rest_routes[];
extern const size_t hl_rest_route_count;

/* Finds the route and checks what it may; fills `call` and calls the handler, or refuses. */
void hl_rest_route(struct hl_rest_call *call);
/* Fills call->params from the query. False: refused, the parameter is named. */
bool hl_rest_read_params(struct hl_rest_call *call);
/* 400: the cursor is no page's of this list. */
void hl_rest_refuse_cursor(struct hl_rest_call *call);
/* A point in time of a query or a body: RFC 3339, or milliseconds since 1970. */
bool hl_rest_read_time(struct hl_str text, int64_t *ms);
/* Milliseconds since 1970, and no seconds by mistake: those would mean a day in 1970. 0 is taken. */
bool hl_rest_is_time(int64_t ms);

hl_rest_handler hl_rest_list_projects, hl_rest_show_project;
hl_rest_handler hl_rest_list_runs, hl_rest_show_run, hl_rest_cancel_run, hl_rest_show_result;
hl_rest_handler hl_rest_list_deliveries, hl_rest_show_delivery, hl_rest_redeliver,
    hl_rest_redeliver_all;
hl_rest_handler hl_rest_open_session;
hl_rest_handler hl_rest_list_accounts, hl_rest_add_account, hl_rest_revoke_account;

/* A request of the run listener: takes the message, which goes back answered (rest_inquiry.c). */
void hl_rest_take_inquiry(struct hl_rest *rest, struct hl_inquiry *inquiry);

#endif
