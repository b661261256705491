/* call.c - from a parsed head to a run or an answer: carries out what the plan says.
 * Owns: nothing that outlives a call of it. Thread: the worker's.
 * Not here: the decisions (route/plan.c), what we answer ourselves (own_answer.c), reading and writing the connection
 * (client.c). */
#include <mbedtls/sha256.h>
#include <string.h>

#include "auth/principal.h"
#include "base/base64.h"
#include "base/clock.h"
#include "base/log.h"
#include "caller/access.h"
#include "caller/departure.h"
#include "config/config.h"
#include "http/browser.h"
#include "http/edit.h"
#include "http/prefer.h"
#include "run/acceptance.h"
#include "run/forward.h"
#include "run/progress.h"
#include "run/run.h"
#include "run/service.h"
#include "store/accept.h"
#include "store/gauges.h"
#include "store/relay_pass.h"
#include "store/store.h"
#include "tls/tls.h"
#include "worker/call_trace.h"
#include "worker/inquiry.h"
#include "worker/own_answer.h"
#include "worker/worker.h"

#define PAGE_SLACK 1024 /* our own fields: ids, forwarding, trace, framing */

/* Without tokens it is as was asked; with them, no class is higher than the account may have: one that was
 * asked for is refused, else it is the highest that it may. */
static bool settle_priority(struct hl_plan *plan, const struct hl_principal *who)
{
    enum hl_priority most = hl_principal_max_priority(who);
    if (plan->terms.priority >= most)
        return true;
    if (plan->terms.asks_priority)
        return false;
    plan->terms.priority = most;
    return true;
}

/* What the plan alone cannot know: sizes, queues and rights. NONE: go on. */
static enum hl_refusal_cause find_refusal(const struct hl_client *c, struct hl_plan *plan)
{
    const struct hl_store_gauges *gauges =
        hl_store_get_gauges(hl_worker_of(c->callers)->service->store);
    const struct hl_principal *who = hl_worker_of(c->callers)->principal;
    if (who && who->role == HL_ROLE_VIEWER)
        return HL_REFUSAL_REST_VIEWER;
    if (c->messages.framing == HL_FRAMING_LENGTH && c->messages.left > c->body_max)
        return plan->is_async ? HL_REFUSAL_ASYNC_BODY_TOO_LARGE : HL_REFUSAL_SYNC_BODY_TOO_LARGE;
    if (plan->webhook_url.n > 0 &&
        hl_counter_get(&gauges->pending_deliveries) >= c->callers->config->max_pending_deliveries)
        return HL_REFUSAL_DELIVERIES_FULL;
    if (plan->webhook_url.n > 0 && !plan->is_async &&
        hl_store_is_destination_full(hl_worker_of(c->callers)->service->store, plan->webhook_url))
        return HL_REFUSAL_DESTINATION_FULL;
    if (!settle_priority(plan, who))
        return HL_REFUSAL_RUN_PRIORITY_RIGHT;
    return HL_REFUSAL_NONE;
}

/* What makes two requests with one idempotency key the same, but for the body (contract 3). */
static void begin_fingerprint(const struct hl_head *head, const struct hl_plan *plan,
    const struct hl_str *secret, uint8_t out[32])
{
    const struct hl_field *type = hl_head_field(head, HL_FIELD_CONTENT_TYPE);
    struct hl_str parts[] = {
        head->method, plan->target, plan->webhook_url, *secret, type ? type->value : HL_STR("")};
    mbedtls_sha256_context sha;
    mbedtls_sha256_init(&sha);
    mbedtls_sha256_starts_ret(&sha, 0);
    for (size_t i = 0; i < HL_ARRAY_LEN(parts); i++) {
        uint64_t n = parts[i].n;
        mbedtls_sha256_update_ret(&sha, (const unsigned char *)&n, sizeof(n));
        mbedtls_sha256_update_ret(&sha, (const unsigned char *)parts[i].p, parts[i].n);
    }
    mbedtls_sha256_finish_ret(&sha, out);
    mbedtls_sha256_free(&sha);
}

/* Writes the head for the app into the run's page. False: it does not fit any head limit, or no
 * memory. */
