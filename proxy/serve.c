/* serve.c - the control thread: starts store, delivery, workers and admin listener in that order;
 * takes signals; stops them in reverse.
 * Owns: struct control. Thread: main.
 * Promise: after SIGTERM calls are answered for HOOKLINE_SHUTDOWN_DELAY, running ones get
 * HOOKLINE_DRAIN_TIMEOUT, and nothing accepted is lost (contract 7). A second SIGTERM or SIGINT
 * ends at once; that loses nothing either, and the status is 0 whenever it comes.
 * Not here: what the threads do. */
#include "serve.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "api/admin.h"
#include "api/now.h"
#include "api/rest.h"
#include "app/readiness.h"
#include "app/supervisor.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/log_sink.h"
#include "cli/settings.h"
#include "config/port.h"
#include "loop/log_writer.h"
#include "loop/mailbox.h"
#include "loop/signal.h"
#include "webhook/sender.h"
#include "worker/idle.h"
#include "worker/worker.h"

#define SENDER_GRACE_MS                                                                            \
    5000 /* attempts in flight at the end; what is cut is sent again at the next start */

/* What is logged at the end has this long to be written. After a failed start nobody waits for us
 * to end, but somebody may still want to know why. */
#define LOG_END_MS        1000
#define LOG_FAILED_END_MS 5000

enum control_state {
    CONTROL_SERVING,
    CONTROL_DELAY,    /* not ready any more, still accepting: load balancers need that long */
    CONTROL_DRAINING, /* listeners closed; running calls end */
    CONTROL_CUT,      /* workers end at once */
    CONTROL_ENDING,   /* workers and app have ended; webhooks that are being sent end */
};

struct control {
    struct hl_config *config;
    struct hl_store *store;
    struct hl_sender *sender;
    struct hl_service service;
    struct hl_readiness readiness;
    struct hl_supervisor supervisor;
    struct hl_idle idle;
    struct rlimit files; /* RLIMIT_NOFILE as it was */
    char *const *environment;
    struct hl_recorder recorder;
    struct hl_admin *admin;
    struct hl_rest *rest;
    uv_loop_t loop;
    struct hl_wheel wheel;
    struct hl_reader reader;
    struct hl_uv_mailbox mail; /* workers say here that they have ended */
    uv_signal_t sigterm, sigint;
    struct hl_msg sender_ended;
    struct hl_timer timer, tunnel_timer;
    enum control_state state;
    uint32_t started, ended; /* workers */
    bool has_loop;
};

/* ---- stopping ---- */

static void tell_workers(struct control *ctl, enum hl_worker_message what)
{
    for (uint32_t i = 0; i < ctl->started; i++)
        if (!hl_worker_tell(ctl->service.workers[i], what))
            HL_LOG(ERROR, "a worker cannot be told what happens: out of memory");
}

static void on_app_lost(struct hl_readiness *readiness)
{
    tell_workers(HL_CONTAINER_OF(readiness, struct control, readiness), HL_WORKER_APP_LOST);
}

static void close_admin(struct control *ctl)
{
    if (ctl->admin)
        hl_admin_close(ctl->admin);
    ctl->admin = NULL;
}

static void close_loop(struct control *ctl)
{
    close_admin(ctl);
    hl_recorder_stop(&ctl->recorder);
    hl_readiness_close(&ctl->readiness);
    hl_idle_close(&ctl->idle);
    hl_timer_fini(&ctl->wheel, &ctl->timer);
    hl_timer_fini(&ctl->wheel, &ctl->tunnel_timer);
    hl_signal_close(&ctl->sigterm);
    hl_signal_close(&ctl->sigint);
    hl_wheel_close(&ctl->wheel);
    hl_reader_close(&ctl->reader);
    hl_uv_mailbox_close(&ctl->mail);
}

static void cut(struct control *ctl)
{
    ctl->state = CONTROL_CUT;
    tell_workers(ctl, HL_WORKER_CUT);
}

static void drain(struct control *ctl)
{
    ctl->state = CONTROL_DRAINING;
    HL_LOG(INFO, "listeners closed; running calls may end");
    hl_timer_arm(&ctl->wheel, &ctl->timer, ctl->config->drain_timeout_ms);
    hl_timer_arm(&ctl->wheel, &ctl->tunnel_timer, ctl->config->tunnel_drain_ms);
    tell_workers(ctl, HL_WORKER_CLOSE);
}

static void on_timer(struct hl_timer *timer)
{
    struct control *ctl = HL_CONTAINER_OF(timer, struct control, timer);
    if (ctl->state == CONTROL_DELAY) {
        drain(ctl);
    } else if (ctl->state == CONTROL_DRAINING) {
        HL_LOG(WARN, "HOOKLINE_DRAIN_TIMEOUT is over; running calls are cut");
        cut(ctl);
    }
}

