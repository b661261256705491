/* run.c - operations on runs that live in memory. Each either does all it has to or, short of
 * memory, nothing: what can fail is done first. Bodies move from the message to the run and on to
 * the worker: with the process gone there is no second attempt that would need them. */
#include "store/memory/run.h"

#include <mbedtls/sha256.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/assert.h"
#include "base/heap.h"
#include "base/id_map.h"
#include "base/list.h"
#include "store/accept.h"
#include "store/attempt_log.h"
#include "store/backlog.h"
#include "store/claim.h"
#include "store/driver.h"
#include "store/key.h"
#include "store/memory/delivery.h"
#include "store/memory/memory.h"
#include "store/memory/minute.h"
#include "store/message.h"

static struct hl_str log_of(const struct hl_memory_run *run)
{
    return (struct hl_str){run->attempt_log, run->attempt_log_n};
}

static struct hl_heap *turns_of(struct hl_memory *m, const struct hl_memory_run *run)
{
    return &m->turns[run->place.class];
}

static uint64_t weight_of(const struct hl_memory_run *run)
{
    return sizeof(*run) + run->project.n + run->app.n + run->method.n + run->path.n + run->head.n +
           run->url.n + run->secret.n + run->traceparent.n;
}

struct hl_memory_run *hl_memory_run_find(
    const struct hl_memory *m, const struct hl_id *id, const char *project, const char *app)
{
    struct hl_memory_run *run = hl_id_map_find(&m->runs, id);
    return run && hl_store_name_fits(run->project, project) && hl_store_name_fits(run->app, app)
               ? run
               : NULL;
}

/* --- accept and record ---------------------------------------------------------------------- */

/* The lengths go in too, so that no two different triples hash the same bytes. */
static struct hl_id digest_of(const struct hl_accept *a)
{
    const struct hl_str parts[] = {a->project, a->app, a->subject, a->idempotency_key};
    uint8_t hash[32];
    struct hl_id id;
    mbedtls_sha256_context sha;
    mbedtls_sha256_init(&sha);
    mbedtls_sha256_starts_ret(&sha, 0);
    for (size_t i = 0; i < HL_ARRAY_LEN(parts); i++) {
        uint64_t n = parts[i].n;
        mbedtls_sha256_update_ret(&sha, (const uint8_t *)&n, sizeof(n));
        mbedtls_sha256_update_ret(&sha, (const uint8_t *)parts[i].p, parts[i].n);
    }
    mbedtls_sha256_finish_ret(&sha, hash);
    mbedtls_sha256_free(&sha);
    memcpy(id.b, hash, sizeof(id.b));
    return id;
}

static enum hl_err check_key(struct hl_memory *m, const struct hl_accept *a,
    const struct hl_id *digest, struct hl_id *existing)
{
    struct hl_memory_key *key = hl_id_map_find(&m->keys, digest);
    if (key && key->expires_ms <= a->created_ms) {
        hl_memory_key_free(m, key);
        key = NULL;
    }
    if (!key)
        return HL_OK;
    *existing = key->run_id;
    bool is_same = memcmp(key->fingerprint, a->fingerprint, sizeof(key->fingerprint)) == 0;
    return is_same ? HL_ERR_EXISTS : HL_ERR_CONFLICT;
}

static enum hl_err add_key(
    struct hl_memory *m, const struct hl_accept *a, const struct hl_id *digest)
{
    if (a->idempotency_key.n == 0)
        return HL_OK;
    struct hl_memory_key *key = malloc(sizeof(*key));
    if (!key || hl_id_map_reserve(&m->keys, 1) != HL_OK) {
        free(key);
        return HL_ERR_NOMEM;
    }
    *key = (struct hl_memory_key){
        .digest = *digest, .run_id = a->run_id, .expires_ms = a->created_ms + m->key_ms};
    memcpy(key->fingerprint, a->fingerprint, sizeof(key->fingerprint));
    hl_list_push_back(&m->expiring, &key->node);
    hl_id_map_put(&m->keys, digest, key);
    return HL_OK;
}

