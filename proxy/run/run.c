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
#include "run/pages.h"
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
    run->started_ms = hl_clock_wall_ms();
    run->id = hl_id_next(runs->ids, run->started_ms);
    run->started_us = started_us;
    run->epoch = 1;
    hl_message_reader_init(&run->messages, &runs->rules);
    hl_list_init(&run->node);
    hl_list_push_back(&runs->list, &run->node);
    hl_timer_init(&run->timer, NULL);
    hl_timer_init(&run->deadline, NULL);
    hl_upstream_wait_none(&run->wait);
    hl_gate_wait_init(&run->gate_wait);
    hl_limiter_wait_init(&run->slot_wait, NULL);
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
    if (run->page)
        hl_pages_put(&runs->pages, run->page, run->page_cap);
    run->page = NULL;
    hl_buf_fini(&run->held);
    hl_message_reader_fini(&run->messages);
    hl_source_free(run->source);
    if (runs->is_cut && hl_run_stream_adds_ids(run))
        hl_spool_leave(run->spool);
    else
        hl_spool_abandon(run->spool);
    hl_run_stream_close(run, false);
    hl_claimed_free(run->claimed);
    hl_accept_free(run->accept);
    hl_finish_free(run->finish);
    hl_list_remove(&run->node);
    hl_list_push_back(&runs->ended, &run->node);
    hl_counter_sub(&runs->count, 1);
}
