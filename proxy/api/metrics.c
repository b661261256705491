/* metrics.c - all figures as Prometheus text.
 * Thread: control; workers, store and sender go on counting meanwhile.
 * Promise: every series is there from the start, but for the combinations of method, mode and code,
 * which come as they occur (there are at most 350 of those), and for those of replicas, which are there
 * only where replicas share the store.
 * Not here: how the text is written (exposition.c), the figures of calls and runs (call_metrics.c). */
#include "api/metrics.h"

#include <stdio.h>
#include <string.h>

#include "api/exposition.h"
#include "api/figures.h"
#include "api/view.h"
#include "app/sleep.h"
#include "app/supervisor.h"
#include "http/refusal.h"
#include "store/gauges.h"
#include "trace/tracer.h"
#include "webhook/sender.h"

void hl_metrics_show(const struct hl_api_view *view, const struct hl_api_request *request,
    struct hl_api_response *response)
{
    (void)request;
    struct hl_figures figures;
    hl_figures_collect(&figures, view);
    hl_process_read(&figures.process);
    if (hl_metrics_write(&response->body, &figures) == HL_OK) {
        response->status = 200;
        response->content_type = HL_STR("text/plain; version=0.0.4; charset=utf-8");
    } else {
        response->refusal = hl_refusal_make(HL_REFUSAL_FIGURES_MEMORY);
    }
}

/* ---- families of one sample, which is a counter somewhere ---- */

enum part { PART_WORKERS, PART_STORE, PART_SENDER, PART_APP };

#define OF_WORKERS(field) PART_WORKERS, offsetof(struct hl_worker_metrics, field), 0
#define OF_STORE(field)   PART_STORE, offsetof(struct hl_store_gauges, field), 0
#define OF_SENDER(field)  PART_SENDER, offsetof(struct hl_sender_gauges, field), 0
#define OF_APP(field)     PART_APP, offsetof(struct hl_app_gauges, field), 0

#define OF_ALL_REPLICAS(field, unknown)                                                            \
    PART_STORE, offsetof(struct hl_store_gauges, field), offsetof(struct hl_store_gauges, unknown)

/* Who does not know it has no sample: the last value of one replica would be the largest of all for ever. */
#define OF_ALL "where replicas share the store, for all of them: use max(), never sum()."