void hl_memory_key_free(struct hl_memory *m, struct hl_memory_key *key)
{
    hl_id_map_remove(&m->keys, &key->digest);
    hl_list_remove(&key->node);
    free(key);
}

static struct hl_memory_run *new_run(const struct hl_accept *a)
{
    char *room;
    struct hl_str path = hl_store_message_shown_path(a->target);
    struct hl_memory_run *run = hl_store_message_alloc(sizeof(*run),
        a->project.n + a->app.n + a->method.n + path.n + a->head.n + a->webhook_url.n +
            a->webhook_secret.n + a->traceparent.n + a->identity.n,
        0, &room);
    if (!run)
        return NULL;
    hl_list_init(&run->queued);
    hl_list_init(&run->final);
    hl_list_init(&run->kept);
    hl_list_init(&run->stream);
    hl_list_init(&run->asked);
    hl_list_init(&run->due);
    hl_list_init(&run->unsent);
    hl_list_init(&run->known);
    hl_list_init(&run->begun);
    run->id = a->run_id;
    run->created_ms = a->created_ms;
    run->place.class = a->priority;
    run->timeout_ms = a->timeout_ms;
    run->run_attempts = a->max_attempts;
    run->rerun_of = a->rerun_of;
    run->start_by_ms =
        a->start_timeout_ms ? a->created_ms + hl_clock_lead_ms() + (int64_t)a->start_timeout_ms : 0;
    run->is_async = run->has_request = a->m.msg.type == HL_STORE_ACCEPT;
    run->request_size = run->is_async ? (int64_t)a->body.size : -1;
    run->project = hl_store_message_copy(&room, a->project);
    run->app = hl_store_message_copy(&room, a->app);
    run->method = hl_store_message_copy(&room, a->method);
    run->path = hl_store_message_copy(&room, path);
    run->head = hl_store_message_copy(&room, a->head);
    run->url = hl_store_message_copy(&room, a->webhook_url);
    run->secret = hl_store_message_copy(&room, a->webhook_secret);
    run->traceparent = hl_store_message_copy(&room, a->traceparent);
    run->identity = hl_store_message_copy(&room, a->identity);
    return run;
}

void hl_memory_run_drop_result(struct hl_memory *m, struct hl_memory_run *run)
{
    struct hl_body *body = &run->outcome.body;
    uint64_t size = body->size;
    m->bytes -= size;
    m->n_kept--;
    hl_list_remove(&run->kept);
    if (hl_list_is_linked(&run->stream))
        m->stream_bytes -= size;
    hl_list_remove(&run->stream);
    hl_body_fini(body);
    *body = (struct hl_body){.where = HL_BODY_DROPPED, .size = size};
    run->outcome.encoding = HL_ENCODING_NONE;
}

/* The head goes with the run. */
void hl_memory_run_drop_request(struct hl_memory *m, struct hl_memory_run *run)
{
    m->bytes -= run->body.size;
    hl_body_fini(&run->body);
    run->has_request = false;
    hl_list_remove(&run->asked);
}

void hl_memory_run_free(struct hl_memory *m, struct hl_memory_run *run)
{
    hl_id_map_remove(&m->runs, &run->id);
    if (run->delivery != HL_MEMORY_NONE)
        hl_id_map_remove(&m->deliveries, &run->delivery_id);
    hl_list_remove(&run->queued);
    hl_heap_remove(&m->starts, &run->start_by);
    hl_heap_remove(turns_of(m, run), &run->in_turn);
    hl_heap_remove(&m->retries, &run->due_again);
    hl_heap_remove(&m->waiting, &run->next_again);
    hl_list_remove(&run->final);
    hl_list_remove(&run->due);
    hl_list_remove(&run->unsent);
    hl_list_remove(&run->known);
    hl_list_remove(&run->begun);
    hl_list_remove(&run->asked);
    size_t weight = weight_of(run);
    m->bytes -= weight + run->body.size + run->log.n + run->attempt_log_n +
                run->n_attempts * sizeof(*run->attempts);
    hl_buf_fini(&run->log);
    for (size_t i = 0; i < run->n_attempts; i++)
        hl_memory_attempt_strip(m, &run->attempts[i]);
    free(run->attempts);
    free(run->attempt_log);
    if (run->outcome.body.where == HL_BODY_INLINE)
        hl_memory_run_drop_result(m, run);
    hl_body_fini(&run->body);
    explicit_bzero(run, weight);
    free(run);
}