static void on_tunnel_timer(struct hl_timer *timer)
{
    struct control *ctl = HL_CONTAINER_OF(timer, struct control, tunnel_timer);
    if (ctl->state == CONTROL_DRAINING)
        tell_workers(ctl, HL_WORKER_CLOSE_TUNNELS);
}

static void on_signal(uv_signal_t *handle, int signum)
{
    struct control *ctl = handle->data;
    HL_LOG(INFO, "signal", HL_LOG_TEXT("name", strsignal(signum)));
    if (ctl->state == CONTROL_SERVING) {
        ctl->state = CONTROL_DELAY;
        atomic_store(&ctl->service.is_draining, true);
        tell_workers(ctl, HL_WORKER_DRAIN);
        hl_timer_arm(&ctl->wheel, &ctl->timer, ctl->config->shutdown_delay_ms);
    } else if (ctl->state == CONTROL_ENDING) {
        hl_sender_cut(ctl->sender);
    } else {
        if (ctl->state != CONTROL_CUT)
            cut(ctl);
        hl_supervisor_kill(&ctl->supervisor);
    }
}

/* Nobody sends calls any more: no load balancer needs a delay. */
static void on_idle(struct hl_idle *idle)
{
    struct control *ctl = HL_CONTAINER_OF(idle, struct control, idle);
    if (ctl->state != CONTROL_SERVING)
        return;
    HL_LOG(INFO, "nothing was done for HOOKLINE_IDLE_EXIT: the end");
    atomic_store(&ctl->service.is_draining, true);
    drain(ctl);
}

/* On the sender's thread, its last act. */
static void on_sender_end(void *arg)
{
    struct control *ctl = arg;
    hl_mailbox_post(&ctl->mail.box, &ctl->sender_ended);
}

/* The loop goes on for the signals, until nothing is left to be cut short. */
static void on_app_stopped(struct hl_supervisor *supervisor)
{
    struct control *ctl = HL_CONTAINER_OF(supervisor, struct control, supervisor);
    uint64_t grace_ms = ctl->state == CONTROL_CUT ? 0 : SENDER_GRACE_MS;
    ctl->state = CONTROL_ENDING;
    close_admin(ctl);
    hl_sender_stop(ctl->sender, grace_ms, on_sender_end, ctl);
}

struct worker_end {
    struct hl_msg msg;
    uint32_t index;
};

static void on_worker_end(struct hl_service *service, uint32_t index)
{
    struct control *ctl = HL_CONTAINER_OF(service, struct control, service);
    struct worker_end *end = calloc(1, sizeof(*end));
    if (!end)
        return;
    end->index = index;
    hl_mailbox_post(&ctl->mail.box, &end->msg);
}

static void on_message(void *self, struct hl_msg *msg)
{
    struct control *ctl = self;
    if (msg == &ctl->sender_ended) {
        close_loop(ctl);
        return;
    }
    struct worker_end *end = HL_CONTAINER_OF(msg, struct worker_end, msg);
    hl_rest_worker_ended(ctl->rest, end->index);
    free(end);
    if (++ctl->ended == ctl->started)
        hl_supervisor_stop(&ctl->supervisor, on_app_stopped);
}

/* ---- starting ---- */

/* Memory has keys and tokens: who may see it is root, or whoever HOOKLINE_CORE_DUMPS lets. Whatever
 * /proc shows of this process then belongs to root; the process itself may still read it. */
static void show_memory(bool to_others)
{
    if (prctl(PR_SET_DUMPABLE, to_others) != 0)
        HL_LOG(WARN, "core dumps cannot be turned off");
}

/* Descriptors: as many as the hard limit allows, before the limits that depend on it are computed.
 */
static void raise_descriptor_limit(struct rlimit *before)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    *before = limit;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static bool open_control_loop(struct control *ctl)
{
    int rc = uv_loop_init(&ctl->loop);
    if (rc == 0)
        rc = hl_wheel_init(&ctl->wheel, &ctl->loop);
    if (rc == 0)
        rc = hl_reader_init(&ctl->reader, &ctl->loop);
    if (rc == 0)
        rc = hl_uv_mailbox_init(&ctl->mail, &ctl->loop, on_message, ctl);
    if (rc == 0)
        rc = uv_signal_init(&ctl->loop, &ctl->sigterm);
    if (rc == 0)
        rc = uv_signal_init(&ctl->loop, &ctl->sigint);
    ctl->sigterm.data = ctl->sigint.data = ctl;
    if (rc == 0)
        rc = uv_signal_start(&ctl->sigterm, on_signal, SIGTERM);
    if (rc == 0)
        rc = uv_signal_start(&ctl->sigint, on_signal, SIGINT);
    hl_timer_init(&ctl->timer, on_timer);
    hl_timer_init(&ctl->tunnel_timer, on_tunnel_timer);
    hl_readiness_init(&ctl->readiness, &ctl->loop, &ctl->wheel, &ctl->reader, ctl->config,
        &ctl->service.connections);
    ctl->readiness.on_lost = on_app_lost;
    ctl->has_loop = rc == 0;
    return rc == 0;
}

