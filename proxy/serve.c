/* serve.c - the process that serves: reads the settings, starts store, delivery, workers and admin
 * listener in that order, and takes them down in reverse once the control loop has ended.
 * Owns: struct hl_control. Thread: main.
 * Promise: whenever a signal comes, the status is 0, or 3 where HOOKLINE_DRAIN_TIMEOUT has ended calls.
 * Not here: what the threads do, when they end (control.c). */
#include "serve.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "api/admin.h"
#include "api/rest.h"
#include "api/rest_call.h"
#include "app/visits.h"
#include "auth/auth.h"
#include "base/base64.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/log_sink.h"
#include "base/random.h"
#include "cli/cli.h"
#include "cli/config.h"
#include "config/config.h"
#include "config/endpoint.h"
#include "config/postgres_url.h"
#include "control.h"
#include "loop/log_writer.h"
#include "loop/run_log.h"
#include "loop/thread.h"
#include "net/listener.h"
#include "store/gauges.h"
#include "store/store.h"
#include "tls/tls.h"
#include "trace/tracer.h"
#include "webhook/sender.h"
#include "worker/worker.h"

/* What is logged at the end has this long to be written. After a failed start nobody waits for us
 * to end, but somebody may still want to know why. */
#define LOG_END_MS        1000
#define LOG_FAILED_END_MS 5000

/* Memory has keys and tokens: only root may see it, or whoever HOOKLINE_CORE_DUMPS lets. Whatever
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

/* Half of the descriptors are for what callers' calls need beside their connections (worker.c): the other half has
 * to have room for all that is open when nobody calls, and for some callers. */
#define OWN_FILES    64
#define WORKER_FILES 12
/* A thread's stack is as large as the limit says, and where it ends the kernel ends the process without a word. */
#define LEAST_STACK (256 << 10)

/* What could not serve a single call is not started: it would be ready, and refuse each of them. */
static bool check_limits(const struct hl_config *config, char *why, size_t why_len)
{
    struct rlimit files, stack;
    rlim_t least = OWN_FILES + (rlim_t)WORKER_FILES * config->workers;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_max < least) {
        snprintf(why, why_len,
            "the limit of open files is %llu, and for %u workers at least %llu are needed: raise "
            "it (ulimit -n, LimitNOFILE= of systemd), or lower HOOKLINE_WORKERS",
            (unsigned long long)files.rlim_max, (unsigned)config->workers,
            (unsigned long long)least);
        return false;
    }
    if (getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur < LEAST_STACK) {
        snprintf(why, why_len,
            "the limit of a stack is %llu KiB, and at least %d are needed: raise it (ulimit -s, "
            "LimitSTACK= of systemd)",
            (unsigned long long)stack.rlim_cur >> 10, LEAST_STACK >> 10);
        return false;
    }
    return true;
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

