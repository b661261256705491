/* control.c - the control thread's loop: takes signals and ends everything in order.
 * Thread: main. Promise: after SIGTERM calls are answered for HOOKLINE_SHUTDOWN_DELAY, running ones
 * get HOOKLINE_DRAIN_TIMEOUT, and nothing accepted is lost (contract 7). A second SIGTERM or SIGINT
 * ends at once; that loses nothing either.
 * Not here: what is started, and taken down when the loop has ended (serve.c). */
#include "control.h"

#include <signal.h>
#include <string.h>

#include "api/admin.h"
#include "api/rest.h"
#include "auth/auth.h"
#include "base/clock.h"
#include "base/log.h"
#include "config/config.h"
#include "loop/thread.h"
#include "run/report.h"
#include "store/claim.h"
#include "store/store.h"
#include "webhook/sender.h"
#include "worker/left.h"
#include "worker/worker.h"

/* Attempts in flight at the end have this long; what is cut is sent again at the next start. */
#define SENDER_GRACE_MS 5000
#define STORE_LOOK_MS   50
#define REPORT_MS       10000 /* what is left is logged so often */

static void on_app_lost(struct hl_readiness *readiness);
static void on_signal(uv_signal_t *handle, int signum);
static void on_timer(struct hl_timer *timer);
static void on_tunnel_timer(struct hl_timer *timer);
static void on_store_timer(struct hl_timer *timer);
static void on_report_timer(struct hl_timer *timer);
static void on_message(void *self, struct hl_msg *msg);

bool hl_control_open(struct hl_control *ctl)
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
    hl_timer_init(&ctl->store_timer, on_store_timer);
    hl_timer_init(&ctl->report_timer, on_report_timer);
    hl_readiness_init(&ctl->readiness, &ctl->loop, &ctl->wheel, &ctl->reader, ctl->config,
        &ctl->service.connections);
    ctl->readiness.on_lost = on_app_lost;
    hl_gate_seat_init(&ctl->gate, &ctl->service.connections.gate, &ctl->mail.box);
    hl_bell_init(&ctl->gate.gate->knock, &ctl->mail.box, HL_GATE_KNOCKED);
    ctl->has_loop = rc == 0;
    return rc == 0;
}

/* False: out of memory, for what is no stage of the end. */
static bool tell_workers(struct hl_control *ctl, enum hl_worker_message what)
{
    bool are_told = true;
    for (uint32_t i = 0; i < ctl->started; i++)
        if (!hl_worker_tell(ctl->service.workers[i], what))
            are_told = false;
    if (!are_told)
        HL_LOG(ERROR, "a message to a worker was lost: out of memory");
    return are_told;
}

static void log_left(const struct hl_control *ctl, const char *what)
{
    char text[HL_LEFT_TEXT];
    struct hl_left left = hl_left_count(&ctl->service);
    hl_left_write(&left, text);
    HL_LOG(INFO, what, HL_LOG_TEXT("left", text));
}

static void on_app_lost(struct hl_readiness *readiness)
{
    tell_workers(HL_CONTAINER_OF(readiness, struct hl_control, readiness), HL_WORKER_APP_LOST);
}

static void close_admin(struct hl_control *ctl)
{
    if (ctl->admin)
        hl_admin_close(ctl->admin);
    ctl->admin = NULL;
}

void hl_control_close(struct hl_control *ctl)
{
    close_admin(ctl);
    hl_recorder_stop(&ctl->recorder);
    hl_herald_stop(&ctl->herald);
    hl_readiness_close(&ctl->readiness);
    hl_sleep_end(&ctl->sleep);
    hl_idle_close(&ctl->idle);
    hl_timer_fini(&ctl->wheel, &ctl->timer);
    hl_timer_fini(&ctl->wheel, &ctl->tunnel_timer);
    hl_timer_fini(&ctl->wheel, &ctl->store_timer);
    hl_timer_fini(&ctl->wheel, &ctl->report_timer);
    hl_signal_close(&ctl->sigterm);
    hl_signal_close(&ctl->sigint);
    hl_wheel_close(&ctl->wheel);
    hl_reader_close(&ctl->reader);
    hl_tls_seat_close(ctl->tls);
    hl_uv_mailbox_close(&ctl->mail);
}

void hl_control_cut(struct hl_control *ctl)
{
    ctl->state = HL_CONTROL_CUT;
    tell_workers(ctl, HL_WORKER_CUT);
}

static void drain(struct hl_control *ctl)
{
    ctl->state = HL_CONTROL_DRAINING;
    log_left(ctl, "listeners closed; running calls may finish");
    hl_timer_arm(&ctl->wheel, &ctl->report_timer, REPORT_MS);
    hl_rest_end_waits(ctl->rest);
    hl_timer_arm(&ctl->wheel, &ctl->timer, ctl->config->drain_timeout_ms);
    hl_timer_arm(&ctl->wheel, &ctl->tunnel_timer, ctl->config->tunnel_drain_ms);
    tell_workers(ctl, HL_WORKER_CLOSE);
}