/* A taken port is an error now, not half of its traffic later. */
static bool probe_ports(const struct hl_config *config, char *why, size_t why_len)
{
    struct hl_buf lines;
    hl_buf_init(&lines, 0);
    enum hl_err err = hl_ports_probe(config, &lines, &lines);
    if (!err && lines.n > 0)
        snprintf(why, why_len, "%.*s", (int)strcspn(lines.p, "\n"), lines.p);
    bool is_good = !err && lines.n == 0;
    hl_buf_fini(&lines);
    return is_good;
}

static bool start_workers(struct control *ctl, char *why, size_t why_len)
{
    struct hl_service *s = &ctl->service;
    s->worker_count = ctl->config->workers;
    s->workers = calloc(s->worker_count, sizeof(struct hl_worker *));
    s->seats = calloc(s->worker_count, sizeof(struct hl_limiter_seat *));
    s->on_worker_end = on_worker_end;
    if (!s->workers || !s->seats)
        return false;
    hl_limiter_init(&s->limiter, ctl->config->app_concurrency, ctl->config->app_queue, s->seats,
        s->worker_count);
    for (uint32_t i = 0; i < s->worker_count; i++)
        if (hl_worker_new(&s->workers[i], s, i, why, why_len) != HL_OK)
            return false;
    for (uint32_t i = 0; i < s->worker_count; i++) {
        int err = hl_worker_start(s->workers[i]);
        if (err != 0) {
            snprintf(why, why_len, "cannot start a thread: %s", strerror(err));
            return false;
        }
        ctl->started++;
    }
    return true;
}

static bool start_all(struct control *ctl, char *why, size_t why_len)
{
    const struct hl_config *config = ctl->config;
    ctl->service.config = config;
    atomic_init(&ctl->service.memory_left, hl_store_memory_max(config));
    ctl->service.readiness = &ctl->readiness;
    ctl->service.app = &ctl->supervisor.gauges;
    hl_pool_group_init(&ctl->service.connections, config->app_keepalive, config->app_concurrency);
    if (!probe_ports(config, why, why_len))
        return false;
    if (!open_control_loop(ctl)) {
        snprintf(why, why_len, "cannot make an event loop");
        return false;
    }
    if (!hl_supervisor_init(&ctl->supervisor, &ctl->loop, &ctl->wheel, config, &ctl->readiness,
            ctl->environment, ctl->files, why, why_len))
        return false;
    if (hl_store_open(&ctl->store, config, why, why_len) != HL_OK)
        return false;
    ctl->service.store = ctl->store;
    if (hl_auth_open(&ctl->service.auth, config, ctl->store, why, why_len) != HL_OK)
        return false;
    if (hl_sender_start(&ctl->sender, config, ctl->store, why, why_len) != HL_OK)
        return false;
    struct hl_rest_parts parts = {
        .config = config, .store = ctl->store, .service = &ctl->service, .auth = ctl->service.auth};
    ctl->rest = hl_rest_new(&ctl->loop, &parts);
    if (!ctl->rest)
        return false;
    ctl->service.inquiries = hl_rest_mailbox(ctl->rest);
    struct hl_api_view view = {.config = config,
        .service = &ctl->service,
        .store = ctl->store,
        .sender = ctl->sender,
        .rest = ctl->rest,
        .started_ms = hl_clock_wall_ms()};
    hl_recorder_start(&ctl->recorder, &ctl->wheel, &view);
    if (hl_admin_open(&ctl->admin, &ctl->loop, &ctl->wheel, &ctl->reader, &view, why, why_len) !=
        HL_OK)
        return false;
    return start_workers(ctl, why, why_len);
}