/* Ids come nearly in their order: seldom is there more than a step to go. */
static struct hl_list *newest_before(struct hl_memory *m, const struct hl_id *id)
{
    struct hl_list *node = m->known.prev;
    while (node != &m->known &&
           memcmp(&HL_CONTAINER_OF(node, struct hl_memory_run, known)->id, id, sizeof(*id)) > 0)
        node = node->prev;
    return node;
}

static enum hl_err expect_delivery(struct hl_memory *m, const struct hl_accept *a)
{
    if (a->webhook_url.n == 0)
        return HL_OK;
    return hl_lanes_expect(&m->base.backlog->lanes, hl_key_lane(&m->key, a->webhook_url));
}

static enum hl_err add_run(struct hl_memory *m, struct hl_accept *a, const struct hl_id *digest,
    struct hl_memory_run **out)
{
    if (hl_id_map_find(&m->runs, &a->run_id))
        return HL_ERR_INVALID;
    struct hl_memory_run *run = new_run(a);
    if (!run || hl_id_map_reserve(&m->runs, 1) != HL_OK || add_key(m, a, digest) != HL_OK ||
        expect_delivery(m, a) != HL_OK) {
        free(run);
        return HL_ERR_NOMEM;
    }
    run->body = a->body;
    a->body = (struct hl_body){.where = HL_BODY_NONE};
    m->bytes += weight_of(run) + run->body.size;
    hl_id_map_put(&m->runs, &run->id, run);
    hl_list_push_back(newest_before(m, &run->id)->next, &run->known);
    *out = run;
    return HL_OK;
}

static enum hl_err reserve_place(struct hl_memory *m, enum hl_priority class)
{
    enum hl_err err = hl_heap_reserve(&m->starts);
    if (!err)
        err = hl_heap_reserve(&m->retries);
    return err ? err : hl_heap_reserve(&m->turns[class]);
}

/* There is room for it. */
static void watch_start(struct hl_memory *m, struct hl_memory_run *run)
{
    if (run->start_by_ms == 0)
        return;
    hl_heap_add(&m->starts, &run->start_by, run->start_by_ms, run->ticket);
    hl_backlog_note_start_by(m->base.backlog, run->start_by_ms);
}

enum hl_err hl_memory_run_accept(struct hl_driver *d, struct hl_accept *a, struct hl_id *existing)
{
    struct hl_memory *m = hl_memory_of(d);
    struct hl_memory_run *run;
    struct hl_id digest = {{0}};
    enum hl_err err = HL_OK;
    if (a->idempotency_key.n > 0) {
        digest = digest_of(a);
        err = check_key(m, a, &digest, existing);
    }
    if (!err)
        err = hl_backlog_admits(d->backlog, a, &m->key);
    if (!err)
        err = reserve_place(m, a->priority);
    if (!err)
        err = add_run(m, a, &digest, &run);
    if (err)
        return err;
    run->outcome.state = HL_RUN_QUEUED;
    run->ticket = ++m->last_ticket;
    hl_list_push_back(&m->queued, &run->queued);
    watch_start(m, run);
    run->place.subject = hl_key_subject(&m->key, a->identity);
    hl_backlog_queue(d->backlog, &run->place);
    hl_heap_add(turns_of(m, run), &run->in_turn, run->place.turn, run->ticket);
    return HL_OK;
}

enum hl_err hl_memory_run_record(struct hl_driver *d, struct hl_accept *a)
{
    struct hl_memory_run *run;
    struct hl_id digest = {{0}};
    enum hl_err err = add_run(hl_memory_of(d), a, &digest, &run);
    if (err)
        return err;
    run->outcome.state = HL_RUN_RUNNING;
    run->started_ms = a->created_ms;
    run->epoch = run->attempt = 1;
    return HL_OK;
}