static void on_timer(struct hl_timer *timer)
{
    struct hl_control *ctl = HL_CONTAINER_OF(timer, struct hl_control, timer);
    if (ctl->state == HL_CONTROL_DELAY) {
        drain(ctl);
    } else if (ctl->state == HL_CONTROL_DRAINING) {
        struct hl_left left = hl_left_count(&ctl->service);
        char text[HL_LEFT_TEXT];
        hl_left_write(&left, text);
        HL_LOG(WARN, "HOOKLINE_DRAIN_TIMEOUT has passed; running calls are cut off",
            HL_LOG_TEXT("left", text));
        ctl->has_cut = !hl_left_is_done(&left);
        hl_control_cut(ctl);
    }
}

static void on_report_timer(struct hl_timer *timer)
{
    struct hl_control *ctl = HL_CONTAINER_OF(timer, struct hl_control, report_timer);
    if (ctl->state != HL_CONTROL_DRAINING)
        return;
    log_left(ctl, "still draining");
    hl_timer_arm(&ctl->wheel, timer, REPORT_MS);
}

static void on_tunnel_timer(struct hl_timer *timer)
{
    struct hl_control *ctl = HL_CONTAINER_OF(timer, struct hl_control, tunnel_timer);
    if (ctl->state == HL_CONTROL_DRAINING)
        tell_workers(ctl, HL_WORKER_CLOSE_TUNNELS);
}

/* What of HOOKLINE_SHUTDOWN_DELAY is left: it has begun when calls were first sent elsewhere. */
static uint64_t rest_of_delay(const struct hl_control *ctl)
{
    uint64_t all_ms = ctl->config->shutdown_delay_ms;
    uint64_t gone_ms = ctl->state == HL_CONTROL_ASIDE ? hl_clock_mono_ms() - ctl->aside_ms : 0;
    return gone_ms < all_ms ? all_ms - gone_ms : 0;
}

static void on_signal(uv_signal_t *handle, int signum)
{
    struct hl_control *ctl = handle->data;
    HL_LOG(INFO, "signal", HL_LOG_TEXT("name", strsignal(signum)));
    if (ctl->state <= HL_CONTROL_ASIDE) {
        uint64_t delay_ms = rest_of_delay(ctl);
        hl_rest_tell_drain(ctl->rest, "signal", signum == SIGTERM ? "SIGTERM" : "SIGINT");
        ctl->state = HL_CONTROL_DELAY;
        atomic_store(&ctl->service.is_draining, true);
        tell_workers(ctl, HL_WORKER_DRAIN);
        hl_timer_arm(&ctl->wheel, &ctl->timer, delay_ms);
    } else if (ctl->state == HL_CONTROL_ENDING) {
        hl_sender_cut(ctl->sender);
    } else {
        if (ctl->state != HL_CONTROL_CUT)
            hl_control_cut(ctl);
        hl_supervisor_kill(&ctl->supervisor);
    }
}

/* Nobody sends calls any more: no load balancer needs a delay. */
static void leave(struct hl_control *ctl)
{
    atomic_store(&ctl->service.is_draining, true);
    drain(ctl);
}

void hl_control_on_idle(struct hl_idle *idle)
{
    struct hl_control *ctl = HL_CONTAINER_OF(idle, struct hl_control, idle);
    if (ctl->state > HL_CONTROL_ASIDE)
        return;
    HL_LOG(INFO, "idle for HOOKLINE_IDLE_EXIT: stopping");
    hl_rest_tell_drain(ctl->rest, "idle", NULL);
    leave(ctl);
}

/* ---- what is asked of the process by a call ---- */

enum hl_err hl_control_set_aside(struct hl_service *service)
{
    struct hl_control *ctl = HL_CONTAINER_OF(service, struct hl_control, service);
    if (ctl->state != HL_CONTROL_SERVING)
        return HL_ERR_EXISTS;
    if (!tell_workers(ctl, HL_WORKER_ASIDE))
        return HL_ERR_NOMEM; /* whoever was told is told again */
    ctl->state = HL_CONTROL_ASIDE;
    ctl->aside_ms = hl_clock_mono_ms();
    atomic_store(&service->is_draining, true);
    log_left(ctl, "draining: calls are still answered, nothing is taken from the queue");
    return HL_OK;
}

enum hl_err hl_control_take_back(struct hl_service *service)
{
    struct hl_control *ctl = HL_CONTAINER_OF(service, struct hl_control, service);
    if (ctl->state > HL_CONTROL_ASIDE)
        return HL_ERR_CONFLICT;
    /* Also while it serves: some may have heard of a drain that memory was short for. */
    if (!tell_workers(ctl, HL_WORKER_BACK))
        return HL_ERR_NOMEM;
    if (ctl->state == HL_CONTROL_SERVING)
        return HL_ERR_NOT_FOUND;
    ctl->state = HL_CONTROL_SERVING;
    atomic_store(&service->is_draining, false);
    HL_LOG(INFO, "draining was taken back");
    return HL_OK;
}

