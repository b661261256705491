/* tracer.c - the thread that sends spans: it takes what has come every OTEL_BSP_SCHEDULE_DELAY, or when there is a
 * batch of them, and posts it as OTLP in JSON.
 * Owns: the spans that were given to it, OTEL_BSP_MAX_QUEUE_SIZE at most, those under way among them.
 * Promise: whoever gives it a span waits for nothing and takes no lock, whatever the collector does. What cannot be
 * sent is dropped, and counted: a batch is tried for a minute, a collector that asks for patience is left
 * alone for as long, and at the end of the process there are two seconds.
 * Not here: one request (post.c), what a span says (span.c) and how (otlp.c). */
#include "trace/tracer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "http/url.h"
#include "loop/mailbox.h"
#include "loop/thread.h"
#include "trace/otlp.h"
#include "trace/post.h"
#include "trace/setting.h"
#include "trace/span.h"

#define PATIENCE_MS  (60 * 1000) /* for one batch; and the longest Retry-After that is kept to */
#define PAUSE_MS     1000        /* before the first repetition, then twice that, up to: */
#define PAUSE_MAX    (16 * 1000)
#define CLOCK_LOOKS  5
#define CLOCK_OFF_US 5000
#define BODY_MAX     (64 * 1024 * 1024)

struct hl_tracer {
    struct hl_thread thread;
    bool is_started;
    struct hl_mailbox mail; /* struct hl_span */
    struct hl_trace_setting setting;
    struct hl_fetcher fetcher;
    _Atomic bool stops;
    _Atomic uint32_t held; /* spans: in the mailbox and below */
    _Atomic int64_t ahead_us;
    struct hl_tracer_counts counts;

    /* the thread's own */
    struct hl_msg *first, **end; /* spans that wait, in their order */
    uint32_t waiting;
    uint64_t due_ms, not_before_ms;
    uint64_t end_ms; /* of the process; 0: it goes on */
    bool is_failing; /* which was said */
    _Atomic bool never;
};

/* ---- any thread ---- */

bool hl_tracer_samples(
    const struct hl_tracer *tracer, struct hl_str traceparent, const struct hl_id *own)
{
    return hl_sampler_takes(&tracer->setting.sampler, traceparent, own);
}

const struct hl_tracer_counts *hl_tracer_get_counts(const struct hl_tracer *tracer)
{
    return tracer ? &tracer->counts : NULL;
}

int64_t hl_tracer_ahead_us(const struct hl_tracer *tracer)
{
    return atomic_load_explicit(&tracer->ahead_us, memory_order_relaxed);
}

static void drop(struct hl_tracer *tracer, uint64_t n)
{
    atomic_fetch_add_explicit(&tracer->counts.dropped.v, n, memory_order_relaxed);
}

void hl_tracer_note_dropped(struct hl_tracer *tracer)
{
    drop(tracer, 1);
}

void hl_tracer_take(struct hl_tracer *tracer, struct hl_msg *msg)
{
    uint32_t before = atomic_fetch_add(&tracer->held, 1);
    if (before >= tracer->setting.queue_max) {
        atomic_fetch_sub(&tracer->held, 1);
        drop(tracer, 1);
        free(HL_CONTAINER_OF(msg, struct hl_span, msg));
        return;
    }
    hl_mailbox_post(&tracer->mail, msg);
    if (before + 1 == tracer->setting.batch_max)
        curl_multi_wakeup(tracer->fetcher.multi);
}

/* ---- the spans that wait ---- */

/* The thread looks when the time has come, or a batch is there. */
static void on_mail(void *arg)
{
    (void)arg;
}

static void take_mail(struct hl_tracer *tracer)
{
    struct hl_msg *msg = hl_mailbox_take(&tracer->mail);
    *tracer->end = msg;
    for (; msg; msg = msg->next) {
        tracer->end = &msg->next;
        tracer->waiting++;
    }
}

static void forget(struct hl_tracer *tracer, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        struct hl_msg *msg = tracer->first;
        tracer->first = msg->next;
        free(HL_CONTAINER_OF(msg, struct hl_span, msg));
    }
    if (!tracer->first)
        tracer->end = &tracer->first;
    tracer->waiting -= n;
    atomic_fetch_sub(&tracer->held, n);
}

static enum hl_err write_batch(const struct hl_tracer *tracer, uint32_t n, struct hl_buf *out)
{
    const struct hl_msg *msg = tracer->first;
    enum hl_err err = hl_otlp_begin(out, hl_buf_str(&tracer->setting.resource));
    for (uint32_t i = 0; i < n && !err; i++, msg = msg->next)
        err = hl_otlp_add_span(out, HL_CONTAINER_OF(msg, struct hl_span, msg), i == 0);
    return err ? err : hl_otlp_end(out);
}