/* --- claim and finish ----------------------------------------------------------------------- */

static void leave_queue(struct hl_memory *m, struct hl_memory_run *run)
{
    hl_list_remove(&run->queued);
    hl_heap_remove(&m->starts, &run->start_by);
    hl_heap_remove(turns_of(m, run), &run->in_turn);
}

static bool is_before(const struct hl_heap_node *a, const struct hl_heap_node *b)
{
    return !b || a->key < b->key || (a->key == b->key && a->tie < b->tie);
}

/* The first of its class; where some are barred, of the others: all that waits is looked at. */
static struct hl_memory_run *find_next(struct hl_memory *m, enum hl_priority class)
{
    const struct hl_heap *turns = &m->turns[class];
    const struct hl_barred *barred = &m->base.backlog->barred;
    struct hl_heap_node *next = barred->n == 0 ? hl_heap_first(turns) : NULL;
    for (size_t i = 0; barred->n > 0 && i < turns->n; i++) {
        struct hl_heap_node *node = turns->nodes[i];
        const struct hl_memory_run *run = HL_CONTAINER_OF(node, struct hl_memory_run, in_turn);
        if (is_before(node, next) && !hl_barred_has(barred, run->place.subject))
            next = node;
    }
    return next ? HL_CONTAINER_OF(next, struct hl_memory_run, in_turn) : NULL;
}

enum hl_err hl_memory_run_claim(
    struct hl_driver *d, enum hl_priority class, int64_t now_ms, struct hl_claimed **out)
{
    struct hl_memory *m = hl_memory_of(d);
    struct hl_memory_run *run = find_next(m, class);
    struct hl_quota *quota;
    if (!run)
        return HL_ERR_NOT_FOUND;
    enum hl_err err = hl_backlog_may_start(d->backlog, &m->key, &run->place, &quota);
    if (err)
        return err;
    char *room;
    struct hl_claimed *c = hl_store_message_alloc(
        sizeof(*c), run->project.n + run->app.n + run->head.n, HL_STORE_CLAIMED, &room);
    if (!c && quota)
        hl_quota_leave(quota);
    if (!c)
        return HL_ERR_NOMEM;
    c->body = run->body;
    if (m->keeps_request &&
        hl_body_copy(&c->body, (struct hl_str){run->body.bytes, run->body.size}) != HL_OK) {
        if (quota)
            hl_quota_leave(quota);
        free(c);
        return HL_ERR_NOMEM;
    }
    c->quota = quota;
    run->outcome.state = HL_RUN_RUNNING;
    run->started_ms = now_ms;
    c->max_attempts = run->run_attempts;
    c->first_ms = hl_attempt_log_first_ms(log_of(run), hl_clock_steady_ms());
    c->events = hl_attempt_log_events(log_of(run));
    c->run_id = run->id;
    c->epoch = ++run->epoch;
    c->attempt = ++run->attempt;
    c->has_webhook = run->url.n > 0;
    c->created_ms = run->created_ms;
    c->timeout_ms = run->timeout_ms;
    c->project = hl_store_message_copy(&room, run->project);
    c->app = hl_store_message_copy(&room, run->app);
    c->head = hl_store_message_copy(&room, run->head);
    if (!m->keeps_request) {
        m->bytes -= run->body.size;
        run->body = (struct hl_body){.where = HL_BODY_NONE};
        run->has_request = false;
    }
    leave_queue(m, run);
    hl_backlog_start(d->backlog, &run->place);
    *out = c;
    return HL_OK;
}

/* A synchronous run is only stored for its webhook, or because its stream is kept (contract 14). */
static void note_stream(struct hl_memory *m, struct hl_memory_run *run)
{
    if (run->is_async || run->url.n > 0)
        return;
    m->stream_bytes += run->outcome.body.size;
    hl_list_push_back(&m->streams, &run->stream);
    m->base.wants_purge = m->base.wants_purge || hl_memory_streams_are_over(m);
}

