/* worker.c - one data-plane thread: made, run, drained, ended.
 * Owns: everything in struct hl_worker. Thread: its own, but for making and freeing.
 * Promise: it ends when it was told to and its last caller and run have gone, or at once when it is
 * cut.
 * Not here: what happens on connections (client.c) and in runs (forward.c, respond.c,
 * acceptance.c, dispatch.c). */
#include "worker/worker.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "caller/client.h"
#include "config/config.h"
#include "run/acceptance.h"
#include "run/dispatch.h"
#include "run/ending.h"
#include "run/report.h"
#include "run/respond.h"
#include "run/tunnel.h"
#include "run/run.h"
#include "run/service.h"
#include "run/stream_share.h"
#include "store/accept.h"
#include "store/claim.h"
#include "store/notice.h"
#include "store/store.h"
#include "tls/tls.h"
#include "worker/follow.h"
#include "worker/inquiry.h"
#include "worker/listening.h"

static void on_message(void *self, struct hl_msg *msg);
static void check_end(struct hl_worker *w);

/* ---- making ---- */

static void on_closed(struct hl_callers *callers)
{
    struct hl_worker *w = HL_CONTAINER_OF(callers, struct hl_worker, callers);
    hl_listening_poke(w);
}

static void on_turn_end(uv_prepare_t *prepare)
{
    struct hl_worker *w = HL_CONTAINER_OF(prepare, struct hl_worker, turn_end);
    hl_runs_free_ended(&w->runs);
    hl_dispatch_end_turn(&w->runs);
    if (w->callers.is_closed)
        check_end(w);
}

static int open_loop(struct hl_worker *w)
{
    int rc = uv_loop_init(&w->loop);
    w->has_loop = rc == 0;
    if (rc == 0)
        rc = hl_wheel_init(&w->wheel, &w->loop);
    if (rc == 0)
        rc = hl_reader_init(&w->reader, &w->loop);
    if (rc == 0)
        rc = hl_uv_mailbox_init(&w->mail, &w->loop, on_message, w);
    if (rc == 0)
        rc = uv_prepare_init(&w->loop, &w->turn_end);
    if (rc == 0)
        rc = uv_prepare_start(&w->turn_end, on_turn_end);
    uv_unref((uv_handle_t *)&w->turn_end);
    if (rc == 0)
        uv_ref((uv_handle_t *)&w->mail.async); /* the store's answers are waited for to the end */
    return rc;
}

static bool make_scratch(struct hl_worker *w)
{
    w->plan_scratch.target_cap = 2 * (size_t)w->config->max_head + w->config->app_run_path.n + 16;
    w->plan_scratch.target = malloc(w->plan_scratch.target_cap);
    return w->plan_scratch.target != NULL;
}

/* 0: as many as there may be. */
static int half_of_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > INT_MAX)
        return 0;
    return (int)(limit.rlim_cur / 2);
}

static void lend(struct hl_worker *w)
{
    uint32_t workers = w->service->worker_count;
    w->callers = (struct hl_callers){.config = w->config,
        .loop = &w->loop,
        .wheel = &w->wheel,
        .reader = &w->reader,
        .ids = &w->ids,
        .trouble = &w->trouble,
        .metrics = &w->metrics,
        .full_noted_ms = &w->service->full_noted_ms,
        .on_head = hl_call_begin,
        .on_closed = on_closed,
        .fd_max = half_of_descriptors(),
        .max = (w->config->max_connections + workers - 1) / workers};
    w->runs = (struct hl_runs){.service = w->service,
        .config = w->config,
        .index = w->index,
        .loop = &w->loop,
        .wheel = &w->wheel,
        .box = &w->mail.box,
        .ids = &w->ids,
        .date = &w->date,
        .slots = &w->slots,
        .trouble = &w->trouble,
        .metrics = &w->metrics,
        .await = hl_inquiry_await,
        .leave = hl_inquiry_leave};
    w->desk = (struct hl_follow_desk){.loop = &w->loop,
        .wheel = &w->wheel,
        .reader = &w->reader,
        .store = w->service->store,
        .journals = w->service->journals,
        .beat_ms = w->config->sse_heartbeat_ms};
}

