/* world.c - a worker without its thread, between sockets that the test holds. The worker's own
 * listener is there and unused: callers are handed to it as connected sockets. */
#include "world.h"

#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "app/cause.h"
#include "app/readiness.h"
#include "base/log.h"
#include "body/journals.h"
#include "config/config.h"
#include "fuzz.h"
#include "preset.h"
#include "run/dispatch.h"
#include "run/service.h"
#include "store/store.h"
#include "stub_store.h"

#define MAX_TURNS 200 /* without an end: something spins */

/* What a worker needs around it; kept from one input to the next. */
struct service {
    struct hl_service service;
    struct hl_journals journals;
    struct hl_readiness readiness;
    struct hl_limiter_seat *seat;
    struct hl_worker *worker;
};

static struct service services[PRESET_COUNT];
static struct world world;
static int listener = -1;
static size_t connecting; /* connections that the app has not accepted yet */

/* ---- beginning ---- */

static struct kernel_socket *on_connect(void)
{
    if (!world.is_app_up || world.app_count + connecting == WORLD_MAX_APPS)
        return NULL;
    struct world_wire *wire = &world.apps[world.app_count + connecting++];
    wire->socket = (struct kernel_socket){.room = SIZE_MAX};
    return &wire->socket;
}

/* Under a name that the kernel finds, so that tests beside each other do not meet. */
static void open_listener(void)
{
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    socklen_t len = sizeof un.sun_family;
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    bool is_open = listener >= 0 && bind(listener, (struct sockaddr *)&un, len) == 0 &&
                   listen(listener, 2 * WORLD_MAX_APPS) == 0;
    len = sizeof un;
    is_open = is_open && getsockname(listener, (struct sockaddr *)&un, &len) == 0;
    FUZZ_CHECK(is_open, "the app's socket");
    kernel_serve((struct sockaddr *)&un, len, on_connect);
}

static void start_worker(struct service *s, const struct hl_config *config)
{
    char why[256] = "";
    struct hl_store *store = s->service.store;
    *s = (struct service){.service = {.config = config, .store = store, .worker_count = 1}};
    s->readiness.is_ready = true;
    s->service.readiness = &s->readiness;
    hl_journals_init(&s->journals, 10);
    s->service.journals = &s->journals;
    s->service.seats = &s->seat;
    s->service.workers = &s->worker;
    atomic_init(&s->service.memory_left, hl_store_memory_max(config));
    hl_pool_group_init(&s->service.connections, config->app_keepalive, config->app_concurrency);
    hl_limiter_init(
        &s->service.limiter, config->app_concurrency, config->app_queue, s->service.seats, 1);
    enum hl_err err = hl_worker_new(&s->worker, &s->service, 0, why, sizeof why);
    FUZZ_CHECK(err == HL_OK, why);
    hl_dispatch_start(&s->worker->runs);
}

struct world *world_begin(unsigned i)
{
    struct service *s = &services[i % PRESET_COUNT];
    if (listener < 0) {
        signal(SIGPIPE, SIG_IGN);
        hl_log_setup((enum hl_log_level)(HL_LOG_ERROR + 1), HL_LOG_JSON); /* nothing */
        open_listener();
    }
    kernel_forget();
    connecting = 0;
    world = (struct world){.config = preset(i), .is_app_up = true};
    if (!s->service.store)
        s->service.store = stub_new();
    stub_reset(s->service.store);
    if (!s->worker)
        start_worker(s, world.config);
    world.worker = s->worker;
    world.store = s->service.store;
    world_check_app();
    world_settle();
    return &world;
}

static void wire_open(struct world_wire *wire, int fd)
{
    wire->fd = fd;
    hl_buf_init(&wire->sent, 0);
    hl_buf_init(&wire->got, 0);
}