static bool write_page(struct hl_run *run, const struct hl_client *c, const struct hl_head *head,
    const struct hl_plan *plan, const struct hl_call_trace *trace)
{
    struct hl_worker *w = hl_worker_of(c->callers);
    bool checks = w->config->auth == HL_AUTH_JWT;
    struct hl_request_edit edit = {
        .target = plan->target,
        .run_id = &run->id,
        .via = w->config->via,
        .peer = hl_str_from(c->peer),
        .is_peer_trusted = c->is_peer_trusted,
        .is_https = c->callers->tls != NULL,
        .client_cert = c->callers->tls ? hl_tls_peer(&c->stream) : HL_STR(""),
        .traceparent = trace->app,
        .keeps_tracestate = trace->keeps_state,
        .wants_identity = plan->is_async || plan->webhook_url.n > 0 || plan->terms.keeps_stream,
        .drops_expect = plan->is_async || w->config->app_concurrency > 0, /* then we answer it */
        .keeps_authorization = !checks || w->config->forward_authorization,
        .drops_token_protocol = checks && plan->is_websocket,
        .drops_preferences =
            plan->kind == HL_PLAN_RUN && head->first[HL_FIELD_PREFER] >= 0 && hl_prefers_ours(head),
        .closes = !w->config->app_keepalive,
        .is_stored = plan->is_async,
        .framing = head->framing,
        .content_length = head->content_length,
        .deadline_at =
            plan->terms.timeout_ms > 0 && !plan->is_async ? &run->request.page.deadline_at : NULL,
    };
    size_t lines = 0;
    for (size_t i = 0; i < head->field_count; i++)
        lines += head->fields[i].line.n;
    size_t need = lines + head->method.n + plan->target.n + head->host.n * 2 + edit.client_cert.n +
                  PAGE_SLACK;
    struct hl_page *page = &run->request.page;
    if (!hl_page_make(page, &w->runs.pages, need))
        return false;
    page->n = hl_edit_request(page->p, page->cap, head, &edit);
    return page->n > 0;
}

/* What the store is told of the run; NULL: out of memory. */
static struct hl_accept *make_accept(struct hl_run *run, const struct hl_worker *w,
    const struct hl_head *head, const struct hl_plan *plan, struct hl_str traceparent)
{
    const struct hl_principal *who = w->principal;
    const struct hl_str secret = plan->webhook_url.n > 0 ? plan->webhook_secret : HL_STR("");
    struct hl_accept tmpl = {
        .run_id = run->id,
        .created_ms = run->times.started_ms,
        .project = plan->project,
        .app = plan->app,
        .method = head->method,
        .target = plan->target,
        .head =
            plan->is_async ? (struct hl_str){run->request.page.p, run->request.page.n} : HL_STR(""),
        .webhook_url = plan->webhook_url,
        .webhook_secret = secret,
        .traceparent = traceparent,
        .subject = who ? who->subject : HL_STR(""),
        .identity = who ? who->identity : HL_STR(""),
        .idempotency_key = plan->is_async ? plan->idempotency_key : HL_STR(""),
        .terms =
            plan->is_async ? plan->terms : (struct hl_run_terms){.priority = plan->terms.priority},
        .tags = plan->tags,
        .max_queued =
            w->allowance.quota && plan->is_async ? atomic_load(&w->allowance.quota->max_queued) : 0,
        .is_over = w->allowance.is_over,
    };
    if (tmpl.idempotency_key.n)
        begin_fingerprint(head, plan, &secret, tmpl.fingerprint);
    return hl_accept_new(plan->is_async ? HL_STORE_ACCEPT : HL_STORE_RECORD, &tmpl);
}

/* The first body bytes go along with the head, in one write. Returns how many fit. */
static size_t fill_page(struct hl_run *run, struct hl_client *c, struct hl_str rest)
{
    if (c->messages.framing != HL_FRAMING_LENGTH)
        return 0;
    size_t n = rest.n < c->messages.left ? rest.n : (size_t)c->messages.left;
    struct hl_page *page = &run->request.page;
    size_t room = page->cap - page->n;
    if (n > room)
        return 0;
    hl_page_append(page, (struct hl_str){rest.p, n});
    hl_message_pass_over(&c->messages, n);
    c->body_seen += n;
    if (n > 0)
        c->owes_continue = false;
    if (c->messages.left == 0) {
        c->body_done = true;
        run->request.is_whole = true;
    }
    return n;
}