enum hl_err hl_control_quit(struct hl_service *service)
{
    struct hl_control *ctl = HL_CONTAINER_OF(service, struct hl_control, service);
    if (ctl->state > HL_CONTROL_DELAY)
        return HL_ERR_EXISTS;
    HL_LOG(INFO, "asked to stop");
    leave(ctl);
    return HL_OK;
}

/* ---- a store that opens later ---- */

static void on_store_timer(struct hl_timer *timer)
{
    struct hl_control *ctl = HL_CONTAINER_OF(timer, struct hl_control, store_timer);
    enum hl_store_standing standing = hl_store_standing(ctl->store);
    if (ctl->state > HL_CONTROL_ASIDE)
        return;
    if (standing == HL_STORE_REFUSED) {
        HL_LOG(ERROR, hl_store_refusal(ctl->store));
        ctl->has_failed = true;
        leave(ctl);
        return;
    }
    if (hl_auth_is_complete(ctl->service.auth)) {
        atomic_store(&ctl->service.is_opening, false);
        hl_rest_tell_start(ctl->rest);
        return;
    }
    if (standing == HL_STORE_OPEN)
        hl_auth_catch_up(ctl->service.auth);
    hl_timer_arm(&ctl->wheel, timer, STORE_LOOK_MS);
}

void hl_control_await_store(struct hl_control *ctl)
{
    atomic_store(&ctl->service.is_opening, true);
    hl_timer_arm(&ctl->wheel, &ctl->store_timer, STORE_LOOK_MS);
}

/* ---- what ends, one after the other: workers, app, sender ---- */

void hl_control_on_worker_end(struct hl_service *service, uint32_t index)
{
    struct hl_control *ctl = HL_CONTAINER_OF(service, struct hl_control, service);
    hl_mailbox_post(&ctl->mail.box, &ctl->worker_ended[index]);
}

/* On the sender's thread, its last act. */
static void on_sender_end(void *arg)
{
    struct hl_control *ctl = arg;
    hl_mailbox_post(&ctl->mail.box, &ctl->sender_ended);
}

/* The loop goes on for the signals, until nothing is left to be cut short. */
static void on_app_stopped(struct hl_supervisor *supervisor)
{
    struct hl_control *ctl = HL_CONTAINER_OF(supervisor, struct hl_control, supervisor);
    uint64_t grace_ms = ctl->state == HL_CONTROL_CUT ? 0 : SENDER_GRACE_MS;
    ctl->state = HL_CONTROL_ENDING;
    hl_rest_tell_drained(ctl->rest);
    close_admin(ctl);
    hl_sender_stop(ctl->sender, grace_ms, on_sender_end, ctl);
}

/* The store says it to other replicas. */
static void on_gate(struct hl_control *ctl)
{
    if (ctl->state == HL_CONTROL_ENDING)
        return;
    hl_gate_seat_on_turn(&ctl->gate);
    enum hl_gate_state state = hl_gate_state(ctl->gate.gate);
    if (ctl->store)
        hl_store_note_app(ctl->store,
            state == HL_GATE_OPEN     ? HL_APP_UP
            : state == HL_GATE_WAKING ? HL_APP_WAKING
                                      : HL_APP_AWAY,
            state == HL_GATE_ASLEEP);
    hl_readiness_on_gate(&ctl->readiness);
    hl_sleep_on_gate(&ctl->sleep);
}

bool hl_control_uses_app(void *owner)
{
    struct hl_control *ctl = owner;
    ctl->use.leaves_queue = ctl->state != HL_CONTROL_SERVING;
    return hl_app_use_look(&ctl->use) || ctl->state > HL_CONTROL_ASIDE;
}

bool hl_control_is_settled(void *owner)
{
    return hl_app_use_is_settled(&((struct hl_control *)owner)->use);
}

bool hl_control_wants_app(void *owner)
{
    struct hl_control *ctl = owner;
    ctl->use.leaves_queue = ctl->state != HL_CONTROL_SERVING;
    return hl_app_use_is_wanted(&ctl->use);
}

/* The app said what it said before its answer: that is in the pipe by now. */
static void on_failure(struct hl_control *ctl, struct hl_finish *finish)
{
    hl_output_catch_up(&ctl->supervisor.output);
    hl_report_send(ctl->store, finish);
}

static void on_message(void *self, struct hl_msg *msg)
{
    struct hl_control *ctl = self;
    if (msg->type == HL_STORE_FINISH) {
        on_failure(ctl, HL_CONTAINER_OF(msg, struct hl_finish, m.msg));
        return;
    }
    if (msg == &ctl->sender_ended) {
        hl_control_close(ctl);
        return;
    }
    if (msg == &ctl->gate.turned) {
        on_gate(ctl);
        return;
    }
    if (msg == &ctl->gate.gate->knock.msg) {
        hl_sleep_on_knock(&ctl->sleep);
        return;
    }
    hl_rest_worker_ended(ctl->rest, (uint32_t)(msg - ctl->worker_ended));
    if (++ctl->ended < ctl->started)
        return;
    hl_sleep_end(&ctl->sleep);
    hl_supervisor_stop(&ctl->supervisor, on_app_stopped);
}