struct world_wire *world_call(void)
{
    int pair[2];
    bool is_served = world.worker && !world.worker->callers.is_closed;
    if (world.caller_count == WORLD_MAX_CALLERS || !is_served)
        return NULL;
    FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0,
        "a caller's socket");
    struct world_wire *wire = &world.callers[world.caller_count++];
    wire_open(wire, pair[0]);
    wire->socket = (struct kernel_socket){.room = SIZE_MAX};
    kernel_watch(pair[1], &wire->socket);
    hl_callers_adopt(&world.worker->callers, pair[1]);
    return wire;
}

/* ---- what the peers do ---- */

void world_send(struct world_wire *wire, struct hl_str bytes)
{
    if (wire->fd < 0 || wire->has_ended || bytes.n == 0)
        return;
    ssize_t n = send(wire->fd, bytes.p, bytes.n, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0)
        FUZZ_CHECK(hl_buf_append(&wire->sent, bytes.p, (size_t)n) == HL_OK, "out of memory");
}

void world_end_sending(struct world_wire *wire)
{
    if (wire->fd < 0 || wire->has_ended)
        return;
    wire->has_ended = true;
    shutdown(wire->fd, SHUT_WR);
}

void world_close(struct world_wire *wire)
{
    if (wire->fd < 0)
        return;
    wire->has_closed = !wire->got_end;
    close(wire->fd);
    wire->fd = -1;
}

void world_tell(enum hl_worker_message what)
{
    world.was_cut = world.was_cut || what == HL_WORKER_CUT;
    if (world.worker)
        FUZZ_CHECK(hl_worker_tell(world.worker, what), "out of memory");
}

/* ---- turns of the loop ---- */

static void receive(struct world_wire *wire)
{
    char bytes[16384];
    while (wire->fd >= 0 && !wire->got_end) {
        ssize_t n = recv(wire->fd, bytes, sizeof bytes, MSG_DONTWAIT);
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0)
            wire->got_end = true;
        else
            FUZZ_CHECK(hl_buf_append(&wire->got, bytes, (size_t)n) == HL_OK, "out of memory");
    }
}