/* For the log and traces: without memory they do without. */
static HL_COLD void note_tags(struct hl_client *c, struct hl_run *run, struct hl_str tags)
{
    run->tags = hl_str_dup(tags);
    hl_access_set_tags(c, tags);
}

static void take_plan(struct hl_run *run, struct hl_client *c, const struct hl_worker *w)
{
    const struct hl_plan *plan = &w->plan;
    c->mode = plan->is_async && !plan->terms.has_caller ? HL_MODE_ASYNC : HL_MODE_SYNC;
    run->is_pass = plan->kind == HL_PLAN_PASS;
    if (plan->tags.n > 0)
        note_tags(c, run, plan->tags);
    run->request.method = c->method;
    run->caller.minor = c->minor;
    run->caller.is_websocket = plan->is_websocket;
    run->caller.offers_hookline =
        plan->is_websocket && hl_subprotocol_offers_own(&c->callers->head);
    run->caller.is_preference_applied = plan->prefers_async && plan->is_async;
    run->request.framing = c->messages.framing;
    run->store.has_webhook = plan->webhook_url.n > 0;
    run->terms = plan->terms;
    run->app.slot_wait.priority = plan->terms.priority;
    run->app.slot_wait.subject = w->principal ? w->principal->identity_hash : 0;
    run->request.is_whole = c->body_done;
    if (w->allowance.quota)
        run->allowance = w->allowance;
}

static size_t start_run(struct hl_client *c, struct hl_str rest)
{
    struct hl_worker *w = hl_worker_of(c->callers);
    const struct hl_head *head = &c->callers->head;
    const struct hl_plan *plan = &w->plan;
    struct hl_run *run = hl_run_new(&w->runs, c->begun_us);
    if (!run) {
        hl_allowance_undo(&w->allowance);
        hl_own_answer_refuse(c, NULL, hl_refusal_make(HL_REFUSAL_NO_MEMORY));
        return 0;
    }
    struct hl_call_trace trace;
    hl_call_trace_begin(&trace, c, run, head, plan);
    take_plan(run, c, w);
    bool is_told = plan->is_async || run->store.has_webhook || plan->terms.keeps_stream;
    if (!write_page(run, c, head, plan, &trace) ||
        (is_told && !(run->store.accept = make_accept(run, w, head, plan, trace.kept)))) {
        hl_allowance_undo(&run->allowance);
        hl_own_answer_refuse(c, &run->id, hl_refusal_make(HL_REFUSAL_NO_MEMORY));
        hl_run_free(run);
        return 0;
    }
    if (is_told)
        hl_progress_record(run, HL_RECORD_DUE);
    run->client = c;
    hl_access_set_run(c, &run->id);
    hl_counter_add(&w->metrics.calls_in_flight, 1);
    if (plan->is_async) {
        hl_client_give_to(c, &hl_acceptance_taker, run);
        hl_acceptance_begin(run, c->messages.framing == HL_FRAMING_LENGTH ? c->messages.left : 0);
        return 0;
    }
    hl_client_give_to(c, &hl_forward_taker, run);
    if (plan->kind == HL_PLAN_RUN) { /* with a webhook until the store knows it */
        hl_recent_begin(run, plan, head);
        if (w->principal)
            hl_recent_set_owner(run, w->principal->identity_hash, w->principal->subject);
    }
    size_t used = fill_page(run, c, rest);
    if (c->has_waited && hl_client_has_left(c))
        hl_client_lose(c);
    else
        hl_forward_begin(run);
    return used;
}

/* A refused or self-answered request's body, where it is here already, is passed over so that the
 * connection can go on. */
static size_t pass_over_body(struct hl_client *c, struct hl_str rest)
{
    if (c->messages.framing != HL_FRAMING_LENGTH || c->messages.left > rest.n)
        return 0;
    c->body_done = true;
    return (size_t)c->messages.left;
}

/* Another replica shows for which run it asks. */
static bool read_pass(struct hl_worker *w, const struct hl_field *pass, struct hl_refusal *why)
{
    if (hl_relay_pass_read(w->service->store, pass->value, hl_clock_wall_ms(), &w->relayed))
        return true;
    *why = *hl_refusal_make(HL_REFUSAL_RELAY_PASS);
    return false;
}

