/* rest_call.h - a request for the REST interface in flight: what its handler asked of the store and the
 * workers by message, and who goes on, step by step, when all that it asked has answered. */
#ifndef HL_API_REST_CALL_H
#define HL_API_REST_CALL_H

#include <jansson.h>

#include "api/rest_param.h"
#include "api/rest_waits.h"
#include "loop/slot.h"
#include "worker/inquiry.h"

struct hl_auth;
struct hl_direct;
struct hl_exchange;
struct hl_foreman;
struct hl_get_run;
struct hl_mailbox;
struct hl_msg;
struct hl_recent_ask;
struct hl_rest_job;
struct hl_rest_named;
struct hl_rest_tail;
struct hl_run_log_page;
struct hl_sender;
struct hl_service;
struct hl_store_msg;

/* What the process is asked to do with itself; the control thread (control.h). */
struct hl_rest_stop {
    /* Not ready, and nothing is taken from the queue, until that is taken back. HL_ERR_EXISTS: it is so already, or the
     * process ends; HL_ERR_NOMEM. */
    enum hl_err (*set_aside)(struct hl_service *service);
    /* HL_ERR_NOT_FOUND: it was not; HL_ERR_CONFLICT: the process ends; HL_ERR_NOMEM. */
    enum hl_err (*take_back)(struct hl_service *service);
    /* It ends, as by SIGTERM but for the delay. HL_ERR_EXISTS: it does already. */
    enum hl_err (*quit)(struct hl_service *service);
};

/* What the interface stands on; everything in it outlives it. */
struct hl_rest_parts {
    const struct hl_config *config;
    struct hl_store *store;
    struct hl_service *service;      /* NULL: no workers, nothing runs */
    struct hl_reader *reader;        /* the loop's; NULL: nobody follows events on it */
    struct hl_tls_seat *tls;         /* the loop's; NULL: no TLS is spoken */
    struct hl_auth *auth;            /* accounts, and with HOOKLINE_AUTH=jwt who asks */
    const struct hl_rest_stop *stop; /* NULL: there is no process to be stopped */
    struct hl_sender *sender;        /* NULL: nothing is sent from here */
};

/* All that are in flight. */
struct hl_rest_calls {
    struct hl_rest_parts parts;
    struct hl_mailbox *mail; /* that answers come to */
    void (*begin)(struct hl_rest_calls *calls, struct hl_rest_call *call); /* rest_route.h */
    struct hl_foreman *foreman; /* whom new jobs are told to; NULL: nobody walks them here */
    struct hl_slot_table slots;
    struct hl_list list;
    struct hl_rest_waits waits;
    uint64_t ended[4]; /* a bit for each worker */
    struct hl_id_source ids;
    struct hl_rest_test_rate {
        uint64_t since_ms; /* monotonic: the present span's */
        unsigned in_span, under_way;
    } tests;        /* of receivers: rest_test.c */
    uint32_t tails; /* that wait for lines of the log */
};

#define HL_REST_STORE_ANSWERS 6

/* What a change is made to. */
enum hl_rest_audited_kind {
    HL_REST_AUDITED_NEW, /* nothing that is there yet, or that an id names */
    HL_REST_AUDITED_ACCOUNT,
    HL_REST_AUDITED_RUN,
    HL_REST_AUDITED_DELIVERY,
};

/* Of a change by an admin (rest_audit.c): what its row says. */
struct hl_rest_audited {
    enum hl_rest_audited_kind of;
    void (*then)(struct hl_rest_call *call);
    bool is_broken;                     /* there was no memory to ask */
    bool is_own;                        /* the run is the asker's own: nobody is told */
    bool is_so;                         /* an account: it is revoked already */
    json_t *author;                     /* owned */
    char project[HL_NAME_MAX + 1];      /* of what is changed */
    char name[HL_ACCOUNT_NAME_MAX + 1]; /* likewise: an account's, a run's app; may be empty */
};

typedef void hl_rest_handler(struct hl_rest_call *call);

/* One of many that a job does (job_walk.c): no admin is told of in the audit, and new work keeps its room. */
struct hl_rest_part {
    struct hl_id made; /* the id of the run that is made */
    uint32_t round;    /* the delivery's: sent again in no other one */
};

struct hl_rest_call {
    /* the request: set by the front, borrowed until the answer */
    enum hl_method method;
    struct hl_str path, query, body;
    /* An admin of every project: on the control socket, or on an admin listener that asks for no
     * token. */
    bool is_operator;
    struct hl_asker asker;
    const struct hl_last_event *last_event; /* NULL: none */
    const struct hl_rest_part *part;        /* NULL: it is a request by itself */
    int64_t before_ms; /* a list has nothing from then on, whatever its `until` says; 0: it has */
    /* The reply is there, and is the front's to free. Once, possibly inside hl_rest_begin, unless the
     * call is abandoned. The call may be freed inside. */
    void (*on_reply)(struct hl_rest_call *call);

    struct hl_reply reply;