static const struct plain {
    const char *name, *type;
    enum part part;
    size_t offset; /* of a struct hl_counter in that part */
    /* of one in the store's: while it is 1 there is no sample; 0: there always is */
    size_t unknown;
    const char *help;
} plains[] = {
    {"hookline_http_requests_in_flight", "gauge", OF_WORKERS(calls_in_flight),
        "Callers' requests that are being answered."},
    {"hookline_connections_open", "gauge", OF_WORKERS(connections_open), "Callers' connections."},
    {"hookline_connections_accepted_total", "counter", OF_WORKERS(connections_accepted),
        "Callers' connections since the start."},
    {"hookline_connections_shed_total", "counter", OF_WORKERS(connections_shed),
        "Idle connections of callers that were closed to make room for new ones: "
        "HOOKLINE_MAX_CONNECTIONS."},
    {"hookline_callers_gone_total", "counter", OF_WORKERS(callers_gone),
        "Calls whose caller left before the response was whole."},
    {"hookline_async_refused_total", "counter", OF_WORKERS(async_refused),
        "Asynchronous calls that were not accepted: a queue or the disk was full, or the store "
        "failed."},
    {"hookline_app_queue_waiting", "gauge", OF_WORKERS(waiting_for_slot),
        "Calls that wait because HOOKLINE_APP_CONCURRENCY requests are inside the app."},
    {"hookline_app_gate_waiting", "gauge", OF_WORKERS(waiting_at_gate),
        "Calls that wait for the app's health gate: HOOKLINE_APP_HEALTH_GATE."},
    {"hookline_app_running", "gauge", OF_APP(is_running),
        "1 while the process of HOOKLINE_APP_COMMAND runs."},
    {"hookline_app_output_lines_total", "counter", OF_APP(lines_logged),
        "Lines that the app wrote and that were logged."},
    {"hookline_app_output_dropped_lines_total", "counter", OF_APP(lines_dropped),
        "Lines that the app wrote and that were dropped: too many, or the log was not read."},
    {"hookline_upstream_connects_total", "counter", OF_WORKERS(upstream_connects),
        "Connections made to the app."},
    {"hookline_upstream_resent_total", "counter", OF_WORKERS(upstream_resent),
        "Requests sent again because a kept connection had died."},
    {"hookline_runs_in_flight", "gauge", OF_WORKERS(runs_in_flight),
        "Asynchronous runs inside this process's app."},
    {"hookline_runs_queued", "gauge", OF_ALL_REPLICAS(queued_runs, is_uncounted),
        "Asynchronous runs that wait to be started; " OF_ALL},
    {"hookline_runs_waiting_retry", "gauge", OF_ALL_REPLICAS(waiting_runs, is_uncounted),
        "Asynchronous runs between two attempts; " OF_ALL},
    {"hookline_run_retries_total", "counter", OF_WORKERS(runs_retried),
        "Attempts of asynchronous runs after which another one follows: HOOKLINE_RUN_RETRY_ON."},
    {"hookline_deliveries_pending", "gauge", OF_ALL_REPLICAS(pending_deliveries, is_uncounted),
        "Webhook deliveries that have neither arrived nor been given up; " OF_ALL},
    {"hookline_deliveries_leased", "gauge", OF_STORE(leased_deliveries),
        "Pending deliveries that the sender has in hand."},
    {"hookline_webhook_lanes_at_limit", "gauge", OF_STORE(lanes_at_limit),
        "Destinations whose places are all taken while more deliveries wait for one: "
        "HOOKLINE_WEBHOOK_PER_HOST."},
    {"hookline_deliveries_in_flight", "gauge", OF_SENDER(in_flight),
        "Delivery attempts under way."},
    {"hookline_deliveries_waiting_retry", "gauge", OF_SENDER(waiting_retry),
        "Deliveries between two attempts, or waiting for other look-ups under their name's "
        "suffix."},
    {"hookline_deliveries_put_off", "gauge", OF_STORE(waiting_deliveries),
        "Deliveries that wait in the store for the time of their next attempt."},
    {"hookline_webhook_destinations_failing", "gauge", OF_SENDER(failing),
        "Destinations whose last 20 attempts all had no answer."},
    {"hookline_dead_letters_total", "counter", OF_STORE(dead_letters),
        "Deliveries given up: refused for good, or out of attempts."},
    {"hookline_webhooks_lost_total", "counter", OF_WORKERS(webhooks_lost),
        "Webhooks of synchronous calls that the store could not accept."},
    {"hookline_responses_not_kept_total", "counter", OF_WORKERS(responses_not_kept),
        "Responses that the disk did not take, or not fast enough: their webhooks go without "
        "them."},
    {"hookline_waiters", "gauge", OF_STORE(waiters),
        "Callers that wait for a run's end (Prefer: wait, ?wait=)."},
    {"hookline_runs_expired_total", "counter", OF_STORE(expired_runs),
        "Queued runs that expired before they could start."},
    {"hookline_store_commits_total", "counter", OF_STORE(commits), "Commits of the store."},
    {"hookline_store_bytes", "gauge", OF_STORE(bytes),
        "Size on disk of the database and of the bodies."},
    {"hookline_store_limit_bytes", "gauge", OF_STORE(max_bytes),
        "HOOKLINE_STORE_MAX_BYTES, which hookline_store_bytes is kept below."},
    {"hookline_store_log_bytes", "gauge", OF_STORE(log_bytes),
        "Size on disk of the database's write-ahead log."},
    {"hookline_store_stream_bytes", "gauge", OF_ALL_REPLICAS(stream_bytes, is_untrimmed),
        "Kept streams of synchronous calls that have ended; " OF_ALL},
    {"hookline_store_stream_limit_bytes", "gauge", OF_STORE(max_stream_bytes),
        "HOOKLINE_STREAM_KEEP_MAX_BYTES, for those and the ones that go on."},
    {"hookline_store_purged_runs_total", "counter", OF_STORE(purged_runs),
        "Finished runs that were removed after HOOKLINE_RETENTION."},
    {"hookline_store_shed_runs_total", "counter", OF_STORE(shed_runs),
        "Finished runs that were removed before it, for HOOKLINE_STORE_MAX_BYTES."},
    {"hookline_store_shed_bodies_total", "counter", OF_STORE(shed_bodies),
        "Kept responses that were removed for HOOKLINE_STORE_MAX_BYTES."},
    {"hookline_store_swept_files_total", "counter", OF_STORE(swept_files),
        "Files of bodies that no record named, removed at the start."},
    {"hookline_store_full", "gauge", OF_STORE(is_full),
        "1 while asynchronous calls are refused for want of space."},
    {"hookline_store_failing", "gauge", OF_STORE(is_failing),
        "1 while the store cannot be written or read."},
};

