/* inquiry.c - a request for the REST interface on the run listener.
 * Owns: what its caller's connection knows of it, until the answer is written. Thread: the worker's.
 * Promise: a result is sent no faster than the caller takes it, and never whole in memory; one that
 * turns out to be damaged is cut off.
 * Not here: who may ask (call.c), what is answered (api/). */
#include "worker/inquiry.h"

#include <stdlib.h>
#include <string.h>

#include "auth/claims.h"
#include "auth/principal.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "body/body_reader.h"
#include "caller/access.h"
#include "caller/client.h"
#include "caller/taker.h"
#include "config/config.h"
#include "http/problem.h"
#include "run/service.h"
#include "store/accept.h"
#include "worker/follow.h"
#include "worker/front_caller.h"
#include "worker/worker.h"

struct caller_inquiry {
    struct hl_client *client;
    struct hl_slot_name name;
    struct hl_inquiry *asked; /* NULL: the control thread has it, or it is answered */
    bool is_asked;            /* it has it, and has not answered */
    bool is_call;             /* that waits for its run's response */
    struct hl_front_call front;
    struct hl_body_reader *reader;
    bool is_reading;
    struct hl_id run_id; /* whose kept response the reader reads */
    struct hl_buf head;  /* of an answer with a file, until its first piece is there */
};

static void copy_cut(char *out, size_t max, struct hl_str s)
{
    size_t n = s.n < max ? s.n : max;
    if (n > 0)
        memcpy(out, s.p, n);
    out[n] = '\0';
}

void hl_asker_init(struct hl_asker *asker, const struct hl_principal *who)
{
    *asker = (struct hl_asker){.is_unknown = !who, .max_priority = hl_principal_max_priority(who)};
    if (!who)
        return;
    bool is_name = who->project.n <= HL_NAME_MAX; /* a longer one belongs to no project */
    asker->role = who->role;
    asker->has_all_projects = who->has_all_projects;
    copy_cut(asker->project, HL_NAME_MAX, is_name ? who->project : HL_STR(""));
    copy_cut(asker->subject, HL_ASKER_SUBJECT, who->subject);
    HL_ASSERT(who->identity.n <= sizeof(asker->identity));
    if (who->identity.n > 0)
        memcpy(asker->identity, who->identity.p, who->identity.n);
    asker->identity_n = (uint16_t)who->identity.n;
    asker->identity_hash = who->identity_hash;
    asker->quota = who->quota;
    asker->account = who->account;
    asker->key = who->key;
    asker->refused_from_ms = who->expires_ms + HL_CLAIM_LEEWAY_MS;
}

void hl_inquiry_free(struct hl_inquiry *inquiry)
{
    if (!inquiry)
        return;
    hl_buf_fini(&inquiry->target);
    hl_buf_fini(&inquiry->body);
    hl_reply_fini(&inquiry->reply);
    free(inquiry);
}

/* Short of memory it is waited for in vain. */
static void take_back(struct caller_inquiry *q)
{
    struct hl_worker *w = hl_worker_of(q->client->callers);
    struct hl_inquiry_gone *gone = calloc(1, sizeof(*gone));
    if (!gone)
        return;
    gone->msg.type = HL_WORKER_INQUIRY_GONE;
    gone->reply_to = &w->mail.box;
    gone->from = q->name;
    hl_mailbox_post(w->service->inquiries, &gone->msg);
}

/* It is answered, or nobody waits for an answer. */
static void inquiry_free(struct caller_inquiry *q)
{
    if (q->is_asked)
        take_back(q);
    if (q->front.is_one)
        hl_counter_sub(&hl_worker_of(q->client->callers)->metrics.calls_in_flight, 1);
    hl_slot_remove(&hl_worker_of(q->client->callers)->slots, q->name);
    hl_inquiry_free(q->asked);
    hl_body_reader_free(q->reader);
    hl_buf_fini(&q->head);
    free(q);
}

static void refuse(struct hl_client *c, enum hl_refusal_cause cause)
{
    struct hl_id id = hl_id_next(&hl_worker_of(c->callers)->ids, hl_clock_wall_ms());
    struct hl_answer answer = {.refusal = hl_refusal_make(cause), .run_id = &id};
    hl_client_answer(c, &answer, HL_MODE_OTHER);
}

static void refuse_made(struct caller_inquiry *q, enum hl_refusal_cause cause)
{
    struct hl_client *c = q->client;
    inquiry_free(q);
    refuse(c, cause);
}

static void end(struct caller_inquiry *q, bool is_whole)
{
    struct hl_client *c = q->client;
    inquiry_free(q);
    hl_client_call_done(c, is_whole);
}

/* ---- the request ---- */

static bool is_blocked(void *owner)
{
    (void)owner; /* its bound is HL_INQUIRY_BODY_MAX */
    return false;
}

static void on_body(void *owner, struct hl_str data)
{
    struct caller_inquiry *q = owner;
    if (hl_buf_append_str(&q->asked->body, data) != HL_OK)
        refuse_made(q, HL_REFUSAL_NO_MEMORY);
}