static void set_rules(struct hl_worker *w)
{
    size_t max_head = (size_t)w->config->max_head;
    w->callers.rules = (struct hl_message_rules){
        .max_head = max_head,
        .max_trailer = max_head,
        .no_head = hl_refusal_make(HL_REFUSAL_NO_HEAD),
        .head_too_large = hl_refusal_make(HL_REFUSAL_HEAD_TOO_LARGE),
    };
    w->runs.rules = (struct hl_message_rules){
        .max_head = max_head,
        .max_trailer = max_head,
        .no_head = hl_refusal_make(HL_REFUSAL_APP_NO_HEAD),
        .head_too_large = hl_refusal_make(HL_REFUSAL_APP_HEAD_TOO_LARGE),
    };
}

enum hl_err hl_worker_new(
    struct hl_worker **out, struct hl_service *service, uint32_t index, char *why, size_t why_len)
{
    snprintf(why, why_len, "out of memory");
    struct hl_worker *w = calloc(1, sizeof(*w));
    if (!w)
        return HL_ERR_NOMEM;
    *out = w;
    w->service = service;
    w->config = service->config;
    w->index = index;
    hl_trouble_init(&w->trouble, &w->wheel);
    hl_slot_table_init(&w->slots);
    hl_bell_init(&w->lender_desk.bell, &w->mail.box, HL_WORKER_LENT);
    hl_list_init(&w->borrowing);
    hl_id_source_init(&w->ids);
    lend(w);
    set_rules(w);
    hl_callers_init(&w->callers);
    int rc = open_loop(w);
    if (rc != 0) {
        snprintf(why, why_len, "cannot make an event loop: %s", uv_strerror(rc));
        return HL_ERR_IO;
    }
    if (service->tls) {
        w->runs.tls =
            hl_tls_seat_new(service->tls, &w->loop, &w->wheel, w->config->head_timeout_ms);
        if (!w->runs.tls)
            return HL_ERR_NOMEM;
        w->callers.tls = hl_service_speaks_tls(w->config) ? w->runs.tls : NULL;
        w->desk.tls = w->callers.tls;
    }
    if (hl_runs_init(&w->runs, &w->reader) != HL_OK || !make_scratch(w))
        return HL_ERR_NOMEM;
    rc = hl_follow_desk_init(&w->desk);
    if (rc != 0) {
        snprintf(why, why_len, "cannot make an event loop: %s", uv_strerror(rc));
        return HL_ERR_IO;
    }
    if (w->config->auth == HL_AUTH_JWT) {
        w->auth = hl_auth_seat_new(service->auth, &w->mail.box);
        if (!w->auth)
            return HL_ERR_NOMEM;
        hl_follow_guard(&w->desk, service->auth);
    }
    return hl_listening_open(w, why, why_len);
}

/* ---- running ---- */

static void worker_main(void *arg)
{
    struct hl_worker *w = arg;
    hl_lender_add(hl_store_get_lender(w->service->store), &w->lender_desk);
    hl_dispatch_start(&w->runs);
    uv_run(&w->loop, UV_RUN_DEFAULT);
    hl_runs_free_ended(&w->runs);
    w->service->on_worker_end(w->service, w->index);
}

int hl_worker_start(struct hl_worker *w)
{
    char name[16];
    snprintf(name, sizeof(name), "worker-%u", w->index);
    return hl_thread_start(&w->thread, name, worker_main, w);
}

bool hl_worker_tell(struct hl_worker *w, enum hl_worker_message what)
{
    bool is_stage = what <= HL_WORKER_CUT;
    struct hl_msg *msg = is_stage ? &w->stages[what - HL_WORKER_DRAIN] : calloc(1, sizeof(*msg));
    if (!msg)
        return false;
    if (is_stage && msg->type != 0)
        return true;
    msg->type = what;
    hl_mailbox_post(&w->mail.box, msg);
    return true;
}