static uint64_t read_counter(const void *part, size_t offset)
{
    return hl_counter_get((const struct hl_counter *)(const void *)((const char *)part + offset));
}

static uint64_t read_plain(const struct hl_figures *figures, const struct plain *plain)
{
    const void *parts[] = {
        [PART_WORKERS] = &figures->workers,
        [PART_STORE] = figures->store,
        [PART_SENDER] = figures->sender,
        [PART_APP] = figures->app,
    };
    return read_counter(parts[plain->part], plain->offset);
}

static void write_plains(struct hl_exposition *t, const struct hl_figures *figures)
{
    for (size_t i = 0; i < HL_ARRAY_LEN(plains); i++) {
        const struct plain *plain = &plains[i];
        if (plain->unknown && read_counter(figures->store, plain->unknown))
            continue;
        hl_exposition_number(t, plain->name, plain->type, plain->help, read_plain(figures, plain));
    }
    hl_exposition_number(t, "hookline_store_up", "gauge",
        "1 while the store can be written and read; with PostgreSQL: while there is a connection.",
        !hl_counter_get(&figures->store->is_failing));
    hl_exposition_number(t, "hookline_followers", "gauge",
        "Callers that are following the events of a run.", figures->followers);
}

/* ---- families with labels ---- */

static void write_starts(struct hl_exposition *t, const struct hl_app_gauges *app)
{
    static const char name[] = "hookline_app_starts_total";
    hl_exposition_family(t, name, "counter",
        "Processes of HOOKLINE_APP_COMMAND that were started, by why: at first, after another "
        "one's exit, because somebody came while it was stopped, or after one that "
        "was ended for its health or for HOOKLINE_APP_START_LIMIT.");
    for (int why = 0; why < HL_APP_START_COUNT; why++) {
        char labels[48];
        snprintf(labels, sizeof(labels), "why=\"%s\"", hl_app_start_text(why));
        hl_exposition_sample(t, name, labels, hl_counter_get(&app->starts[why]));
    }
}

static void write_sleep(struct hl_exposition *t, const struct hl_sleep_gauges *sleep)
{
    static const char wakes[] = "hookline_app_wake_seconds";
    hl_exposition_number(t, "hookline_app_asleep", "gauge",
        "1 while the app sleeps, or is stopped because nobody uses it.",
        hl_sleep_look(sleep, NULL) == HL_SLEEP_LOOK_ASLEEP);
    hl_exposition_family(
        t, wakes, "histogram", "Wakes of the app, from their begin until calls may go in.");
    hl_exposition_histogram(t, wakes, "", &sleep->wakes);
}

static void write_attempts(struct hl_exposition *t, const struct hl_sender_gauges *sender)
{
    static const char name[] = "hookline_delivery_attempts_total";
    hl_exposition_family(t, name, "counter",
        "Delivery attempts by result: delivered, to be retried, or the last one before giving up.");
    hl_exposition_sample(t, name, "outcome=\"delivered\"", hl_counter_get(&sender->attempts_ok));
    hl_exposition_sample(t, name, "outcome=\"retry\"", hl_counter_get(&sender->attempts_retry));
    hl_exposition_sample(t, name, "outcome=\"dead\"", hl_counter_get(&sender->attempts_dead));
}