static void on_body_end(void *owner, struct hl_str trailer)
{
    (void)trailer;
    struct caller_inquiry *q = owner;
    struct hl_inquiry *asked = q->asked;
    q->asked = NULL;
    q->is_asked = true;
    hl_mailbox_post(hl_worker_of(q->client->callers)->service->inquiries, &asked->msg);
}

static void on_failed(void *owner, const struct hl_refusal *why)
{
    struct caller_inquiry *q = owner;
    struct hl_client *c = q->client;
    inquiry_free(q);
    hl_client_detach(c);
    hl_client_refuse(c, why);
}

static void on_caller_gone(void *owner)
{
    struct caller_inquiry *q = owner;
    struct hl_worker *w = hl_worker_of(q->client->callers);
    if (q->is_call)
        hl_counter_add(&w->metrics.callers_gone, 1);
    hl_front_caller_left(w, &q->front, &q->run_id);
    inquiry_free(q);
}

static void on_drained(void *owner);

static bool needs_caller(void *owner)
{
    (void)owner;
    return true;
}

static const struct hl_taker taker = {.is_blocked = is_blocked,
    .body = on_body,
    .body_end = on_body_end,
    .failed = on_failed,
    .caller_gone = on_caller_gone,
    .drained = on_drained,
    .needs_caller = needs_caller};

/* NULL: out of memory. */
static struct caller_inquiry *make(struct hl_client *c, const struct hl_asker *asker)
{
    struct hl_worker *w = hl_worker_of(c->callers);
    struct caller_inquiry *q = calloc(1, sizeof(*q));
    if (!q)
        return NULL;
    q->client = c;
    q->asked = calloc(1, sizeof(*q->asked));
    q->name = hl_slot_add(&w->slots, q);
    if (!q->asked || q->name.generation == 0)
        goto fail;
    q->asked->msg.type = HL_WORKER_INQUIRY;
    q->asked->reply_to = &w->mail.box;
    q->asked->from = q->name;
    q->asked->asker = *asker;
    q->asked->method = c->method;
    hl_buf_init(&q->asked->body, HL_INQUIRY_BODY_MAX);
    return q;
fail:
    inquiry_free(q);
    return NULL;
}

void hl_inquiry_begin(struct hl_client *c, const struct hl_asker *asker)
{
    if (c->messages.left > HL_INQUIRY_BODY_MAX) {
        refuse(c, HL_REFUSAL_REST_BODY_TOO_LARGE);
        return;
    }
    if (!hl_worker_of(c->callers)->service->inquiries) {
        refuse(c, HL_REFUSAL_REST_NOT_SERVED);
        return;
    }
    struct caller_inquiry *q = make(c, asker);
    if (!q) {
        refuse(c, HL_REFUSAL_NO_MEMORY);
        return;
    }
    struct hl_asker *who = &q->asked->asker;
    who->via = "run_listener";
    hl_str_put(who->from, sizeof(who->from), c->peer);
    hl_access_find_client(who->from, &c->callers->head, &c->callers->config->trusted_proxies);
    hl_last_event_read(&q->asked->last_event, &c->callers->head);
    if (hl_buf_append_str(&q->asked->target, c->callers->head.target) != HL_OK) {
        refuse_made(q, HL_REFUSAL_NO_MEMORY);
        return;
    }
    hl_client_give_to(c, &taker, q);
    if (c->body_done)
        on_body_end(q, (struct hl_str){NULL, 0});
}

static struct hl_front_call front_call_of(const struct hl_accept *accept)
{
    const struct hl_run_terms *terms = &accept->terms;
    return (struct hl_front_call){.is_one = terms->has_caller,
        .is_kept = terms->keeps_stream,
        .asks_keep = terms->asks_keep,
        .is_joined = accept->m.rc == HL_ERR_EXISTS};
}

void hl_inquiry_leave(struct hl_runs *runs, const struct hl_accept *accept)
{
    struct hl_front_call front = front_call_of(accept);
    hl_front_caller_left(HL_CONTAINER_OF(runs, struct hl_worker, runs), &front, &accept->run_id);
}

/* Short of memory, or without anybody to ask, it cannot wait: the connection ends, the run goes on. */
void hl_inquiry_await(struct hl_client *c, const struct hl_accept *accept, uint64_t wait_ms)
{
    struct hl_worker *w = hl_worker_of(c->callers);
    struct hl_asker asker = {.is_unknown = accept->subject.n == 0};
    copy_cut(asker.project, HL_NAME_MAX, accept->project);
    copy_cut(asker.subject, HL_ASKER_SUBJECT, accept->subject);
    struct caller_inquiry *q = w->service->inquiries ? make(c, &asker) : NULL;
    if (!q) {
        hl_client_detach(c);
        hl_client_refuse(c, hl_refusal_make(HL_REFUSAL_NO_MEMORY));
        return;
    }
    q->is_call = true;
    q->run_id = accept->run_id;
    q->front = front_call_of(accept);
    if (q->front.is_one)
        hl_counter_add(&w->metrics.calls_in_flight, 1);
    q->asked->front = q->front;
    q->asked->awaited = accept->run_id;
    q->asked->wait_ms = wait_ms;
    copy_cut(q->asked->app, HL_NAME_MAX, accept->app);
    hl_client_give_to(c, &taker, q);
    on_body_end(q, (struct hl_str){NULL, 0});
}

