/* access.c - what each request of a caller came to.
 * Owns: the figures of callers' requests, and of each connection those of its present one.
 * Thread: the worker's.
 * Promise: each request whose head was there, or was refused, is counted once, by how it ended for
 * its caller, whatever becomes of its run.
 * Not here: the figures of runs (outcome.c). */
#include "run/access.h"

#include "base/clock.h"
#include "run/client.h"

void hl_access_begin(struct hl_client *c)
{
    if (c->begun_us != 0)
        return;
    c->begun_us = hl_clock_mono_us();
    c->status = 0;
    c->mode = HL_MODE_OTHER;
}

static unsigned class_of(const struct hl_client *c, enum hl_access_end how)
{
    unsigned class = c->status / 100;
    return how == HL_ACCESS_CUT ? HL_CODE_CLASS_CUT : class < HL_CODE_CLASS_CUT ? class : 0;
}

void hl_access_end(struct hl_client *c, enum hl_access_end how)
{
    struct hl_worker_metrics *metrics = &c->worker->metrics;
    if (c->begun_us == 0)
        return;
    uint64_t now_us = c->run && c->run->ended_us ? c->run->ended_us : hl_clock_mono_us();
    hl_counter_add(&metrics->requests[c->method][c->mode][class_of(c, how)], 1);
    hl_histogram_add(&metrics->duration[c->mode], now_us - c->begun_us);
    c->begun_us = 0;
}
