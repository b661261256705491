/* runs_fixture.c - what a worker lends to its runs, and what it attaches to a new one. */
#include "runs_fixture.h"

#include <criterion/assert.h>
#include <stdlib.h>

#include "app/cause.h"
#include "app/readiness.h"
#include "base/clock.h"
#include "caller/client.h"
#include "callers_fixture.h"
#include "config/config.h"
#include "fake_store.h"
#include "http/field_value.h"
#include "loop_fixture.h"
#include "run/dispatch.h"
#include "run/progress.h"
#include "run/run.h"
#include "run/service.h"
#include "store/claim.h"

struct hl_runs runs;
uint16_t app_port = 1;
static struct hl_service service;
static struct hl_readiness readiness;
static struct hl_limiter_seat *seats[1];
static struct hl_slot_table slots;
static struct hl_date date;
static struct hl_mailbox box;
struct hl_journals journals;

static void on_wake(void *arg)
{
    (void)arg;
}

void runs_begin(void)
{
    static char host[] = "127.0.0.1";
    loop_begin();
    callers_begin();
    config.app_url.host = host;
    config.app_url.port = app_port;
    config.max_head = 4096;
    config.max_kept_response = 1 << 20;
    service = (struct hl_service){.config = &config,
        .store = fake_store_begin(),
        .journals = &journals,
        .readiness = &readiness,
        .seats = seats,
        .worker_count = 1};
    atomic_init(&readiness.why, "it loads");
    atomic_init(&service.memory_left, 1 << 20);
    hl_journals_init(&journals, 10);
    hl_pool_group_init(&service.connections, true, 0);
    hl_limiter_init(&service.limiter, 0, 0, seats, 1);
    hl_slot_table_init(&slots);
    hl_mailbox_init(&box, on_wake, NULL);
    runs = (struct hl_runs){.service = &service,
        .config = &config,
        .loop = &loop,
        .wheel = &wheel,
        .box = &box,
        .ids = &ids,
        .date = &date,
        .slots = &slots,
        .trouble = &trouble,
        .metrics = &metrics,
        .rules = {.max_head = 4096,
            .max_trailer = 4096,
            .no_head = hl_refusal_make(HL_REFUSAL_APP_NO_HEAD),
            .head_too_large = hl_refusal_make(HL_REFUSAL_APP_HEAD_TOO_LARGE)}};
    cr_assert_eq(hl_runs_init(&runs, &reader), HL_OK);
}

void runs_end(void)
{
    taker.client = NULL;
    HL_LIST_EACH_SAFE (node, &runs.list) {
        struct hl_run *run = HL_CONTAINER_OF(node, struct hl_run, node);
        run->client = NULL;
        hl_run_free(run);
    }
    hl_runs_free_ended(&runs);
    UNTIL(runs.spools.open == 0);
    cr_assert_eq(hl_counter_get(&runs.count), 0);
    cr_assert(runs.memory.in_use == 0 && runs.pages.slab.in_use == 0, "memory is lost");
    cr_assert_eq(slots.in_use, 0, "a name is lost");
    cr_assert_eq(journals.map.n, 0, "a journal is lost");
    hl_journals_fini(&journals);
    cr_assert_eq(fake_store.count, 0, "the store was told something more");
    hl_pool_close(&runs.pool);
    callers_end();
    loop_end();
    hl_runs_fini(&runs);
    hl_slot_table_fini(&slots);
}

struct hl_run *run_new(void)
{
    struct hl_run *run = hl_run_new(&runs, hl_clock_mono_us());
    cr_assert_not_null(run);
    return run;
}

struct hl_run *run_called(int *caller)
{
    unsigned heads = taker.heads;
    *caller = caller_call();
    caller_say(*caller, "GET /x HTTP/1.1\r\nHost: h\r\n\r\n");
    UNTIL(taker.heads == heads + 1);
    struct hl_run *run = run_new();
    run->client = taker.client;
    run->caller.minor = taker.client->minor;
    run->request.method = HL_METHOD_GET;
    run->request.is_whole = true;
    hl_counter_add(&metrics.calls_in_flight, 1);
    return run;
}

void run_record(struct hl_run *run)
{
    run->store.has_webhook = true;
    run->store.finish = calloc(1, sizeof(*run->store.finish));
    run->name = hl_slot_add(&slots, run);
    hl_progress_record(run, HL_RECORD_OPEN);
}

unsigned run_count(void)
{
    return (unsigned)hl_counter_get(&runs.count);
}

/* As the worker does with what its mailbox brings. */
static void take_turn(void)
{
    for (struct hl_msg *msg = hl_mailbox_take(&box), *next; msg; msg = next) {
        next = msg->next;
        cr_assert_eq(msg, &runs.gate.turned);
        hl_gate_seat_on_turn(&runs.gate);
        hl_pool_on_gate(&runs.pool);
        if (runs.dispatch.max > 0)
            hl_dispatch_on_gate(&runs);
    }
}

void gate_close(void)
{
    hl_gate_close(&service.connections.gate, "the app ended");
    take_turn();
}

void gate_sleep(void)
{
    hl_gate_put_to_sleep(&service.connections.gate);
    take_turn();
}

void gate_open(void)
{
    struct hl_gate *gate = &service.connections.gate;
    hl_gate_end_check(
        gate, hl_gate_begin_check(gate), (struct hl_cause){.kind = HL_CAUSE_NONE}, true);
    take_turn();
}