void hl_worker_ask(struct hl_worker *w, struct hl_recent_ask *ask)
{
    ask->msg.type = HL_WORKER_RECENT;
    hl_mailbox_post(&w->mail.box, &ask->msg);
}

/* ---- ending ---- */

static void end(struct hl_worker *w)
{
    w->has_ended = true;
    hl_call_tally_end(&w->runs.tally);
    hl_trouble_fini(&w->trouble);
    hl_strangers_fini(&w->callers.strangers);
    hl_pool_close(&w->runs.pool);
    hl_lender_remove(hl_store_get_lender(w->service->store), &w->lender_desk);
    hl_follow_unguard(&w->desk);
    hl_follow_desk_close(&w->desk);
    hl_wheel_close(&w->wheel);
    hl_reader_close(&w->reader);
    hl_tls_seat_close(w->runs.tls);
    hl_uv_mailbox_close(&w->mail);
    uv_close((uv_handle_t *)&w->turn_end, NULL);
}

static void check_end(struct hl_worker *w)
{
    bool is_settled = w->runs.is_cut || hl_dispatch_is_settled(&w->runs);
    if (w->runs.dispatch.has_withdrawn && is_settled && !w->has_ended && w->callers.count == 0 &&
        hl_counter_get(&w->runs.count) == 0 && hl_limiter_seat_close(&w->runs.seat))
        end(w);
}

/* Withdrawing asks the store once; a worker that has ended has nothing to withdraw. */
static void drain(struct hl_worker *w)
{
    w->callers.is_draining = w->runs.is_draining = true;
    if (!w->has_ended)
        hl_dispatch_stop(&w->runs);
}

/* Not while it ends, which nothing takes back. */
static void set_aside(struct hl_worker *w, bool is_aside)
{
    if (w->has_ended || w->runs.is_draining)
        return;
    w->callers.is_draining = w->runs.is_aside = is_aside;
    hl_dispatch_set_aside(&w->runs);
}

static void stop_accepting(struct hl_worker *w)
{
    drain(w);
    if (!w->runs.is_cut)
        hl_listening_empty_queue(w);
    hl_listening_close(w);
    hl_callers_close(&w->callers);
    hl_follow_desk_drain(&w->desk);
}

static void close_tunnels(struct hl_worker *w)
{
    w->runs.ends_tunnels = true;
    HL_LIST_EACH_SAFE (node, &w->callers.list) {
        struct hl_client *c = HL_CONTAINER_OF(node, struct hl_client, node);
        if (c->state == HL_CLIENT_TUNNEL)
            hl_tunnel_close(c->owner); /* only runs become tunnels */
    }
}

static void cut_run(struct hl_run *run)
{
    if (run->client)
        hl_client_detach(run->client);
    run->client = NULL;
    hl_ending_abandon(run);
}

/* Runs in flight are left as the store knows them: they end as interrupted at the next start, unless they are given back. */
static void cut(struct hl_worker *w)
{
    w->runs.is_cut = w->runs.is_draining = true;
    hl_dispatch_release_held(&w->runs);
    if (w->config->retry_on.shutdown)
        hl_dispatch_release_inside(&w->runs);
    while (!hl_list_is_empty(&w->runs.list))
        cut_run(HL_CONTAINER_OF(w->runs.list.next, struct hl_run, node));
    hl_callers_cut(&w->callers);
    stop_accepting(w);
}

static void answer_recent(struct hl_worker *w, struct hl_recent_ask *ask)
{
    struct hl_run *run = hl_recent_answer(&w->runs.recent, ask);
    if (run)
        hl_ending_cancel(run);
    hl_mailbox_post(ask->reply_to, &ask->msg);
}

static void on_record(struct hl_worker *w, struct hl_accept *record)
{
    struct hl_run *run = hl_report_on_record(&w->runs, record);
    if (run)
        hl_respond_take_held(run);
}

/* Nothing of it is left to do once the worker has ended. */
static void on_gate(struct hl_worker *w)
{
    if (w->has_ended || w->runs.is_cut)
        return;
    hl_gate_seat_on_turn(&w->runs.gate); /* before anybody looks at its state */
    hl_pool_on_gate(&w->runs.pool);
    hl_dispatch_on_gate(&w->runs);
}

