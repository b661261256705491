/* dev.c - `hookline dev`: starts the app, a webhook receiver and, as a process of its own, hookline with the
 * settings for all this; starts the app again when its files change; ends it all.
 *
 * Owns: a loop. Thread: main, the only one: hookline and the app are killed with it, however it ends.
 * Promise: nothing it has started is left, nothing is written but what the app itself writes.
 * Not here: how a process is run (process.c), what files count (watch.c), webhooks (receiver.c). */
#include "dev/dev.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "app/child.h"
#include "base/buf.h"
#include "dev/offer.h"
#include "dev/process.h"
#include "dev/receiver.h"
#include "dev/settings.h"
#include "dev/sketch.h"
#include "dev/watch.h"
#include "http/url.h"

/* ---- what it says once all is there ---- */

static void say_place(const struct hl_dev_plan *plan, const struct hl_dev_settings *s)
{
    FILE *out = plan->out;
    fprintf(out,
        "\nhookline is at http://127.0.0.1:%u, without tokens, for this machine only; the "
        "dashboard at\n"
        "http://127.0.0.1:%u, received webhooks at http://127.0.0.1:%u" HL_DEV_HOOKS_PATH "\n",
        s->run.number, s->admin.number, s->hooks.number);
    if (plan->app == HL_DEV_URL)
        fprintf(out, "The app is at %s.\n", plan->url);
    else
        fprintf(out, "The app is restarted when a file below %s changes.\n", s->folder);
    if (s->ignored.n > 0)
        fprintf(out, "Ignored:%.*s (dev has settings of its own)\n",
            HL_STR_ARG(hl_buf_str(&s->ignored)));
}

struct call {
    const char *what;
    const char *accept; /* NULL: whatever comes */
    const struct hl_dev_offer *offer;
    const char *query; /* what is added to the path's own, without its mark; may be empty */
};

/* In single quotes, as a shell reads it. */
static void say_quoted(FILE *out, const char *text)
{
    for (; *text; text++)
        *text == '\'' ? fputs("'\\''", out) : fputc(*text, out);
}

static void say_call(
    const struct hl_dev_plan *plan, const struct hl_dev_settings *s, const struct call *call)
{
    FILE *out = plan->out;
    const char *mark = !call->query[0] ? "" : strchr(call->offer->path, '?') ? "&" : "?";
    fprintf(out,
        "\n%s:\n  curl -sN 'http://127.0.0.1:%u/v4/" HL_DEV_PROJECT "/" HL_DEV_NAME "/%s%s%s'",
        call->what, s->run.number, call->offer->path, mark, call->query);
    if (call->accept)
        fprintf(out, " -H 'Accept: %s'", call->accept);
    if (call->offer->body[0]) {
        fprintf(out, " -H 'Content-Type: application/json' -d '");
        say_quoted(out, call->offer->body);
        fputc('\'', out);
    } else if (strcmp(call->offer->method, "POST") == 0) {
        fprintf(out, " -X POST");
    }
    fprintf(out, "\n");
}

/* ---- which calls ---- */

struct offers {
    struct hl_dev_offer plain, stream;
};

static bool read_sketch(const struct hl_dev_plan *plan, struct offers *offers)
{
    static struct hl_dev_sketch sketch;
    hl_dev_sketch_read(&sketch, plan->file);
    const struct hl_dev_function *plain = hl_dev_sketch_pick(&sketch, false),
                                 *stream = hl_dev_sketch_pick(&sketch, true);
    if (!plain && !stream)
        return false;
    hl_dev_offer_of_function(plain ? plain : stream, &offers->plain);
    hl_dev_offer_of_function(stream ? stream : plain, &offers->stream);
    return true;
}