/* ---- a batch ---- */

static bool is_cut(const struct hl_tracer *tracer)
{
    return tracer->end_ms == 0 && atomic_load(&tracer->stops);
}

/* Sleeps until then, or until we are to end. */
static void sleep_until(struct hl_tracer *tracer, uint64_t until_ms)
{
    for (uint64_t now; !is_cut(tracer) && (now = hl_clock_mono_ms()) < until_ms;)
        curl_multi_poll(tracer->fetcher.multi, NULL, 0, (int)(until_ms - now), NULL);
}

static void note(struct hl_tracer *tracer, const struct hl_post_reply *reply)
{
    struct hl_url url;
    bool is_good = reply->status / 100 == 2;
    if (is_good == !tracer->is_failing || !hl_url_parse(hl_str_from(tracer->setting.url), &url))
        return;
    tracer->is_failing = !is_good;
    if (is_good)
        HL_LOG(INFO, "traces: spans can be sent again", HL_LOG_STR("host", url.host));
    else if (reply->status > 0)
        HL_LOG(WARN, "traces: the collector takes no spans", HL_LOG_STR("host", url.host),
            HL_LOG_INT("status", reply->status));
    else
        HL_LOG(WARN, "traces: the collector takes no spans", HL_LOG_STR("host", url.host),
            HL_LOG_TEXT("error", reply->fault));
}

static void count(struct hl_tracer *tracer, uint32_t n, const struct hl_post_reply *reply)
{
    uint64_t rejected =
        reply->status / 100 == 2 ? hl_otlp_read_rejected(hl_buf_str(&reply->body)) : n;
    rejected = rejected < n ? rejected : n;
    hl_counter_add(&tracer->counts.sent, n - rejected);
    drop(tracer, rejected);
}

/* A third more or less, so that many who wait for one collector come one after the other. */
static uint64_t pause_of(unsigned tries)
{
    uint32_t random;
    uint64_t ms = PAUSE_MS;
    for (unsigned i = 0; i < tries && ms < PAUSE_MAX; i++)
        ms *= 2;
    hl_random_fill(&random, sizeof(random));
    return ms - ms / 3 + random % (2 * (ms / 3));
}

/* When it may be tried again; 0: never. */
static uint64_t next_try(struct hl_tracer *tracer, const struct hl_post_reply *reply,
    unsigned tries, uint64_t give_up_ms)
{
    uint64_t now = hl_clock_mono_ms(), pause = pause_of(tries);
    if (!hl_post_may_repeat(reply))
        return 0;
    if (reply->retry_after_ms > pause)
        pause = reply->retry_after_ms;
    tracer->not_before_ms = now + (pause < PATIENCE_MS ? pause : PATIENCE_MS);
    return now + pause <= give_up_ms ? now + pause : 0;
}

/* False: we are to end, and it has to be sent again. */
static bool send_batch(struct hl_tracer *tracer, uint32_t n, struct hl_str body)
{
    struct hl_post_reply reply;
    uint64_t give_up_ms = tracer->end_ms ? tracer->end_ms : hl_clock_mono_ms() + PATIENCE_MS;
    for (unsigned tries = 0;; tries++) {
        uint64_t until_ms = hl_clock_mono_ms() + tracer->setting.timeout_ms;
        if (tracer->end_ms && until_ms > tracer->end_ms)
            until_ms = tracer->end_ms;
        hl_post(
            &tracer->fetcher, tracer->setting.url, tracer->setting.fields, body, until_ms, &reply);
        bool is_ours = is_cut(tracer) && reply.status == 0;
        uint64_t next_ms =
            is_ours || reply.status / 100 == 2 ? 0 : next_try(tracer, &reply, tries, give_up_ms);
        if (!is_ours)
            note(tracer, &reply);
        if (!is_ours && next_ms == 0)
            count(tracer, n, &reply);
        hl_post_reply_fini(&reply);
        if (is_ours)
            return false;
        if (next_ms == 0)
            return true;
        sleep_until(tracer, next_ms);
        if (is_cut(tracer))
            return false;
    }
}

/* False: as above. */
static bool export_batch(struct hl_tracer *tracer)
{
    struct hl_buf body;
    uint32_t max = tracer->setting.batch_max, n = tracer->waiting < max ? tracer->waiting : max;
    hl_buf_init(&body, BODY_MAX);
    bool is_done = true;
    if (write_batch(tracer, n, &body) == HL_OK)
        is_done = send_batch(tracer, n, hl_buf_str(&body));
    else
        drop(tracer, n);
    hl_buf_fini(&body);
    if (is_done)
        forget(tracer, n);
    return is_done;
}