/* `times`: the FINISH that says how long it took; NULL: nobody knows. */
static enum hl_err end_run(struct hl_memory *m, struct hl_memory_run *run,
    struct hl_outcome *outcome, const struct hl_finish *times)
{
    if (run->url.n > 0) {
        enum hl_err err = hl_memory_delivery_begin(m, run, outcome->finished_ms);
        if (err)
            return err;
    }
    if (run->has_request && hl_keeps_request(m->keep_requests, outcome->state))
        hl_list_push_back(&m->asked, &run->asked);
    else
        hl_memory_run_drop_request(m, run);
    run->outcome = *outcome;
    outcome->body = (struct hl_body){.where = HL_BODY_NONE};
    if (run->outcome.body.where == HL_BODY_INLINE) {
        m->bytes += run->outcome.body.size;
        hl_list_push_back(&m->kept, &run->kept);
        m->n_kept++;
        note_stream(m, run);
        m->n_passed = 0;
    }
    hl_list_push_back(&m->final, &run->final);
    hl_memory_minute_add_end(m, run, times);
    hl_watchers_note_end(&m->base.backlog->watchers, &run->id);
    return HL_OK;
}

enum hl_err hl_memory_run_finish(struct hl_driver *d, struct hl_finish *f)
{
    struct hl_memory *m = hl_memory_of(d);
    struct hl_memory_run *run = hl_id_map_find(&m->runs, &f->run_id);
    if (!run)
        return HL_ERR_NOT_FOUND;
    if (run->outcome.state != HL_RUN_RUNNING || run->epoch != f->epoch)
        return HL_ERR_STALE;
    if (run->is_cancel_wished)
        hl_outcome_cancel(&f->outcome);
    enum hl_err err = end_run(m, run, &f->outcome, f);
    if (!err) {
        m->bytes += f->log.n;
        run->log = f->log;
        hl_buf_init(&f->log, 0);
    }
    return err;
}

static enum hl_err end_cancelled(struct hl_memory *m, struct hl_memory_run *run, int64_t now_ms)
{
    struct hl_outcome outcome = {
        .state = HL_RUN_CANCELLED, .finished_ms = now_ms, .encoding = HL_ENCODING_NONE};
    return end_run(m, run, &outcome, NULL);
}

enum hl_err hl_memory_run_cancel(
    struct hl_driver *d, const struct hl_run_ref *ref, int64_t now_ms, bool *is_running)
{
    struct hl_memory *m = hl_memory_of(d);
    struct hl_memory_run *run = hl_memory_run_find(m, &ref->run_id, ref->project, ref->app);
    *is_running = run && run->outcome.state == HL_RUN_RUNNING;
    if (!run)
        return HL_ERR_NOT_FOUND;
    if (*is_running) {
        run->is_cancel_wished = true;
        return HL_OK;
    }
    if (hl_run_state_is_final(run->outcome.state))
        return HL_ERR_CONFLICT;
    enum hl_err err = end_cancelled(m, run, now_ms);
    if (err)
        return err;
    if (run->due_again.place > 0) {
        hl_heap_remove(&m->retries, &run->due_again);
        hl_backlog_call_back(d->backlog, &run->place);
        return HL_OK;
    }
    leave_queue(m, run);
    hl_backlog_unqueue(d->backlog, &run->place);
    return HL_OK;
}

static enum hl_err end_late(struct hl_driver *d, int64_t now_ms, unsigned max, int64_t *due_ms)
{
    struct hl_memory *m = hl_memory_of(d);
    struct hl_heap_node *node;
    *due_ms = INT64_MAX;
    for (unsigned n = 0; (node = hl_heap_first(&m->starts)) != NULL; n++) {
        struct hl_memory_run *run = HL_CONTAINER_OF(node, struct hl_memory_run, start_by);
        *due_ms = node->key;
        if (node->key > now_ms || n == max)
            return HL_OK;
        struct hl_outcome outcome = {.state = HL_RUN_FAILURE,
            .reason = HL_REASON_EXPIRED,
            .finished_ms = hl_clock_wall_ms(),
            .encoding = HL_ENCODING_NONE};
        enum hl_err err = end_run(m, run, &outcome, NULL);
        if (err)
            return n > 0 ? HL_OK : err; /* nothing here is rolled back */
        leave_queue(m, run);
        hl_backlog_unqueue(d->backlog, &run->place);
        d->backlog->now.expired_runs++;
    }
    *due_ms = INT64_MAX;
    return HL_OK;
}