/* Where an app that runs already can be asked; 0: not on this machine's loopback. */
static uint16_t port_of(const struct hl_dev_plan *plan, const struct hl_dev_settings *s)
{
    struct hl_url url;
    if (plan->app != HL_DEV_URL)
        return s->app.number;
    bool is_here =
        hl_url_parse(hl_str_from(plan->url), &url) && !url.is_https &&
        (hl_str_eq(url.host, HL_STR("127.0.0.1")) || hl_str_eq(url.host, HL_STR("localhost")));
    return is_here ? url.port : 0;
}

static void say_tried(FILE *out, const char *path, int status)
{
    if (status)
        fprintf(out, "GET %s answered %d", path, status);
    else
        fprintf(out, "GET %s was not answered", path);
}

/* What the app itself says; else which paths were tried, and what came. */
static void ask_app(
    const struct hl_dev_plan *plan, const struct hl_dev_settings *s, struct hl_dev_offer *offer)
{
    bool is_host = hl_dev_has_host(plan);
    const char *path = is_host ? "/_hookline/functions" : "/openapi.json";
    uint16_t port = port_of(plan, s);
    int status, of_root;
    *offer = (struct hl_dev_offer){.method = "GET"};
    if (port == 0)
        return;
    json_t *said = hl_dev_ask(port, path, &status);
    bool is =
        is_host ? hl_dev_offer_of_functions(said, offer) : hl_dev_offer_of_openapi(said, offer);
    json_decref(said);
    if (is)
        return;
    json_decref(hl_dev_ask(port, "/", &of_root));
    fprintf(plan->out, "\nWhich calls the app takes could not be found out: ");
    say_tried(plan->out, path, status);
    fprintf(plan->out, ", ");
    say_tried(plan->out, "/", of_root);
    fprintf(plan->out, ". Put your own path in place of the last slash:\n");
}

static void say_calls(const struct hl_dev_plan *plan, const struct hl_dev_settings *s)
{
    static struct offers offers;
    if (plan->app != HL_DEV_FILE || !read_sketch(plan, &offers)) {
        ask_app(plan, s, &offers.plain);
        offers.stream = offers.plain;
    }
    char query[160];
    snprintf(query, sizeof(query),
        "async=true&webhookEndpoint=http%%3A%%2F%%2F127.0.0.1%%3A%u%%2F_hookline%%2Fdev%%2Fhooks",
        s->hooks.number);
    const struct call calls[] = {{"A call", NULL, &offers.plain, ""},
        {"In the background, its answer to the webhook receiver", NULL, &offers.plain, query},
        {"A stream, event by event, where the app gives one", "text/event-stream", &offers.stream,
            ""}};
    for (size_t i = 0; i < HL_ARRAY_LEN(calls); i++)
        say_call(plan, s, &calls[i]);
    fprintf(plan->out, "\nCtrl-C ends everything.\n\n");
}

/* Addresses, and calls to paste. */
static void welcome(const struct hl_dev_plan *plan, const struct hl_dev_settings *s)
{
    say_place(plan, s);
    say_calls(plan, s);
    fflush(plan->out);
}

/* ---- its life ---- */

#define LOOK_MS  50  /* between two looks whether the app listens */
#define PATIENCE 200 /* looks, until it is said that it does not */

struct dev {
    const struct hl_dev_plan *plan;
    uv_loop_t loop;
    struct hl_dev_settings settings;
    struct hl_dev_process app, hookline;
    struct hl_dev_watch watch;
    struct hl_dev_receiver receiver;
    uv_signal_t signals[3];
    uv_timer_t starting;
    bool is_ending, is_closed, is_restarting;
    bool is_welcome; /* the app listens, or has once, and people were told where */
    unsigned looks;  /* that found it not listening */
    int status;
};

/* ---- the end ---- */

static void close_all(struct dev *d)
{
    if (d->is_closed || hl_dev_process_runs(&d->app) || hl_dev_process_runs(&d->hookline))
        return;
    d->is_closed = true;
    hl_orphan_reap(0);
    hl_orphan_kill();
    hl_dev_process_close(&d->app);
    hl_dev_process_close(&d->hookline);
    hl_dev_receiver_close(&d->receiver);
    if (d->watch.loop)
        hl_dev_watch_close(&d->watch);
    uv_close((uv_handle_t *)&d->starting, NULL);
    for (size_t i = 0; i < HL_ARRAY_LEN(d->signals); i++)
        uv_close((uv_handle_t *)&d->signals[i], NULL);
}