    /* the interface's own */
    struct hl_rest_calls *all;
    struct hl_list node;
    struct hl_slot_name name;
    char project[HL_NAME_MAX + 1], app[HL_NAME_MAX + 1]; /* of the path; empty: not in it */
    struct hl_id id;
    struct hl_rest_params params;
    unsigned outstanding;                    /* what was asked and has not answered */
    void (*step)(struct hl_rest_call *call); /* then */
    struct hl_store_msg *answers[HL_REST_STORE_ANSWERS];
    unsigned answer_count;
    /* Takes the store's answers in place of `answers`, one by one; they go when it returns. NULL: nobody does. */
    void (*on_stored)(struct hl_rest_call *call, const struct hl_store_msg *m);
    struct hl_rest_named *named; /* rest_redelivery.c; a block of memory, freed with the call */
    struct hl_direct *direct;    /* rest_test.c; while the sender does not have it */
    struct hl_rest_tail *tail;   /* rest_tail.c; likewise */
    struct hl_run_log_page *log_page; /* rest_tail.c, while it reads; likewise */
    bool is_begun; /* …/events: the run was inside this process; the store may not know it yet */
    struct hl_msg *recent; /* the workers': struct hl_recent_ask, linked by `next` */
    uint64_t asked[4];     /* a bit for each worker that owes an answer */
    struct hl_rest_wait wait;
    hl_rest_handler *after_wait;
    const struct hl_front_call *front; /* rest_front.c, borrowed; NULL: it is no call at a front */
    uint64_t front_until_ms;           /* monotonic */
    hl_rest_handler *as_owner;         /* rest_handler.h */
    hl_rest_handler *with_request;     /* rest_handler.h */
    bool is_counted;                   /* of its account's rate, for a run that it makes */
    struct hl_exchange *listing;       /* rest_function.c; NULL: the app is not being asked */
    unsigned listing_address;          /* of the app's addresses, the next */
    struct hl_rest_audited audited;
    struct hl_rest_job *job;                 /* rest_job.c; its own to free */
    void (*drop)(struct hl_rest_call *call); /* frees what its handler holds; NULL: nothing */
    /* rest_drain.c, as is the next: what is left is counted again; rest_tail.c */
    struct hl_timer look;
    uint64_t until_ms; /* monotonic: then it is answered in any case; 0: it does not wait */
};

void hl_rest_calls_init(
    struct hl_rest_calls *calls, const struct hl_rest_parts *parts, struct hl_mailbox *mail);
void hl_rest_calls_fini(struct hl_rest_calls *calls);
/* An answer that came to the mailbox: takes it. */
void hl_rest_calls_take(struct hl_rest_calls *calls, struct hl_msg *msg);
/* A worker answers nothing more: who waits for it goes on without. */
void hl_rest_calls_worker_ended(struct hl_rest_calls *calls, uint32_t index);
/* An answer that came when nobody asks any more: what was changed is logged, and it is freed. */
void hl_rest_calls_drop(struct hl_rest_calls *calls, struct hl_msg *msg);
/* An answer that nobody waits for. */
void hl_rest_answer_free(struct hl_msg *msg);

/* A request, as its front made it, is one of them. False: out of memory; it is to be refused. */
HL_MUST_CHECK bool hl_rest_call_add(struct hl_rest_calls *calls, struct hl_rest_call *call);
/* Nobody waits for the answer any more. Frees what the call holds, the reply too. */
void hl_rest_abandon(struct hl_rest_call *call);

/* ---- for handlers ---- */

const struct hl_rest_parts *hl_rest_get_parts(const struct hl_rest_call *call);
/* The question for the call's run, to be asked as HL_STORE_GET_RUN; the caller owns it. NULL: out of memory, and the
 * call is refused. */
struct hl_get_run *hl_rest_get_run(struct hl_rest_call *call);
/* Asks the store; `m` is given away and comes back in `answers`; what it cannot take is there at once. */
void hl_rest_ask_store(struct hl_rest_call *call, uint32_t type, struct hl_store_msg *m);
/* What has answered is forgotten. */
void hl_rest_drop_answers(struct hl_rest_call *call);
/* Gives `direct`, which is its own, to the sender; it comes back in call->direct. */
void hl_rest_ask_sender(struct hl_rest_call *call, struct hl_direct *direct);
/* Asks all workers, each with a copy. */
void hl_rest_ask_workers(struct hl_rest_call *call, const struct hl_recent_ask *ask);
/* The store does not know the run: all workers are asked for it, then `step`. */
void hl_rest_ask_recent(struct hl_rest_call *call, void (*step)(struct hl_rest_call *call));
/* Their answer that has it; NULL: none does. */
const struct hl_recent_ask *hl_rest_recent(const struct hl_rest_call *call);
/* When all that was asked has answered, `step`; at once when nothing was. */
void hl_rest_then(struct hl_rest_call *call, void (*step)(struct hl_rest_call *call));
/* The reply is complete. The call may be gone afterwards. */
void hl_rest_end(struct hl_rest_call *call);
/* The same with `value` as its body, which is taken; NULL: out of memory. */
void hl_rest_end_json(struct hl_rest_call *call, uint16_t status, json_t *value);
/* A problem ends it. */
void hl_rest_refuse(struct hl_rest_call *call, enum hl_refusal_cause cause);
/* The same with texts in its detail; NULL ends them (hl_refusal_say). */
void hl_rest_refuse_saying(struct hl_rest_call *call, enum hl_refusal_cause cause, ...)
    __attribute__((sentinel));
/* The store said no: what it means for the asker. `what`: "run", "delivery", … */
void hl_rest_refuse_store(struct hl_rest_call *call, enum hl_err rc, const char *what);
void hl_rest_refuse_memory(struct hl_rest_call *call);

/* ---- waiting for the run's end before it is answered ---- */

/* `then` when the run that call->id names has ended, or call->params.wait_ms are over, or nobody may wait;
 * at once where nothing is to be waited for. */
void hl_rest_wait_for_run(struct hl_rest_call *call, hl_rest_handler *then);

#endif