static enum hl_err note_attempt(
    struct hl_memory *m, struct hl_memory_run *run, const struct hl_attempt_entry *ended)
{
    char room[HL_ATTEMPT_ENTRY_MAX];
    struct hl_str entry = hl_attempt_entry_write(ended, room);
    char *log = realloc(run->attempt_log, run->attempt_log_n + entry.n);
    if (!log)
        return HL_ERR_NOMEM;
    memcpy(log + run->attempt_log_n, entry.p, entry.n);
    run->attempt_log = log;
    run->attempt_log_n += entry.n;
    m->bytes += entry.n;
    return HL_OK;
}

/* In front of those that came after it. */
static void queue_again(struct hl_memory *m, struct hl_memory_run *run)
{
    struct hl_list *next = m->queued.next;
    while (next != &m->queued &&
           HL_CONTAINER_OF(next, struct hl_memory_run, queued)->ticket < run->ticket)
        next = next->next;
    hl_list_push_back(next, &run->queued);
    hl_heap_add(turns_of(m, run), &run->in_turn, run->place.turn, run->ticket);
}

enum hl_err hl_memory_run_release(struct hl_driver *d, struct hl_release *r, int64_t now_ms)
{
    struct hl_memory *m = hl_memory_of(d);
    struct hl_memory_run *run = hl_id_map_find(&m->runs, &r->claimed->run_id);
    if (!run || run->outcome.state != HL_RUN_RUNNING || run->epoch != r->claimed->epoch)
        return HL_ERR_STALE;
    if (run->is_cancel_wished)
        return end_cancelled(m, run, now_ms);
    if (reserve_place(m, run->place.class) != HL_OK)
        return HL_ERR_NOMEM;
    if (r->is_retry && note_attempt(m, run, &r->ended) != HL_OK)
        return HL_ERR_NOMEM;
    run->outcome.state = HL_RUN_QUEUED;
    run->started_ms = 0;
    run->epoch++;
    if (r->is_retry) {
        hl_heap_add(&m->retries, &run->due_again, r->due_ms, run->ticket);
        hl_backlog_put_off(d->backlog, &run->place, r->due_ms);
        return HL_OK;
    }
    run->attempt--;
    if (!m->keeps_request) {
        run->body = r->claimed->body;
        r->claimed->body = (struct hl_body){.where = HL_BODY_NONE};
        m->bytes += run->body.size;
        run->has_request = true;
    }
    queue_again(m, run);
    if (run->attempt == 0)
        watch_start(m, run);
    hl_backlog_queue_again(d->backlog, &run->place);
    return HL_OK;
}

/* Those whose next attempt is due stand in the queue where they stood. */
static void call_back(struct hl_driver *d, int64_t now_ms, unsigned max, int64_t *due_ms)
{
    struct hl_memory *m = hl_memory_of(d);
    struct hl_heap_node *node;
    for (unsigned n = 0; (node = hl_heap_first(&m->retries)) != NULL; n++) {
        struct hl_memory_run *run = HL_CONTAINER_OF(node, struct hl_memory_run, due_again);
        if (node->key < *due_ms)
            *due_ms = node->key;
        if (node->key > now_ms || n == max || reserve_place(m, run->place.class) != HL_OK)
            return;
        hl_heap_remove(&m->retries, node);
        hl_backlog_call_back(d->backlog, &run->place);
        queue_again(m, run);
        hl_backlog_queue_again(d->backlog, &run->place);
    }
}

enum hl_err hl_memory_run_expire(struct hl_driver *d, int64_t now_ms, unsigned max, int64_t *due_ms)
{
    int64_t retry_ms = INT64_MAX;
    enum hl_err err = end_late(d, now_ms, max, due_ms);
    call_back(d, now_ms, max, &retry_ms);
    if (retry_ms < *due_ms)
        *due_ms = retry_ms;
    return err;
}