/* Hookline first: it ends its calls while the app is still there. */
static void end(struct dev *d, int status)
{
    if (!d->is_ending)
        d->status = status;
    d->is_ending = true;
    if (hl_dev_process_runs(&d->hookline))
        hl_dev_process_stop(&d->hookline);
    else if (hl_dev_process_runs(&d->app))
        hl_dev_process_stop(&d->app);
    close_all(d);
}

/* A second one does not wait. */
static void on_end_signal(uv_signal_t *handle, int signum)
{
    struct dev *d = handle->data;
    (void)signum;
    if (d->is_ending) {
        hl_dev_process_kill(&d->hookline);
        hl_dev_process_kill(&d->app);
    }
    end(d, 0);
}

static void on_child_signal(uv_signal_t *handle, int signum)
{
    struct dev *d = handle->data;
    (void)signum;
    hl_dev_process_reap(&d->app);
    hl_dev_process_reap(&d->hookline);
    close_all(d);
}

/* ---- the app ---- */

/* What comes next, after an app that has ended or cannot be run. */
static void say_next(struct dev *d)
{
    FILE *out = d->plan->out;
    fprintf(out, "%-8s | it is restarted when a file below %s changes", "dev", d->settings.folder);
    if (!d->is_welcome)
        fprintf(
            out, "; what to call is printed once it listens on port %u", d->settings.app.number);
    fprintf(out, "; Ctrl-C ends everything\n");
    fflush(out);
}

static void start_app(struct dev *d)
{
    d->is_restarting = false;
    d->looks = 0;
    if (!hl_dev_process_start(&d->app, d->settings.app_argv, d->settings.app_environment))
        say_next(d);
}

/* What hookline says while it starts has come in between. */
static void say_last(struct dev *d)
{
    FILE *out = d->plan->out;
    struct hl_str rest = hl_buf_str(&d->app.last);
    if (rest.n > 0)
        fprintf(out, "%-8s | its last output:\n", "dev");
    for (const char *end; rest.n > 0 && (end = memchr(rest.p, '\n', rest.n)) != NULL;) {
        struct hl_str line = {rest.p, (size_t)(end - rest.p)};
        fprintf(out, "%-8s |   %.*s\n", "dev", HL_STR_ARG(line));
        rest = (struct hl_str){end + 1, rest.n - line.n - 1};
    }
}

static void on_app_exit(void *self, int status)
{
    struct dev *d = self;
    FILE *out = d->plan->out;
    const char *when = d->is_welcome ? "" : " before it listened";
    if (d->is_ending)
        return;
    if (d->is_restarting) {
        start_app(d);
        return;
    }
    if (WIFSIGNALED(status))
        fprintf(out, "%-8s | the app was ended by signal %d%s\n", "dev", WTERMSIG(status), when);
    else
        fprintf(
            out, "%-8s | the app has ended with status %d%s\n", "dev", WEXITSTATUS(status), when);
    if (!d->is_welcome)
        say_last(d);
    say_next(d);
}

static void on_change(void *self)
{
    struct dev *d = self;
    if (d->is_ending)
        return;
    fprintf(d->plan->out, "%-8s | files have changed: the app will be restarted\n", "dev");
    fflush(d->plan->out);
    hl_dev_watch_renew(&d->watch);
    if (!hl_dev_process_runs(&d->app)) {
        start_app(d);
    } else {
        d->is_restarting = true;
        hl_dev_process_stop(&d->app);
    }
}

/* ---- hookline ---- */

