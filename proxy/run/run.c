/* run.c - the memory of a run: made at its head, gone at the end of the loop turn in which it
 * ended.
 * Owns: what struct hl_run points at. Thread: the worker's. */
#include "run/run.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/slab.h"
#include "body/source.h"
#include "body/spool.h"
#include "run/page.h"
#include "run/recent.h"
#include "run/runs.h"
#include "run/stream.h"
#include "store/accept.h"
#include "store/claim.h"

struct hl_run *hl_run_new(struct hl_runs *runs, uint64_t started_us)
{
    struct hl_run *run = hl_slab_get_zeroed(&runs->memory);
    if (!run)
        return NULL;
    run->runs = runs;
    run->times.started_ms = hl_clock_wall_ms();
    run->id = hl_id_next(runs->ids, run->times.started_ms);
    run->times.started_us = started_us;
    hl_message_reader_init(&run->response.messages, &runs->rules);
    hl_list_init(&run->node);
    hl_list_push_back(&runs->list, &run->node);
    hl_timer_init(&run->timer, NULL);
    hl_timer_init(&run->deadline, NULL);
    hl_upstream_wait_none(&run->app.wait);
    hl_gate_wait_init(&run->app.gate_wait);
    hl_limiter_wait_init(&run->app.slot_wait, NULL);
    hl_counter_add(&runs->count, 1);
    return run;
}

void hl_run_free(struct hl_run *run)
{
    struct hl_runs *runs = run->runs;
    hl_progress_stage(run, HL_STAGE_ENDED);
    hl_progress_response(run, HL_RESPONSE_DONE);
    hl_allowance_leave(&run->allowance);
    hl_recent_end(run, HL_RUN_CANCELLED, HL_REASON_NONE, 0); /* unless it was said already */
    hl_timer_fini(runs->wheel, &run->timer);
    hl_timer_fini(runs->wheel, &run->deadline);
    if (run->tee.look.on_fire)
        hl_timer_fini(runs->wheel, &run->tee.look);
    hl_slot_remove(runs->slots, run->name);
    hl_page_drop(&run->request.page, &runs->pages);
    hl_buf_fini(&run->response.held);
    hl_message_reader_fini(&run->response.messages);
    hl_source_free(run->source);
    if (runs->is_cut && hl_run_stream_adds_ids(run))
        hl_spool_leave(run->spool);
    else
        hl_spool_abandon(run->spool);
    hl_run_stream_close(run, false);
    hl_claimed_free(run->store.claimed);
    hl_accept_free(run->store.accept);
    hl_finish_free(run->store.finish);
    hl_list_remove(&run->node);
    hl_list_push_back(&runs->ended, &run->node);
    hl_counter_sub(&runs->count, 1);
}

uint32_t hl_run_epoch(const struct hl_run *run)
{
    return run->store.claimed ? run->store.claimed->epoch : 1;
}