/* ---- the thread ---- */

/* Of a few pairs of looks the one that took the least; what is no more off than clocks drift is left. */
static void look_at_clocks(struct hl_tracer *tracer)
{
    uint64_t least = UINT64_MAX;
    int64_t found = 0;
    for (int i = 0; i < CLOCK_LOOKS; i++) {
        uint64_t before = hl_clock_mono_us();
        int64_t wall = hl_clock_machine_us();
        uint64_t took = hl_clock_mono_us() - before;
        if (took >= least)
            continue;
        least = took;
        found = wall - (int64_t)(before + took / 2);
    }
    int64_t off = found - hl_tracer_ahead_us(tracer);
    if (off > CLOCK_OFF_US || off < -CLOCK_OFF_US)
        atomic_store_explicit(&tracer->ahead_us, found, memory_order_relaxed);
}

static void export_all(struct hl_tracer *tracer)
{
    while (tracer->waiting > 0 && export_batch(tracer))
        take_mail(tracer);
    tracer->due_ms = hl_clock_mono_ms() + tracer->setting.delay_ms;
}

/* The posts' wish to end is not heeded any more, but their time is short. */
static void flush(struct hl_tracer *tracer)
{
    tracer->end_ms = hl_clock_mono_ms() + HL_TRACER_END_MS;
    tracer->fetcher.stops = &tracer->never;
    take_mail(tracer);
    while (tracer->waiting > 0 && hl_clock_mono_ms() < tracer->end_ms)
        export_batch(tracer);
    drop(tracer, tracer->waiting);
    forget(tracer, tracer->waiting);
}

static void tracer_main(void *arg)
{
    struct hl_tracer *tracer = arg;
    while (!atomic_load(&tracer->stops)) {
        look_at_clocks(tracer);
        take_mail(tracer);
        uint64_t now = hl_clock_mono_ms();
        bool is_due = now >= tracer->due_ms || tracer->waiting >= tracer->setting.batch_max;
        if (is_due && now >= tracer->not_before_ms) {
            export_all(tracer);
            continue;
        }
        uint64_t wake_ms = is_due ? tracer->not_before_ms : tracer->due_ms;
        curl_multi_poll(tracer->fetcher.multi, NULL, 0, (int)(wake_ms - now), NULL);
    }
    flush(tracer);
}

static void say_so(const struct hl_tracer *tracer)
{
    struct hl_url url;
    if (hl_url_parse(hl_str_from(tracer->setting.url), &url))
        HL_LOG(INFO, "traces are sent", HL_LOG_TEXT("scheme", url.is_https ? "https" : "http"),
            HL_LOG_STR("host", url.host), HL_LOG_INT("port", url.port));
}

enum hl_err hl_tracer_start(
    struct hl_tracer **out, char *const *variables, struct hl_str service_name)
{
    *out = NULL;
    struct hl_tracer *tracer = calloc(1, sizeof(*tracer));
    if (!tracer)
        return HL_ERR_NOMEM;
    enum hl_err err = hl_trace_setting_read(&tracer->setting, variables, service_name);
    if (err || !tracer->setting.is_on) {
        hl_trace_setting_fini(&tracer->setting);
        free(tracer);
        return err;
    }
    curl_global_init(CURL_GLOBAL_DEFAULT);
    tracer->end = &tracer->first;
    tracer->fetcher.stops = &tracer->stops;
    tracer->due_ms = hl_clock_mono_ms() + tracer->setting.delay_ms;
    hl_mailbox_init(&tracer->mail, on_mail, tracer);
    look_at_clocks(tracer);
    int rc = hl_fetcher_init(&tracer->fetcher)
                 ? hl_thread_start(&tracer->thread, "traces", tracer_main, tracer)
                 : ENOMEM;
    tracer->is_started = rc == 0;
    if (rc != 0) {
        HL_LOG(ERROR, "traces are off: there is no thread for them",
            HL_LOG_TEXT("error", strerror(rc)));
        hl_tracer_free(tracer);
        return HL_OK;
    }
    say_so(tracer);
    *out = tracer;
    return HL_OK;
}

void hl_tracer_stop(struct hl_tracer *tracer)
{
    if (!tracer || !tracer->is_started)
        return;
    atomic_store(&tracer->stops, true);
    curl_multi_wakeup(tracer->fetcher.multi);
    hl_thread_join(&tracer->thread);
    tracer->is_started = false;
}

void hl_tracer_free(struct hl_tracer *tracer)
{
    if (!tracer)
        return;
    take_mail(tracer);
    forget(tracer, tracer->waiting);
    hl_fetcher_fini(&tracer->fetcher);
    hl_trace_setting_fini(&tracer->setting);
    free(tracer);
}