static void on_hookline_exit(void *self, int status)
{
    struct dev *d = self;
    if (!d->is_ending)
        fprintf(d->plan->err, "hookline dev: the sidecar ended unexpectedly (status %d)\n",
            WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    end(d, d->is_ending ? d->status : 1);
}

/* Until both listen: what is printed then works. */
static void on_starting(uv_timer_t *timer)
{
    struct dev *d = timer->data;
    uint16_t port = port_of(d->plan, &d->settings);
    bool is_app_up = port == 0 || hl_dev_port_answers(port);
    if (!is_app_up && d->plan->app == HL_DEV_URL && d->looks++ == 0) {
        fprintf(d->plan->out,
            "%-8s | nothing listens at %s: what to call is printed once something does\n", "dev",
            d->plan->url);
        fflush(d->plan->out);
    } else if (!is_app_up && ++d->looks == PATIENCE && hl_dev_process_runs(&d->app)) {
        fprintf(d->plan->out,
            "%-8s | the app is not yet listening on 127.0.0.1:%u, the port in the variable PORT; "
            "what to call is printed once it is\n",
            "dev", d->settings.app.number);
        fflush(d->plan->out);
    }
    if (!is_app_up || !hl_dev_port_answers(d->settings.run.number))
        return;
    d->is_welcome = true;
    uv_timer_stop(timer);
    welcome(d->plan, &d->settings);
}

/* ---- all of it ---- */

static void watch_signals(struct dev *d)
{
    static const struct {
        int signum;
        uv_signal_cb cb;
    } watched[] = {{SIGINT, on_end_signal}, {SIGTERM, on_end_signal}, {SIGCHLD, on_child_signal}};
    for (size_t i = 0; i < HL_ARRAY_LEN(watched); i++) {
        uv_signal_init(&d->loop, &d->signals[i]);
        d->signals[i].data = d;
        uv_signal_start(&d->signals[i], watched[i].cb, watched[i].signum);
    }
    signal(SIGPIPE, SIG_IGN);
}

static bool start_all(struct dev *d)
{
    char *const argv[] = {d->settings.program, "serve", NULL};
    d->receiver.secret = hl_str_from(d->settings.secret);
    d->receiver.failures = d->plan->fail_hooks;
    d->receiver.out = d->plan->out;
    int rc = hl_dev_receiver_open(&d->receiver, &d->loop, d->settings.hooks.number);
    if (rc != 0) {
        fprintf(d->plan->err, "hookline dev: the webhook receiver cannot listen: %s\n",
            uv_strerror(rc));
        return false;
    }
    if (d->plan->app != HL_DEV_URL) {
        d->watch.on_change = on_change;
        d->watch.self = d;
        hl_dev_watch_open(&d->watch, &d->loop, d->settings.folder);
        start_app(d);
    }
    if (!hl_dev_process_start(&d->hookline, argv, d->settings.environment))
        return false;
    uv_timer_start(&d->starting, on_starting, LOOK_MS, LOOK_MS);
    return true;
}

int hl_dev_run(const struct hl_dev_plan *plan)
{
    struct dev d = {.plan = plan};
    if (!hl_dev_settings_make(&d.settings, plan))
        return 1;
    uv_loop_init(&d.loop);
    hl_orphan_adopt();
    watch_signals(&d);
    uv_timer_init(&d.loop, &d.starting);
    d.starting.data = &d;
    hl_dev_process_init(&d.app, &d.loop, "app", plan->out);
    hl_dev_process_init(&d.hookline, &d.loop, "hookline", plan->out);
    d.app.speaker = hl_dev_has_host(plan) ? HL_DEV_HOST : HL_DEV_STRANGER;
    d.hookline.speaker = HL_DEV_HOOKLINE;
    d.app.on_exit = on_app_exit;
    d.hookline.on_exit = on_hookline_exit;
    d.app.self = d.hookline.self = &d;
    if (!start_all(&d))
        end(&d, 1);
    uv_run(&d.loop, UV_RUN_DEFAULT);
    uv_loop_close(&d.loop);
    hl_dev_settings_fini(&d.settings);
    return d.status;
}
