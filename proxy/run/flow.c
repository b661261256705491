/* flow.c - see flow.h. Thread: the worker's. */
#include "run/flow.h"

#include "app/upstream.h"
#include "body/spool.h"
#include "caller/client.h"
#include "run/run.h"
#include "run/stream.h"
#include "run/tee.h"

/* The spool is asked in any case: by that the tee learns whether it holds up the caller. */
static bool lags(struct hl_run *run)
{
    bool caller_lags = run->client && hl_stream_is_blocked(&run->client->stream);
    bool spool_lags = run->spool && hl_tee_lags(run);
    return caller_lags || spool_lags;
}

void hl_flow_pause(struct hl_run *run)
{
    if (lags(run))
        hl_stream_pause(&run->app.upstream->stream);
}

void hl_flow_resume(struct hl_run *run)
{
    if (!run->app.upstream || hl_run_has_ended(run) || hl_run_stream_holds_head(run))
        return;
    if (!lags(run))
        hl_stream_resume(&run->app.upstream->stream);
}

static void on_spool_room(void *owner)
{
    hl_flow_resume(owner);
}

const struct hl_spool_events hl_flow_spool_events = {
    .on_room = on_spool_room, .on_done = hl_tee_end};