/* Zeros with HOOKLINE_AUTH=none. */
static void write_tokens(struct hl_exposition *t, const struct hl_figures *figures)
{
    static const char calls[] = "hookline_tokens_total", fetches[] = "hookline_key_fetches_total";
    const struct hl_auth_counts *tokens = &figures->tokens;
    hl_exposition_family(t, calls, "counter",
        "Checks of callers' tokens by result: good, refused, or too many new ones.");
    hl_exposition_sample(t, calls, "outcome=\"good\"", hl_counter_get(&tokens->cached));
    hl_exposition_sample(t, calls, "outcome=\"refused\"", hl_counter_get(&tokens->refused));
    hl_exposition_sample(t, calls, "outcome=\"overflow\"", hl_counter_get(&tokens->overflowed));
    hl_exposition_number(t, "hookline_token_signatures_total", "counter",
        "Signatures of tokens that were checked.", hl_counter_get(&tokens->checked));
    hl_exposition_number(t, "hookline_token_signatures_waiting", "gauge",
        "Signatures of tokens that are waiting to be checked.", figures->auth.checks_waiting);
    hl_exposition_number(t, "hookline_keys", "gauge",
        "Keys for tokens from outside that are valid now.", figures->auth.keys);
    hl_exposition_family(
        t, fetches, "counter", "HOOKLINE_JWT_JWKS_URL, _ISSUER and _FILE, read again.");
    hl_exposition_sample(t, fetches, "outcome=\"ok\"", figures->auth.fetches_ok);
    hl_exposition_sample(t, fetches, "outcome=\"failed\"", figures->auth.fetches_failed);
}

/* Only where the run listener speaks TLS: a certificate that is not there does not expire. */
static void write_handshakes(struct hl_exposition *t, const struct hl_figures *figures)
{
    static const char name[] = "hookline_tls_handshakes_total";
    const struct hl_tls_metrics *h = &figures->handshakes[HL_TLS_CALLERS];
    if (!figures->has_tls)
        return;
    hl_exposition_family(t, name, "counter",
        "TLS handshakes of callers by result: done, failed (the caller left, was too slow or at "
        "fault), refused (too many waited), plain (no TLS was spoken).");
    hl_exposition_sample(t, name, "outcome=\"done\"", hl_counter_get(&h->done));
    hl_exposition_sample(t, name, "outcome=\"failed\"", hl_counter_get(&h->failed));
    hl_exposition_sample(t, name, "outcome=\"refused\"", hl_counter_get(&h->refused));
    hl_exposition_sample(t, name, "outcome=\"plain\"", hl_counter_get(&h->plain));
    hl_exposition_number(t, "hookline_tls_certificate_expiry_seconds", "gauge",
        "When the certificate of HOOKLINE_TLS_CERT_FILE expires, in Unix time.",
        (uint64_t)(figures->certificate_expires_s > 0 ? figures->certificate_expires_s : 0));
}

static void write_app_handshakes(struct hl_exposition *t, const struct hl_figures *figures)
{
    static const char name[] = "hookline_app_tls_handshakes_total";
    const struct hl_tls_metrics *h = &figures->handshakes[HL_TLS_APP];
    uint64_t resumed = hl_counter_get(&h->resumed);
    if (!figures->has_app_tls)
        return;
    hl_exposition_family(t, name, "counter",
        "TLS handshakes with the app, for calls: full, resumed (without public-key work), failed.");
    hl_exposition_sample(t, name, "outcome=\"full\"", hl_counter_get(&h->done) - resumed);
    hl_exposition_sample(t, name, "outcome=\"resumed\"", resumed);
    hl_exposition_sample(t, name, "outcome=\"failed\"", hl_counter_get(&h->failed));
}

