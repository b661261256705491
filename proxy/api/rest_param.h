/* rest_param.h - the query of a request for the REST interface. */
#ifndef HL_API_REST_PARAM_H
#define HL_API_REST_PARAM_H

#include "base/id.h"
#include "base/log.h"
#include "http/sse.h"
#include "route/plan.h"
#include "store/search.h"

struct hl_rest_call;

/* What may stand in a query; each route takes some of it. */
enum {
    HL_REST_PAGE = 1, /* limit, cursor */
    HL_REST_RUN_STATE = 2,
    HL_REST_DELIVERY_STATE = 4,
    HL_REST_ASYNC = 8,
    HL_REST_TIME = 16, /* since, until */
    HL_REST_APP = 32,
    HL_REST_RUN_ID = 64,
    HL_REST_WAIT = 128,
    HL_REST_EVENTS = 256, /* last_event_id, progress */
    HL_REST_LANES = 512,  /* limit, cursor; of destinations */
    HL_REST_RUN_SEARCH =
        1024, /* id_prefix, id_suffix, path, tag, status, reason, webhook, error, find */
    HL_REST_DELIVERY_SEARCH = 2048, /* destination, status */
    HL_REST_PERIOD = 4096,
    HL_REST_ACTION = 8192,      /* of the audit */
    HL_REST_DRAIN = 16384,      /* wait */
    HL_REST_DRAIN_WAIT = 32768, /* timeout */
    HL_REST_OUTCOME = 131072,   /* of what a job was done to */
    HL_REST_RELAYED = 65536,    /* as: by another replica alone, with its pass */
    HL_REST_TAIL = 262144,      /* limit, after, level, wait; of the log */
    HL_REST_BY = 1048576,
};

/* A destination's cursor: its lane's number in lowercase hex. */
#define HL_REST_LANE_CURSOR 16

/* What a query says. */
struct hl_rest_params {
    uint32_t limit;
    struct hl_id cursor; /* nil: from the newest on */
    bool has_after_lane;
    uint64_t after_lane; /* destinations: below the one of this number */
    int state;           /* of a run or a delivery, as the route has it; -1: any */
    int action;          /* enum hl_audit_action; -1: any */
    int outcome;         /* enum hl_job_fate; -1: any */
    int is_async;        /* -1: either */
    int64_t since_ms, until_ms;
    int64_t period_ms; /* 0: none was named */
    bool is_by_app;
    char app[HL_NAME_MAX + 1];
    struct hl_id run_id;         /* nil: any */
    struct hl_run_search search; /* of runs; of deliveries its status alone */
    char destination[HL_EVENT_ID_MAX +
                     1]; /* scheme://host, and :port unless it is the scheme's; empty: any */
    uint64_t wait_ms;    /* for the run's end, or the end of all */
    bool has_wait;       /* it was named */
    bool wants_progress;
    enum hl_log_level level;   /* of the log's lines, at the least */
    uint64_t after_era, after; /* hl_run_log_era, and the number to go on from; 0: none */
    bool is_call, is_plain;    /* another replica asks for a caller (struct hl_follow) */
    size_t last_event_n;       /* 0: none */
    char last_event_id[HL_EVENT_ID_MAX];
};

/* Fills call->params from the query; `groups`: those HL_REST_… that may stand in it. False: refused,
 * the parameter is named. */
bool hl_rest_read_params(struct hl_rest_call *call, unsigned groups);
/* 400: the cursor is not from a page of this list. */
void hl_rest_refuse_cursor(struct hl_rest_call *call);
/* A point in time of a query or a body: RFC 3339, or milliseconds since 1970. */
bool hl_rest_read_time(struct hl_str text, int64_t *ms);
/* Milliseconds since 1970, and no seconds by mistake: those would mean a day in 1970. 0 is taken. */
bool hl_rest_is_time(int64_t ms);

#endif