static void on_message(void *self, struct hl_msg *msg)
{
    struct hl_worker *w = self;
    switch (msg->type) {
    case HL_STORE_ACCEPT:
        hl_acceptance_on_reply(&w->runs, HL_CONTAINER_OF(msg, struct hl_accept, m.msg));
        break;
    case HL_STORE_RECORD:
        on_record(w, HL_CONTAINER_OF(msg, struct hl_accept, m.msg));
        break;
    case HL_STORE_FINISH:
        hl_report_on_finish(&w->runs, HL_CONTAINER_OF(msg, struct hl_finish, m.msg));
        break;
    case HL_STORE_KEEP_STREAM:
    case HL_STORE_SAY_PROGRESS:
        hl_stream_share_on_reply(&w->runs, HL_CONTAINER_OF(msg, struct hl_store_msg, msg));
        break;
    case HL_STORE_TALLY:
        hl_call_tally_on_reply(
            &w->runs.tally, HL_CONTAINER_OF(msg, struct hl_told_tally, m.msg), w->has_ended);
        break;
    case HL_WORKER_INQUIRY:
        hl_inquiry_on_reply(w, HL_CONTAINER_OF(msg, struct hl_inquiry, msg));
        break;
    case HL_WORKER_RECENT:
        answer_recent(w, HL_CONTAINER_OF(msg, struct hl_recent_ask, msg));
        break;
    case HL_LIMITER_GRANT:
        hl_limiter_on_grant(&w->runs.seat);
        break;
    case HL_POOL_ROOM:
        hl_pool_on_room(msg);
        break;
    case HL_GATE_TURNED:
        on_gate(w);
        break;
    case HL_AUTH_CHECKED:
        hl_auth_seat_on_message(w->auth, msg);
        break;
    case HL_WORKER_APP_LOST:
        hl_pool_drop_idle(&w->runs.pool);
        free(msg);
        break;
    case HL_WORKER_ASIDE:
    case HL_WORKER_BACK:
        set_aside(w, msg->type == HL_WORKER_ASIDE);
        free(msg);
        break;
    case HL_WORKER_LENT:
        hl_call_on_lent(w);
        break;
    case HL_WORKER_DRAIN:
        drain(w);
        break;
    case HL_WORKER_CLOSE:
        stop_accepting(w);
        break;
    case HL_WORKER_CLOSE_TUNNELS:
        close_tunnels(w);
        break;
    case HL_WORKER_CUT:
        cut(w);
        break;
    default:
        hl_dispatch_on_message(&w->runs, msg);
    }
}

void hl_worker_join(struct hl_worker *w)
{
    hl_thread_join(&w->thread);
}

void hl_worker_free(struct hl_worker *w)
{
    if (!w)
        return;
    struct hl_msg *next;
    w->runs.is_cut = true;
    /* The loop has ended: files that are left are swept at the next start. */
    w->runs.spools.data_dir = NULL;
    for (struct hl_msg *msg = hl_mailbox_take(&w->mail.box); msg; msg = next) {
        next = msg->next;
        if (msg->type == HL_LIMITER_GRANT)
            continue; /* nobody is left to hand it to */
        if (msg->type == HL_WORKER_RECENT)
            hl_recent_ask_free(HL_CONTAINER_OF(msg, struct hl_recent_ask, msg));
        else
            on_message(w, msg);
    }
    hl_dispatch_forget(&w->runs);
    hl_follow_unguard(&w->desk); /* one that never ran, too */
    hl_follow_desk_fini(&w->desk);
    if (w->has_loop)
        uv_loop_close(&w->loop);
    hl_reader_fini(&w->reader);
    hl_runs_fini(&w->runs);
    hl_callers_fini(&w->callers);
    hl_tls_seat_free(w->runs.tls);
    hl_auth_seat_free(w->auth);
    hl_slot_table_fini(&w->slots);
    free(w->listeners);
    free(w->plan_scratch.target);
    free(w);
}