/* ---- the answer ---- */

static void write_whole(struct caller_inquiry *q, struct hl_str out)
{
    if (hl_client_write2(q->client, out, (struct hl_str){NULL, 0}) == HL_OK)
        end(q, true);
}

static void read_on(struct caller_inquiry *q)
{
    if (q->is_reading || hl_stream_is_blocked(&q->client->stream))
        return;
    q->is_reading = hl_body_reader_next(q->reader);
    if (!q->is_reading)
        end(q, false);
}

/* Nothing was sent yet: what is wrong can be said. */
static void refuse_file(struct caller_inquiry *q, enum hl_err err)
{
    if (err == HL_ERR_NOT_FOUND)
        refuse_made(q, HL_REFUSAL_RESULT_REMOVED);
    else
        refuse_made(q, HL_REFUSAL_RESULT_UNREADABLE);
}

static void on_unreadable(struct caller_inquiry *q, enum hl_err err)
{
    HL_LOG(ERROR, "a kept response cannot be read", HL_LOG_ID("run_id", &q->run_id),
        HL_LOG_TEXT("error", hl_err_text(err)));
    if (q->head.n > 0)
        refuse_file(q, err);
    else
        end(q, false);
}

static void on_piece(void *owner, enum hl_err err, struct hl_str piece, bool is_last)
{
    struct caller_inquiry *q = owner;
    struct hl_client *c = q->client;
    q->is_reading = false;
    if (err != HL_OK) {
        on_unreadable(q, err);
        return;
    }
    struct hl_buf head = q->head;
    hl_buf_init(&q->head, 0);
    hl_access_add(c, piece.n);
    enum hl_err gone = head.n > 0 ? hl_client_write2(c, hl_buf_str(&head), piece)
                                  : hl_client_write2(c, piece, (struct hl_str){NULL, 0});
    hl_buf_fini(&head);
    if (gone != HL_OK)
        return;
    if (is_last)
        end(q, true);
    else
        read_on(q);
}

static void on_drained(void *owner)
{
    struct caller_inquiry *q = owner;
    if (q->reader)
        read_on(q);
}

/* The head and, unless that is in a file, what follows it, into `out`. */
static enum hl_err write_reply(
    struct caller_inquiry *q, const struct hl_reply *reply, struct hl_buf *out)
{
    struct hl_client *c = q->client;
    struct hl_worker *w = hl_worker_of(c->callers);
    if (reply->head.n > 0)
        return hl_front_caller_write(c, &q->front, reply, out);
    struct hl_id id = q->is_call ? reply->run_id : hl_id_next(&w->ids, hl_clock_wall_ms());
    struct hl_reply_writing how = {.request_id = &id,
        .closes = hl_client_closes_after(c),
        .is_head_request = c->method == HL_METHOD_HEAD,
        .caller_minor = c->minor,
        .cors = c->cors};
    c->must_close = how.closes;
    hl_access_set_run(c, hl_id_is_nil(&reply->run_id) ? &id : &reply->run_id);
    return hl_reply_write(reply, &how, out);
}

static void answer(struct caller_inquiry *q, struct hl_reply *reply)
{
    struct hl_client *c = q->client;
    struct hl_worker *w = hl_worker_of(c->callers);
    struct hl_buf out;
    hl_buf_init(&out, 0);
    if (write_reply(q, reply, &out) != HL_OK) {
        hl_buf_fini(&out);
        refuse_made(q, HL_REFUSAL_NO_MEMORY);
        return;
    }
    c->status = reply->status;
    hl_access_set_cause(c, reply->cause);
    hl_access_add_answer(c, hl_buf_str(&out));
    if (!hl_reply_has_file(reply) || c->method == HL_METHOD_HEAD) {
        write_whole(q, hl_buf_str(&out));
        hl_buf_fini(&out);
        return;
    }
    q->head = out;
    q->run_id = reply->run_id;
    q->reader = hl_body_reader_new(&w->loop, w->runs.spools.data_dir, &reply->file, on_piece, q);
    if (q->reader)
        read_on(q);
    else
        refuse_made(q, HL_REFUSAL_NO_MEMORY);
}

/* The call goes on without what it was asked with. */
static void follow(struct caller_inquiry *q, struct hl_reply *reply)
{
    struct hl_client *c = q->client;
    struct hl_follow *grant = reply->follow;
    struct hl_front_call front = q->front;
    reply->follow = NULL;
    inquiry_free(q);
    hl_follow_begin(c, grant, front.is_one ? &front : NULL, hl_buf_str(&reply->head));
}

void hl_inquiry_on_reply(struct hl_worker *w, struct hl_inquiry *inquiry)
{
    struct caller_inquiry *q = hl_slot_find(&w->slots, inquiry->from);
    if (q) {
        q->is_asked = false;
        if (inquiry->reply.follow)
            follow(q, &inquiry->reply);
        else
            answer(q, &inquiry->reply);
    }
    hl_inquiry_free(inquiry);
}