static void accept_all(void)
{
    int fd;
    while (
        connecting > 0 && (fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        connecting--;
        wire_open(&world.apps[world.app_count++], fd);
    }
}

/* One turn, and what the peers see of it. */
static void turn(void)
{
    if (world.worker)
        uv_run(&world.worker->loop, UV_RUN_NOWAIT);
    accept_all();
    for (size_t i = 0; i < world.caller_count; i++)
        receive(&world.callers[i]);
    for (size_t i = 0; i < world.app_count; i++)
        receive(&world.apps[i]);
}

/* The worker ended: nothing of it is left. As in serve.c, the store gives its last answers before the
 * memory goes. */
static void bury_worker(void)
{
    struct service *s = HL_CONTAINER_OF(world.worker->service, struct service, service);
    for (int i = 0; i < MAX_TURNS && uv_loop_alive(&world.worker->loop); i++)
        turn();
    FUZZ_CHECK(!uv_loop_alive(&world.worker->loop), "an ended worker's loop goes on");
    stub_release(world.store);
    hl_worker_free(world.worker);
    hl_journals_fini(&s->journals);
    s->worker = world.worker = NULL;
    turn();
}

/* Time that passes at once is to the loop as if it had been away: its timers wait for the sockets. */
static bool have_timers_waited(void)
{
    return world.worker && world.worker->wheel.has_given_way;
}

void world_settle(void)
{
    uint64_t before;
    int turns = 0;
    do {
        if (have_timers_waited())
            kernel_advance(1);
        before = kernel_activity();
        turn();
        turn();
        FUZZ_CHECK(++turns < MAX_TURNS, "the loop does not come to rest");
    } while (kernel_activity() != before || have_timers_waited());
    if (world.worker && world.worker->has_ended)
        bury_worker();
}

/* As the control thread does, whenever time has passed. */
void world_check_app(void)
{
    if (!world.worker || !world.is_app_up)
        return;
    struct hl_gate *gate = &world.worker->service->connections.gate;
    hl_gate_end_check(
        gate, hl_gate_begin_check(gate), (struct hl_cause){HL_CAUSE_NONE, 0, 0}, true);
}

void world_wait(uint64_t ms)
{
    kernel_advance(ms);
    world_check_app();
    world_settle();
}

/* ---- ending ---- */

static bool is_quiet(const struct hl_worker *w)
{
    bool has_work = !w->runs.is_draining && stub_has_work(w->service->store);
    return w->callers.count == 0 && hl_counter_get(&w->runs.count) == 0 &&
           w->runs.pool.open_count == 0 && w->runs.spools.open == 0 &&
           w->runs.dispatch.running == 0 && !has_work;
}

/* Nothing of a call is left: no count that went up and did not come down. */
static void check_rest(const struct hl_worker *w)
{
    FUZZ_CHECK(is_quiet(w), "a call hangs although both sides are gone and its time is over");
    FUZZ_CHECK(hl_counter_get(&w->metrics.connections_open) == 0, "connections_open");
    FUZZ_CHECK(hl_counter_get(&w->metrics.calls_in_flight) == 0, "calls_in_flight");
    FUZZ_CHECK(hl_counter_get(&w->metrics.runs_in_flight) == 0, "runs_in_flight");
    FUZZ_CHECK(hl_counter_get(&w->metrics.waiting_for_slot) == 0, "waiting_for_slot");
    FUZZ_CHECK(w->slots.in_use == 0, "a name that nobody has is in use");
    FUZZ_CHECK(w->runs.memory.in_use == 0 && w->runs.pages.slab.in_use == 0 &&
                   w->callers.memory.in_use == 0,
        "memory of a call is not given back");
    bool has_limit = w->config->app_concurrency > 0;
    FUZZ_CHECK(!has_limit || w->service->limiter.in_use == 0, "a slot of the app is lost");
}

void world_finish(void)
{
    static const uint64_t steps[] = {
        0, 20, 100, 1100, 2100, 5100, 11000, 31000, 61000, 301000, 901000, 61000, 5100, 2100, 1100};
    world.is_app_up = false;
    stub_release(world.store);
    stub_answer_with(world.store, HL_OK);
    for (size_t i = 0; i < WORLD_MAX_CALLERS; i++)
        world.callers[i].socket.room = SIZE_MAX;
    for (size_t i = 0; i < WORLD_MAX_APPS; i++)
        world.apps[i].socket.room = SIZE_MAX;
    world_settle();
    for (size_t i = 0; i < world.caller_count; i++)
        world_close(&world.callers[i]);
    for (size_t i = 0; i < world.app_count; i++) {
        world.apps[i].was_open_last = world.apps[i].fd >= 0 && !world.apps[i].has_ended;
        world_close(&world.apps[i]);
    }
    for (size_t i = 0; i < HL_ARRAY_LEN(steps); i++) {
        world_wait(steps[i]);
        if (!world.worker || is_quiet(world.worker))
            break;
    }
    /* one slot of the app, and runs behind each other that wait for it to start */
    for (size_t i = 0; i < STUB_MAX_RUNS && world.worker && !is_quiet(world.worker); i++)
        world_wait(301000);
    for (size_t i = 0; i < world.app_count; i++) /* accepted meanwhile */
        world_close(&world.apps[i]);
    world_settle();
    if (world.worker)
        check_rest(world.worker);
    if (world.worker && world.worker->runs.is_draining) {
        world_tell(HL_WORKER_CLOSE);
        world_settle();
        FUZZ_CHECK(!world.worker, "a worker without calls does not end");
    }
}

void world_forget(void)
{
    for (size_t i = 0; i < world.caller_count; i++) {
        hl_buf_fini(&world.callers[i].sent);
        hl_buf_fini(&world.callers[i].got);
    }
    for (size_t i = 0; i < world.app_count; i++) {
        hl_buf_fini(&world.apps[i].sent);
        hl_buf_fini(&world.apps[i].got);
    }
}