static void log_start(const struct control *ctl)
{
    const struct hl_config *config = ctl->config;
    if (config->auth == HL_AUTH_NONE)
        HL_LOG(WARN, "HOOKLINE_AUTH=none: whoever reaches the port may call the app");
    if (config->admin_auth == HL_ADMIN_AUTH_NONE)
        HL_LOG(WARN, "HOOKLINE_ADMIN_AUTH=none: whoever reaches the admin listener is an admin of "
                     "every project");
    if (config->webhook_secret.n == 0)
        HL_LOG(WARN, "HOOKLINE_WEBHOOK_SECRET is not set: webhooks of calls that bring no "
                     "X-Webhook-Secret go out unsigned");
    for (size_t i = 0; i < config->listen.n; i++)
        HL_LOG(INFO, "listening", HL_LOG_TEXT("address", config->listen.items[i].text),
            HL_LOG_INT("workers", config->workers), HL_LOG_TEXT("version", HL_VERSION));
    for (size_t i = 0; i < config->admin_listen.n; i++)
        HL_LOG(
            INFO, "health and metrics", HL_LOG_TEXT("address", config->admin_listen.items[i].text));
}

/* In the reverse of the order in which they were started. */
static void stop_all(struct control *ctl)
{
    struct hl_service *s = &ctl->service;
    for (uint32_t i = 0; i < ctl->started; i++)
        hl_worker_join(s->workers[i]);
    hl_auth_stop(s->auth);
    if (ctl->sender && ctl->state != CONTROL_ENDING) /* no worker was started */
        hl_sender_stop(ctl->sender, 0, NULL, NULL);
    if (ctl->sender)
        hl_sender_join(ctl->sender);
    if (ctl->store)
        hl_store_close(ctl->store);
    hl_sender_free(ctl->sender);
    for (uint32_t i = 0; s->workers && i < s->worker_count; i++)
        hl_worker_free(s->workers[i]);
    if (ctl->rest)
        hl_rest_close(ctl->rest); /* nobody answers into its mailbox any more */
    if (ctl->has_loop) {
        uv_run(&ctl->loop, UV_RUN_DEFAULT);
        hl_rest_free(ctl->rest);
        uv_loop_close(&ctl->loop);
        hl_reader_fini(&ctl->reader);
    }
    hl_auth_free(s->auth); /* after everybody who asks */
    hl_supervisor_fini(&ctl->supervisor);
    free(s->workers);
    free(s->seats);
    hl_config_free(ctl->config);
}

/* Warnings wait until the log has its thread: nobody may read them. Why it cannot start waits for a
 * reader. HL_CLI_OK, or the status to exit with. */
static int load_config(struct control *ctl, const struct hl_cli *cli)
{
    char *said = NULL;
    size_t n = 0;
    struct hl_cli quiet = *cli;
    quiet.err = open_memstream(&said, &n);
    if (!quiet.err)
        return HL_CLI_FAILED;
    int status = hl_cli_load_config(&quiet, &ctl->config);
    fclose(quiet.err);
    if (status == HL_CLI_OK) {
        hl_log_setup(ctl->config->log_level, ctl->config->log_format);
        if (hl_log_writer_start() != 0)
            HL_LOG(ERROR, "no thread for the log: whoever logs waits for its reader");
        if (n > 0)
            hl_log_sink_put(said, n);
    } else if (said) {
        fwrite(said, 1, n, cli->err);
    }
    free(said);
    return status;
}

int hl_serve(const struct hl_cli *cli)
{
    struct rlimit files = {.rlim_cur = 1024, .rlim_max = 1024};
    show_memory(false); /* before anything secret is read */
    raise_descriptor_limit(&files);
    signal(SIGPIPE, SIG_IGN);
    /* A closed terminal and the habits of log rotations; the app gets them, if we start it. */
    signal(SIGHUP, SIG_IGN);
    signal(SIGUSR1, SIG_IGN);
    signal(SIGUSR2, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a file size limit is an error of write, as a full volume is */
    struct control *ctl = calloc(1, sizeof(*ctl));
    if (!ctl)
        return HL_CLI_FAILED;
    ctl->files = files;
    ctl->environment = cli->environ;
    int status = load_config(ctl, cli);
    if (status != HL_CLI_OK) {
        free(ctl);
        return status;
    }
    if (ctl->config->core_dumps)
        show_memory(true);
    char why[512] = "out of memory";
    if (start_all(ctl, why, sizeof(why))) {
        log_start(ctl);
        hl_readiness_start(&ctl->readiness);
        hl_supervisor_start(&ctl->supervisor);
        hl_idle_start(&ctl->idle, &ctl->service, &ctl->wheel, on_idle);
    } else {
        HL_LOG(ERROR, why);
        status = HL_CLI_FAILED;
        tell_workers(ctl, HL_WORKER_CUT);
        ctl->state = CONTROL_CUT;
        if (ctl->has_loop && ctl->started == 0)
            close_loop(ctl);
    }
    if (ctl->has_loop)
        uv_run(&ctl->loop, UV_RUN_DEFAULT);
    stop_all(ctl);
    free(ctl);
    hl_log_writer_stop(status == HL_CLI_OK ? LOG_END_MS : LOG_FAILED_END_MS);
    return status;
}
