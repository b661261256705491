/* inquiry.h - a request for the REST interface that came in on the run listener: its worker reads it,
 * the control thread answers it, the worker writes the answer. */
#ifndef HL_WORKER_INQUIRY_H
#define HL_WORKER_INQUIRY_H

#include "auth/principal.h"
#include "base/priority.h"
#include "http/head.h"
#include "loop/mailbox.h"
#include "loop/slot.h"
#include "net/address.h"
#include "route/plan.h"
#include "worker/follow.h"
#include "worker/reply.h"

#define HL_INQUIRY_BODY_MAX (64 * 1024) /* more: 413 */

#define HL_ASKER_SUBJECT 128

/* Who asks. */
struct hl_asker {
    bool is_unknown; /* HOOKLINE_AUTH=none: nobody was asked; the rest is empty */
    /* Not nil: another replica asks for somebody who may follow this run's events; the rest is empty. */
    struct hl_id relayed;
    /* Where the request came from: text that lasts; NULL: a command without a sidecar. The address is that of the caller
     * behind HOOKLINE_TRUSTED_PROXIES; the uid that of who asks on the control socket. */
    const char *via;
    char from[HL_IP_TEXT];
    bool has_uid;
    uint32_t uid;
    enum hl_role role;
    bool has_all_projects;
    char project[HL_NAME_MAX + 1];      /* else the one; may be empty: none */
    char subject[HL_ASKER_SUBJECT + 1]; /* of the token, cut; may be empty */
    uint16_t identity_n;
    char identity[HL_IDENTITY_MAX]; /* whole */
    uint64_t identity_hash;         /* of this process */
    struct hl_quota *quota;         /* the account's; NULL: none */
    struct hl_id account;           /* nil: none */
    uint64_t key;                   /* what has signed the token: its serial */
    int64_t refused_from_ms;        /* when the token is good no longer, wall time */
    enum hl_priority max_priority;  /* the most it may ask for */
};

struct hl_principal;
/* `who` is NULL: nobody was asked. */
void hl_asker_init(struct hl_asker *asker, const struct hl_principal *who);

/* A call at a front: its caller waits for the app's own answer (terms.has_caller). */
struct hl_front_call {
    bool is_one;
    bool is_kept, asks_keep; /* as terms.keeps_stream and terms.asks_keep say it */
    bool is_joined;          /* another call made its run, which has the same Idempotency-Key */
    bool has_left;           /* its caller: the run is cancelled; nothing is answered */
};

/* Worker ─▶ control, and the same memory back with `reply`. */
struct hl_inquiry {
    struct hl_msg msg; /* HL_WORKER_INQUIRY */
    struct hl_mailbox *reply_to;
    struct hl_slot_name from;
    struct hl_asker asker;
    enum hl_method method;
    struct hl_buf target, body; /* as they came; none of a call that waits */
    struct hl_last_event last_event;
    /* Not nil: no request, but a call whose run was accepted, and that waits for the run's response. */
    struct hl_id awaited;
    uint64_t wait_ms;
    char app[HL_NAME_MAX + 1];
    struct hl_front_call front;
    struct hl_reply reply;
};

/* Worker ─▶ control: nobody waits for that answer any more. */
struct hl_inquiry_gone {
    struct hl_msg msg; /* HL_WORKER_INQUIRY_GONE */
    struct hl_mailbox *reply_to;
    struct hl_slot_name from;
};
void hl_inquiry_free(struct hl_inquiry *inquiry); /* NULL-safe */

struct hl_accept;
struct hl_client;
struct hl_runs;
struct hl_worker;

/* The head is in worker->request_head, the plan is REST. The request's body follows, or the answer.
 */
void hl_inquiry_begin(struct hl_client *c, const struct hl_asker *asker);
/* The client's run was accepted as this message says: it is answered with the run's response, or with the
 * 202 after `wait_ms`; at a front as struct hl_front_call says. */
void hl_inquiry_await(struct hl_client *c, const struct hl_accept *accept, uint64_t wait_ms);
/* The caller of such a run at a front has left before that. */
void hl_inquiry_leave(struct hl_runs *runs, const struct hl_accept *accept);
void hl_inquiry_on_reply(struct hl_worker *w, struct hl_inquiry *inquiry);

#endif