static const struct hl_field *find_pass(const struct hl_worker *w, const struct hl_head *head)
{
    if (w->plan.kind != HL_PLAN_REST || !hl_store_is_shared(w->service->store))
        return NULL;
    return hl_head_find(head, HL_STR(HL_RELAY_PASS_NAME));
}

/* Who calls, before anything else is done or said about a call that asks for it. */
static enum hl_auth_verdict authenticate(
    struct hl_client *c, const struct hl_plan *plan, struct hl_refusal *why)
{
    struct hl_worker *w = hl_worker_of(c->callers);
    struct hl_str token;
    w->principal = NULL;
    w->relayed = (struct hl_id){{0}};
    const struct hl_field *pass = find_pass(w, &c->callers->head);
    if (pass)
        return read_pass(w, pass, why) ? HL_AUTH_GRANTED : HL_AUTH_REFUSED;
    if (!plan->asks_token)
        return HL_AUTH_GRANTED;
    if (!hl_credential_find(&c->callers->head, &token, why))
        return HL_AUTH_REFUSED;
    return hl_auth_check(w->auth, token, plan->token_project, &w->principal, why, &c->wait);
}

/* The limits of the account that calls, last: what is refused otherwise takes nothing of them. REFUSED:
 * `*why`, which points into `room`. LATER: the client waits until the lender has answered. */
static enum hl_allowance_verdict take_allowance(
    struct hl_client *c, struct hl_refusal *why, struct hl_allowance_room *room)
{
    struct hl_worker *w = hl_worker_of(c->callers);
    struct hl_quota *quota = w->principal ? w->principal->quota : NULL;
    enum hl_allowance_verdict verdict;
    enum hl_limit hit;
    w->allowance = (struct hl_allowance){.quota = NULL};
    if (!hl_quota_has_limits(quota))
        return HL_ALLOWANCE_TAKEN;
    do
        verdict = hl_allowance_take(&w->allowance, quota, &w->plan, &hit);
    while (verdict == HL_ALLOWANCE_LATER && !hl_quota_await(quota, hit, &w->lender_desk));
    if (verdict == HL_ALLOWANCE_REFUSED)
        *why = hl_allowance_refusal(quota, hit, room);
    else if (verdict == HL_ALLOWANCE_LATER)
        hl_list_push_back(&w->borrowing, &c->wait.node);
    return verdict;
}

void hl_call_on_lent(struct hl_worker *w)
{
    struct hl_list waits, *node;
    hl_bell_heard(&w->lender_desk.bell);
    hl_list_init(&waits);
    hl_list_move_all(&w->borrowing, &waits);
    while ((node = hl_list_pop_front(&waits)) != NULL)
        hl_client_on_checked(HL_CONTAINER_OF(node, struct hl_auth_wait, node));
}

static void begin_body(struct hl_client *c, const struct hl_head *head, bool is_async)
{
    const struct hl_config *config = c->callers->config;
    c->body_seen = 0;
    c->body_done = c->messages.framing != HL_FRAMING_CHUNKED && c->messages.left == 0;
    c->owes_continue = head->expects_continue && !c->body_done;
    uint64_t max = is_async ? config->max_request_body : config->max_sync_body;
    c->body_max = max ? max : UINT64_MAX;
}

/* There are no places for callers: only health checks are answered. */
static void refuse_without_place(struct hl_plan *plan)
{
    if (plan->kind == HL_PLAN_HEALTHZ || plan->kind == HL_PLAN_READYZ)
        return;
    plan->asks_token = false;
    hl_plan_refuse(plan, hl_refusal_make(HL_REFUSAL_CONNECTIONS_FULL));
}

/* From this process itself (api/admin_pass.c). */
static bool has_inner_pass(const struct hl_client *c)
{
    const struct hl_field *pass = hl_head_find(&c->callers->head, HL_STR(HL_INNER_PASS_NAME));
    const char *own = hl_worker_of(c->callers)->service->inner_pass;
    if (!pass || pass->value.n != HL_INNER_PASS_DIGITS)
        return false;
    unsigned differs = 0;
    for (size_t i = 0; i < HL_INNER_PASS_DIGITS;
         i++) /* in the same time, whatever is right of it */
        differs |= (unsigned char)(pass->value.p[i] ^ own[i]);
    return differs == 0;
}