/* Only where traces are sent. */
static void write_spans(struct hl_exposition *t, const struct hl_figures *figures)
{
    static const char name[] = "hookline_trace_spans_total";
    if (!figures->traces)
        return;
    hl_exposition_family(t, name, "counter",
        "Spans by outcome: sent (the collector has taken them), dropped (it has not, or too many "
        "waited).");
    hl_exposition_sample(t, name, "outcome=\"sent\"", hl_counter_get(&figures->traces->sent));
    hl_exposition_sample(t, name, "outcome=\"dropped\"", hl_counter_get(&figures->traces->dropped));
}

static void write_measures(struct hl_exposition *t, const struct hl_store_gauges *store)
{
    static const char dead[] = "hookline_postgres_dead_tuples";
    hl_exposition_family(t, dead, "gauge",
        "Dead rows in the tables of waiting and running work, by PostgreSQL's estimate.");
    hl_exposition_sample(t, dead, "table=\"ticket\"", hl_counter_get(&store->dead_tickets));
    hl_exposition_sample(
        t, dead, "table=\"delivery_ticket\"", hl_counter_get(&store->dead_delivery_tickets));
    hl_exposition_seconds(t, "hookline_postgres_oldest_xmin_age_seconds", "gauge",
        "How long the oldest snapshot or transaction of others has kept dead rows from being "
        "removed.",
        1000 * hl_counter_get(&store->oldest_xmin_ms));
}

/* Only where replicas share the store. */
static void write_replicas(struct hl_exposition *t, const struct hl_figures *figures)
{
    static const char replica[] = "hookline_replica_info";
    const struct hl_store_gauges *store = figures->store;
    char labels[sizeof("name=\"\",role=\"worker\"") + 2 * HL_REPLICA_MAX];
    if (figures->replica.n == 0)
        return;
    hl_exposition_label(labels, sizeof(labels), "name", figures->replica);
    size_t n = strlen(labels);
    snprintf(labels + n, sizeof(labels) - n, ",role=\"%s\"", figures->role);
    hl_exposition_family(
        t, replica, "gauge", "Always 1; its labels are HOOKLINE_REPLICA and HOOKLINE_ROLE.");
    hl_exposition_sample(t, replica, labels, 1);
    if (!hl_counter_get(&store->is_uncounted))
        hl_exposition_number(t, "hookline_replicas", "gauge", "Replicas that are alive; " OF_ALL,
            hl_counter_get(&store->replicas));
    hl_exposition_offset(t, "hookline_clock_offset_seconds", "gauge",
        "How far the database's clock, which is authoritative, is ahead of this machine's.",
        figures->clock_offset_ms);
    hl_exposition_number(t, "hookline_store_turns_total", "counter",
        "How often the database turned out to be another one or to lack commits: a failover, a "
        "restored backup.",
        hl_counter_get(&store->turns));
    hl_exposition_number(t, "hookline_store_recalled_runs_total", "counter",
        "Runs whose end such a database did not know until this replica reported it.",
        hl_counter_get(&store->recalled_runs));
    hl_exposition_number(t, "hookline_store_unheard_replicas_total", "counter",
        "Replicas that did not come back to such a database in time: what they ended may run "
        "again.",
        hl_counter_get(&store->unheard_replicas));
    hl_exposition_number(t, "hookline_rate_questions_total", "counter",
        "Questions to the database about what is left of callers' rates.",
        hl_counter_get(&store->rate_questions));
    hl_exposition_number(t, "hookline_rate_lent_calls_total", "counter",
        "Calls of callers' rates that were lent to this replica.",
        hl_counter_get(&store->lent_calls));
    hl_exposition_number(t, "hookline_permit_questions_total", "counter",
        "Messages to the database about callers' calls at once (max_running).",
        hl_counter_get(&store->permit_questions));
    hl_exposition_number(t, "hookline_rate_shares", "gauge",
        "1: the database does not say what is left of callers' limits, and this replica lets in "
        "its "
        "share of them.",
        hl_counter_get(&store->spends_shares));
    if (!hl_counter_get(&store->is_unmeasured))
        write_measures(t, store);
}

/* ---- what is computed ---- */