static bool start_workers(struct hl_control *ctl, char *why, size_t why_len)
{
    struct hl_service *s = &ctl->service;
    s->worker_count = ctl->config->workers;
    s->workers = calloc(s->worker_count, sizeof(struct hl_worker *));
    s->seats = calloc(s->worker_count, sizeof(struct hl_limiter_seat *));
    s->on_worker_end = hl_control_on_worker_end;
    ctl->worker_ended = calloc(s->worker_count, sizeof(struct hl_msg));
    if (!s->workers || !s->seats || !ctl->worker_ended)
        return false;
    hl_limiter_init(&s->limiter, ctl->config->app_concurrency, ctl->config->app_queue, s->seats,
        s->worker_count);
    hl_limiter_know_queue(&s->limiter, hl_store_get_gauges(s->store)->queued);
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

static void warn_of_exposed_database(const struct hl_config *config)
{
    struct hl_postgres_url url;
    if (config->store != HL_STORE_POSTGRES ||
        hl_postgres_url_parse(&url, config->postgres_url, getenv) != HL_OK)
        return;
    for (size_t i = 0; i < url.host_count; i++) {
        const struct hl_postgres_host *host = &url.hosts[i];
        if (hl_postgres_url_is_exposed(&url, host))
            HL_LOG(WARN,
                "HOOKLINE_POSTGRES_URL: the server's certificate is not verified: anyone on the "
                "network path can read and change all that is stored; sslmode=verify-full verifies "
                "it",
                HL_LOG_STR("host", host->name.n > 0 ? host->name : host->address));
    }
    hl_postgres_url_fini(&url);
}

/* With an app whose output we read, its words are the run's that alone is inside. */
static bool follow_output(struct hl_control *ctl)
{
    const struct hl_config *config = ctl->config;
    struct hl_service *s = &ctl->service;
    if (config->app_command.n == 0 || !config->app_log)
        return true;
    struct hl_visits **visits = calloc(config->workers, sizeof(*visits));
    s->visits = visits;
    for (uint32_t i = 0; visits && i < config->workers; i++)
        if (!(visits[i] = calloc(1, sizeof(**visits))))
            return false;
    if (!visits)
        return false;
    hl_output_attribute(&ctl->supervisor.output, visits, config->workers);
    s->failures = &ctl->mail.box;
    return true;
}

static bool prepare_app(struct hl_control *ctl, char *why, size_t why_len)
{
    const struct hl_supervisor_parts parts = {.loop = &ctl->loop,
        .wheel = &ctl->wheel,
        .config = ctl->config,
        .readiness = &ctl->readiness,
        .environment = ctl->environment,
        .files = ctl->files};
    if (!hl_supervisor_init(&ctl->supervisor, &parts, why, why_len))
        return false;
    const struct hl_sleep_parts sleep = {.loop = &ctl->loop,
        .wheel = &ctl->wheel,
        .reader = &ctl->reader,
        .config = ctl->config,
        .readiness = &ctl->readiness,
        .supervisor = &ctl->supervisor,
        .use = {.owner = ctl,
            .is_used = hl_control_uses_app,
            .is_settled = hl_control_is_settled,
            .is_wanted = hl_control_wants_app}};
    hl_sleep_init(&ctl->sleep, &sleep);
    ctl->use.service = &ctl->service;
    ctl->service.sleep = &ctl->sleep.gauges;
    return follow_output(ctl);
}

static bool prepare_tls(struct hl_control *ctl, char *why, size_t why_len)
{
    struct hl_service *s = &ctl->service;
    uint8_t pass[HL_INNER_PASS_DIGITS / 2];
    hl_random_fill(pass, sizeof(pass));
    hl_hex_write(s->inner_pass, pass, sizeof(pass));
    const struct hl_config *config = ctl->config;
    bool has_own = hl_service_speaks_tls(config), has_app = config->app_url.is_tls;
    if (!has_own && !has_app)
        return true;
    struct hl_tls_files own = hl_service_tls_files(config);
    struct hl_tls_files app = hl_service_app_tls_files(config);
    if (hl_tls_open(&s->tls, has_own ? &own : NULL, has_app ? &app : NULL, why, why_len) != HL_OK)
        return false;
    ctl->tls = hl_tls_seat_new(s->tls, &ctl->loop, &ctl->wheel, config->head_timeout_ms);
    ctl->readiness.tls = has_app ? ctl->tls : NULL;
    return ctl->tls != NULL;
}

static void forget_visits(struct hl_service *s, uint32_t workers)
{
    for (uint32_t i = 0; s->visits && i < workers; i++)
        free(s->visits[i]);
    free(s->visits);
}

static const struct hl_rest_stop stop_calls = {
    .set_aside = hl_control_set_aside, .take_back = hl_control_take_back, .quit = hl_control_quit};

static bool start_loop(struct hl_control *ctl, char *why, size_t why_len)
{
    hl_loop_memory_set();
    if (!hl_control_open(ctl)) {
        snprintf(why, why_len, "cannot make an event loop");
        return false;
    }
    int err = hl_work_pool_start(&ctl->loop);
    if (err != 0)
        snprintf(why, why_len,
            "cannot start the threads that read and write long bodies: %s; the limit of processes "
            "(pids.max of the container, or ulimit -u) or of memory (ulimit -v) is too low",
            strerror(err));
    return err == 0;
}

static bool open_store(struct hl_control *ctl, char *why, size_t why_len)
{
    const struct hl_config *config = ctl->config;
    struct hl_service *service = &ctl->service;
    hl_journals_init(&ctl->journals, config->max_followers);
    service->journals = &ctl->journals;
    warn_of_exposed_database(config);
    if (hl_store_open(&ctl->store, config, why, why_len) != HL_OK)
        return false;
    service->store = ctl->store;
    return hl_auth_open(&service->auth, config, ctl->store, why, why_len) == HL_OK;
}

static bool start_sender(struct hl_control *ctl, char *why, size_t why_len)
{
    struct hl_service *service = &ctl->service;
    if (hl_tracer_start(&service->tracer, ctl->environment, ctl->config->otel_service_name) !=
        HL_OK)
        return false;
    if (!hl_herald_init(&ctl->herald, service, &ctl->loop, &ctl->wheel))
        return false;
    struct hl_sender_parts parts = {.config = ctl->config,
        .store = ctl->store,
        .tracer = service->tracer,
        .news = hl_herald_news(&ctl->herald)};
    if (hl_sender_start(&ctl->sender, &parts, why, why_len) != HL_OK)
        return false;
    hl_herald_start(&ctl->herald, ctl->store, ctl->sender);
    return true;
}

static bool open_admin(struct hl_control *ctl, char *why, size_t why_len)
{
    const struct hl_config *config = ctl->config;
    struct hl_rest_parts parts = {.config = config,
        .store = ctl->store,
        .service = &ctl->service,
        .reader = &ctl->reader,
        .tls = ctl->tls,
        .auth = ctl->service.auth,
        .stop = &stop_calls,
        .sender = ctl->sender};
    ctl->rest = hl_rest_new(&ctl->loop, &parts);
    if (!ctl->rest)
        return false;
    ctl->service.inquiries = hl_rest_mailbox(ctl->rest);
    struct hl_api_view view = {.config = config,
        .service = &ctl->service,
        .store = ctl->store,
        .sender = ctl->sender,
        .rest = ctl->rest,
        .tls = config->admin_tls ? ctl->tls : NULL,
        .started_ms = hl_clock_wall_ms()};
    hl_recorder_start(&ctl->recorder, &ctl->wheel, &view);
    return hl_admin_open(&ctl->admin, &ctl->loop, &ctl->wheel, &ctl->reader, &view, why, why_len) ==
           HL_OK;
}

static enum hl_app_gate gate_rule(const struct hl_config *config)
{
    bool has_check = config->app_health_path.n > 0 || config->app_warmup.n > 0;
    return has_check ? config->app_health_gate : HL_APP_GATE_OFF;
}

static bool start_all(struct hl_control *ctl, char *why, size_t why_len)
{
    const struct hl_config *config = ctl->config;
    ctl->service.config = config;
    atomic_init(&ctl->service.memory_left, hl_store_memory_max(config));
    ctl->service.readiness = &ctl->readiness;
    ctl->service.app = &ctl->supervisor.gauges;
    hl_pool_group_init(&ctl->service.connections, config->app_keepalive, config->app_concurrency);
    hl_gate_close_at_start(&ctl->service.connections.gate, gate_rule(config));
    if (!check_limits(config, why, why_len) || !probe_ports(config, why, why_len) ||
        !start_loop(ctl, why, why_len) || !prepare_tls(ctl, why, why_len) ||
        !prepare_app(ctl, why, why_len) || !open_store(ctl, why, why_len) ||
        !start_sender(ctl, why, why_len) || !open_admin(ctl, why, why_len))
        return false;
    if (hl_auth_is_complete(ctl->service.auth))
        hl_rest_tell_start(ctl->rest);
    else
        hl_control_await_store(ctl);
    return start_workers(ctl, why, why_len);
}

static void log_start(const struct hl_control *ctl)
{
    const struct hl_config *config = ctl->config;
    if (config->auth == HL_AUTH_NONE)
        HL_LOG(WARN, "HOOKLINE_AUTH=none: anyone who reaches the port may call the app");
    if (config->admin_auth == HL_ADMIN_AUTH_NONE)
        HL_LOG(WARN, "HOOKLINE_ADMIN_AUTH=none: anyone who reaches the admin listener is an admin "
                     "of every project");
    if (config->webhook_secret.n == 0)
        HL_LOG(WARN, "HOOKLINE_WEBHOOK_SECRET is not set: webhooks of calls without "
                     "X-Webhook-Secret are not signed");
    for (size_t i = 0; i < config->listen.n; i++)
        HL_LOG(INFO, "listening", HL_LOG_TEXT("address", config->listen.items[i].text),
            HL_LOG_INT("workers", config->workers), HL_LOG_TEXT("version", HL_VERSION));
    for (size_t i = 0; i < config->admin_listen.n; i++)
        HL_LOG(
            INFO, "health and metrics", HL_LOG_TEXT("address", config->admin_listen.items[i].text));
}

static void note_stayed(struct hl_control *ctl)
{
    const struct hl_store_gauges *gauges = hl_store_get_gauges(ctl->store);
    ctl->stayed_runs = hl_counter_get(&gauges->queued_runs) + hl_counter_get(&gauges->waiting_runs);
    ctl->stayed_deliveries = hl_counter_get(&gauges->pending_deliveries);
}

/* In the reverse of the order in which they were started. */
static void stop_all(struct hl_control *ctl)
{
    struct hl_service *s = &ctl->service;
    for (uint32_t i = 0; i < ctl->started; i++)
        hl_worker_join(s->workers[i]);
    hl_tls_stop(s->tls);
    hl_auth_stop(s->auth);
    if (ctl->sender && ctl->state != HL_CONTROL_ENDING) /* no worker was started */
        hl_sender_stop(ctl->sender, 0, NULL, NULL);
    if (ctl->sender)
        hl_sender_join(ctl->sender);
    hl_tracer_stop(s->tracer);
    if (ctl->store) {
        note_stayed(ctl);
        hl_store_close(ctl->store);
    }
    hl_sender_free(ctl->sender);
    for (uint32_t i = 0; s->workers && i < s->worker_count; i++)
        hl_worker_free(s->workers[i]);
    if (ctl->rest)
        hl_rest_close(ctl->rest); /* nobody answers into its mailbox any more */
    hl_herald_close(&ctl->herald);
    if (ctl->has_loop) {
        uv_run(&ctl->loop, UV_RUN_DEFAULT);
        hl_rest_free(ctl->rest);
        hl_herald_fini(&ctl->herald);
        uv_loop_close(&ctl->loop);
        hl_reader_fini(&ctl->reader);
    }
    hl_auth_free(s->auth); /* after everybody who asks */
    hl_tls_seat_free(ctl->tls);
    hl_tracer_free(s->tracer);
    hl_tls_free(s->tls);
    if (s->journals)
        hl_journals_fini(s->journals);
    hl_supervisor_fini(&ctl->supervisor);
    free(s->workers);
    forget_visits(s, ctl->config->workers);
    free(s->seats);
    free(ctl->worker_ended);
    hl_config_free(ctl->config);
}

/* Warnings wait until the log has its thread: perhaps nobody reads them. Why it cannot start waits
 * for a reader. HL_CLI_OK, or the status to exit with. */
static int load_config(struct hl_control *ctl, const struct hl_cli *cli)
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
            HL_LOG(ERROR, "cannot start the log's thread: whoever logs waits for its reader");
        hl_run_log_start();
        if (n > 0)
            hl_log_sink_put(said, n);
    } else if (said) {
        fwrite(said, 1, n, cli->err);
    }
    free(said);
    return status;
}

