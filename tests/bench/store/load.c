/* load.c - the event loop that has the submitters. */
#include "load.h"

#include <string.h>
#include <time.h>

#include "base/assert.h"

#define WARM_MS 100

static void on_message(void *self, struct hl_msg *msg)
{
    struct load *load = self;
    load->queue->on_message(load->queue, load, msg);
}

void load_init(struct load *load, struct queue *queue)
{
    memset(load, 0, sizeof(*load));
    load->queue = queue;
    HL_ASSERT(uv_loop_init(&load->loop) == 0);
    HL_ASSERT(uv_timer_init(&load->loop, &load->timer) == 0);
    HL_ASSERT(hl_uv_mailbox_init(&load->mailbox, &load->loop, on_message, load) == 0);
    load->timer.data = load;
}

void load_fini(struct load *load)
{
    hl_uv_mailbox_close(&load->mailbox);
    uv_close((uv_handle_t *)&load->timer, NULL);
    uv_run(&load->loop, UV_RUN_DEFAULT);
    HL_ASSERT(uv_loop_close(&load->loop) == 0);
}

static uint64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void begin_counting(struct load *load)
{
    load->is_counting = true;
    load->runs = 0;
    memset(&load->ack, 0, sizeof(load->ack));
    load->cpu_ns = cpu_ns();
    load->began_ns = uv_hrtime();
}

static struct load_result result_of(const struct load *load)
{
    double ns = (double)(uv_hrtime() - load->began_ns), runs = (double)load->runs;
    return (struct load_result){
        .runs_per_s = runs * 1e9 / ns,
        .cpu_us = runs > 0 ? (double)(cpu_ns() - load->cpu_ns) / runs / 1000 : 0,
        .p50_us = latency_at(&load->ack, 0.50),
        .p99_us = latency_at(&load->ack, 0.99),
        .worst_us = latency_at(&load->ack, 1.0 - 1e-9),
    };
}

static void begin_run(struct load *load)
{
    load->in_flight++;
    load->runs_left--;
    load->queue->enqueue(load->queue, load);
}

static void begin_all(struct load *load, unsigned submitters, uint64_t runs)
{
    load->is_over = false;
    load->runs_left = runs;
    for (unsigned i = 0; i < submitters && load->runs_left > 0; i++)
        begin_run(load);
}

/* The end of a time: the runs that are under way end, no new one begins. */
static void on_timer(uv_timer_t *timer)
{
    struct load *load = timer->data;
    load->is_over = true;
    uv_stop(&load->loop);
}

static void run_for(struct load *load, uint64_t ms)
{
    uv_update_time(&load->loop);
    uv_timer_start(&load->timer, on_timer, ms, 0);
    uv_run(&load->loop, UV_RUN_DEFAULT);
}

/* The mailbox keeps no loop alive: the timer does, for as long as it takes. */
static void run_out(struct load *load)
{
    uv_timer_start(&load->timer, on_timer, UINT32_MAX, 0);
    if (load->in_flight > 0)
        uv_run(&load->loop, UV_RUN_DEFAULT);
    uv_timer_stop(&load->timer);
}

struct load_result load_run_for(struct load *load, unsigned submitters, double seconds)
{
    begin_all(load, submitters, UINT64_MAX);
    run_for(load, WARM_MS);
    load->is_over = false;
    begin_counting(load);
    run_for(load, (uint64_t)(seconds * 1000));
    struct load_result result = result_of(load);
    load->is_counting = false;
    run_out(load);
    return result;
}

struct load_result load_run(struct load *load, unsigned submitters, uint64_t runs)
{
    begin_counting(load);
    begin_all(load, submitters, runs);
    run_out(load);
    struct load_result result = result_of(load);
    load->is_counting = false;
    return result;
}

void load_acknowledged(struct load *load, uint64_t posted_ns)
{
    if (load->is_counting)
        latency_add(&load->ack, uv_hrtime() - posted_ns);
}

void load_run_ended(struct load *load)
{
    load->runs += load->is_counting;
    load->in_flight--;
    if (!load->is_over && load->runs_left > 0)
        begin_run(load);
    else if (load->in_flight == 0)
        uv_stop(&load->loop);
}