/* Whether its pass is a good one is judged in the place of a token. */
static bool is_from_replica(const struct hl_worker *w, const struct hl_client *c)
{
    return hl_tls_is_twin(&c->stream) && find_pass(w, &c->callers->head);
}

/* On a listener that speaks TLS: the handshake asks for a certificate, the request decides. */
static void judge_transport(struct hl_client *c, struct hl_plan *plan)
{
    struct hl_worker *w = hl_worker_of(c->callers);
    /* A preflight comes without one (Fetch 4.8), and learns no more than what CORS says. */
    bool needs_none = plan->kind == HL_PLAN_HEALTHZ || plan->kind == HL_PLAN_READYZ ||
                      plan->kind == HL_PLAN_PREFLIGHT;
    enum hl_refusal_cause cause = HL_REFUSAL_NONE;
    if (hl_tls_is_plain(&c->stream)) {
        if (has_inner_pass(c))
            return;
        c->must_close = true;
        hl_strangers_note(&c->callers->strangers, c->peer, HL_REFUSAL_PLAIN_TEXT);
        cause = HL_REFUSAL_PLAIN_TEXT;
    } else if (w->config->tls_client_ca_file.n > 0 && !needs_none &&
               hl_tls_peer(&c->stream).n == 0 && !is_from_replica(w, c)) {
        cause = HL_REFUSAL_CLIENT_CERTIFICATE;
    }
    if (cause == HL_REFUSAL_NONE)
        return;
    plan->asks_token = false;
    hl_plan_refuse(plan, hl_refusal_make(cause));
}

size_t hl_call_begin(struct hl_client *c, struct hl_str rest)
{
    struct hl_worker *w = hl_worker_of(c->callers);
    const struct hl_head *head = &c->callers->head;
    struct hl_plan *plan = &w->plan;
    struct hl_refusal why;
    struct hl_allowance_room room;
    c->method = head->method_id;
    c->minor = head->minor;
    hl_plan_make(plan, head, w->config, &w->plan_scratch);
    if (c->is_spare)
        refuse_without_place(plan);
    if (c->callers->tls)
        judge_transport(c, plan);
    enum hl_auth_verdict verdict = authenticate(c, plan, &why);
    if (verdict == HL_AUTH_PENDING)
        return HL_CALL_LATER;
    if (verdict == HL_AUTH_REFUSED)
        hl_plan_refuse(plan, &why);
    if (c->line)
        hl_access_set_caller(c, w->principal);
    c->cors = w->config->cors_origins.n > 0 ? hl_plan_cors(head, w->config) : (struct hl_cors){0};
    c->must_close = c->must_close || !head->is_persistent || c->callers->is_draining || c->is_spare;
    begin_body(c, head, plan->is_async);

    if (plan->kind == HL_PLAN_RUN || plan->kind == HL_PLAN_PASS) {
        enum hl_refusal_cause cause = find_refusal(c, plan);
        enum hl_allowance_verdict allowance =
            cause ? HL_ALLOWANCE_REFUSED : take_allowance(c, &why, &room);
        if (allowance == HL_ALLOWANCE_TAKEN)
            return start_run(c, rest);
        if (allowance == HL_ALLOWANCE_LATER)
            return HL_CALL_LATER;
        hl_plan_refuse(plan, cause ? hl_refusal_make(cause) : &why);
    }
    if (plan->kind == HL_PLAN_REST) {
        struct hl_asker asker;
        hl_asker_init(&asker, w->principal);
        asker.relayed = w->relayed;
        c->body_max = HL_INQUIRY_BODY_MAX;
        hl_inquiry_begin(c, &asker);
        return 0;
    }
    size_t used = pass_over_body(c, rest);
    struct hl_id id = hl_id_next(&w->ids, hl_clock_wall_ms());
    if (plan->kind == HL_PLAN_REFUSED && w->service->tracer)
        hl_call_trace_refuse(c, w, head, &id);
    hl_own_answer_give(c, plan, &id);
    return used;
}