static void ignore_signals(void)
{
    signal(SIGPIPE, SIG_IGN);
    /* A closed terminal and the habits of log rotations; the app gets them, if we start it. */
    signal(SIGHUP, SIG_IGN);
    signal(SIGUSR1, SIG_IGN);
    signal(SIGUSR2, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a file size limit is an error from write, as a full volume is */
}

/* Until it has ended. The status to exit with. */
static int run(struct hl_control *ctl)
{
    char why[512] = "out of memory";
    bool is_started = start_all(ctl, why, sizeof(why));
    if (is_started) {
        log_start(ctl);
        if (ctl->config->role != HL_REPLICA_FRONT)
            hl_readiness_start(&ctl->readiness);
        hl_supervisor_start(&ctl->supervisor);
        hl_sleep_start(&ctl->sleep);
        hl_idle_start(&ctl->idle, &ctl->service, &ctl->wheel, hl_control_on_idle);
    } else {
        HL_LOG(ERROR, why);
        hl_control_cut(ctl);
        if (ctl->has_loop && ctl->started == 0)
            hl_control_close(ctl);
    }
    if (ctl->has_loop)
        uv_run(&ctl->loop, UV_RUN_DEFAULT);
    if (!is_started || ctl->has_failed)
        return HL_CLI_FAILED;
    return ctl->has_cut ? HL_CLI_CUT : HL_CLI_OK;
}

int hl_serve(const struct hl_cli *cli)
{
    struct rlimit files = {.rlim_cur = 1024, .rlim_max = 1024};
    show_memory(false); /* before anything secret is read */
    raise_descriptor_limit(&files);
    ignore_signals();
    struct hl_control *ctl = calloc(1, sizeof(*ctl));
    if (!ctl)
        return HL_CLI_FAILED;
    ctl->files = files;
    ctl->environment = cli->environ;
    int status = load_config(ctl, cli);
    if (status != HL_CLI_OK) {
        free(ctl);
        return status;
    }
    hl_reserve_hold(HL_SERVICE_RESERVE * (ctl->config->workers + 1));
    if (ctl->config->core_dumps)
        show_memory(true);
    status = run(ctl);
    stop_all(ctl);
    bool is_orderly = status != HL_CLI_FAILED;
    if (is_orderly)
        HL_LOG(INFO, "stopped", HL_LOG_INT("runs_stored", ctl->stayed_runs),
            HL_LOG_INT("deliveries_stored", ctl->stayed_deliveries));
    free(ctl);
    hl_run_log_stop();
    hl_log_writer_stop(is_orderly ? LOG_END_MS : LOG_FAILED_END_MS);
    return status;
}