static void write_ages(struct hl_exposition *t, const struct hl_figures *figures)
{
    hl_exposition_seconds(t, "hookline_runs_queue_age_seconds", "gauge",
        "How long the oldest queued run has waited; " OF_ALL,
        1000 * hl_figures_age_ms(figures->now_ms, &figures->store->oldest_queued_ms));
    hl_exposition_seconds(t, "hookline_delivery_age_seconds", "gauge",
        "How long the oldest pending delivery has waited; " OF_ALL,
        1000 * hl_figures_age_ms(figures->now_ms, &figures->store->oldest_delivery_ms));
}

static void write_times(struct hl_exposition *t, const struct hl_figures *figures)
{
    static const char delivery[] = "hookline_delivery_duration_seconds";
    static const char commit[] = "hookline_store_commit_duration_seconds";
    hl_exposition_seconds(t, "hookline_app_queue_age_seconds", "gauge",
        "How long the caller that is waiting longest for the app has waited.",
        figures->app_queue_age_ms * 1000);
    if (!hl_counter_get(&figures->store->is_uncounted))
        write_ages(t, figures);
    hl_exposition_seconds(t, "hookline_jwks_age_seconds", "gauge",
        "How long ago HOOKLINE_JWT_JWKS_URL or _ISSUER last returned keys; 0: never.",
        1000 * hl_figures_age_ms(figures->now_ms, &figures->auth.url_read_ms));
    hl_exposition_family(
        t, delivery, "histogram", "Delivery attempts, from connecting to the answer.");
    hl_exposition_histogram(t, delivery, "", &figures->sender->latency);
    hl_exposition_family(t, commit, "histogram", "Commits of the store.");
    hl_exposition_histogram(t, commit, "", &figures->store->commit_latency);
}

static void write_process(struct hl_exposition *t, const struct hl_figures *figures)
{
    static const char build[] = "hookline_build_info";
    hl_exposition_number(t, "hookline_connections_max", "gauge", "HOOKLINE_MAX_CONNECTIONS.",
        figures->connections_max);
    hl_exposition_number(t, "hookline_app_slots", "gauge", "HOOKLINE_APP_CONCURRENCY; 0: no limit.",
        figures->app_slots);
    hl_exposition_number(t, "hookline_app_slots_in_use", "gauge",
        "Slots of the app that are taken: requests inside it, and runs that are about to be.",
        figures->app_slots_in_use);
    hl_exposition_number(t, "hookline_log_dropped_lines_total", "counter",
        "Log lines that were dropped because nobody read the log, or it could not be written.",
        figures->log_lines_dropped);
    hl_exposition_number(
        t, "hookline_ready", "gauge", "1 while /readyz answers 200.", figures->is_ready);
    hl_exposition_number(t, "hookline_app_gate_open", "gauge",
        "1 while queued runs are claimed for the app: its health gate is open, or without one the "
        "last "
        "connect succeeded.",
        figures->is_gate_open);
    hl_exposition_family(t, build, "gauge", "Always 1; its label is the version.");
    hl_exposition_sample(t, build, "version=\"" HL_VERSION "\"", 1);
    hl_exposition_seconds(t, "process_start_time_seconds", "gauge",
        "Unix time of the process's start.", (uint64_t)figures->started_ms * 1000);
    hl_exposition_seconds(t, "process_cpu_seconds_total", "counter",
        "Processor time spent, user and system.", figures->process.cpu_us);
    hl_exposition_number(t, "process_resident_memory_bytes", "gauge", "Resident memory.",
        figures->process.resident_bytes);
    hl_exposition_number(
        t, "process_open_fds", "gauge", "Open file descriptors.", figures->process.open_fds);
}

enum hl_err hl_metrics_write(struct hl_buf *out, const struct hl_figures *figures)
{
    struct hl_exposition t = {.out = out};
    hl_metrics_write_calls(&t, &figures->workers);
    write_starts(&t, figures->app);
    write_sleep(&t, figures->sleep);
    write_attempts(&t, figures->sender);
    write_plains(&t, figures);
    write_tokens(&t, figures);
    write_handshakes(&t, figures);
    write_app_handshakes(&t, figures);
    write_spans(&t, figures);
    write_replicas(&t, figures);
    write_times(&t, figures);
    write_process(&t, figures);
    return t.err;
}
