/* tunnel.c - see tunnel.h. Thread: the worker's. */
#include "run/tunnel.h"

#include "app/upstream.h"
#include "caller/access.h"
#include "caller/client.h"
#include "config/config.h"
#include "run/ending.h"
#include "run/flow.h"
#include "run/passage.h"
#include "run/progress.h"
#include "run/run.h"
#include "run/runs.h"
#include "run/time_limit.h"

bool hl_tunnel_begin(struct hl_run *run, struct hl_passage *pass)
{
    hl_progress_response(run, HL_RESPONSE_TUNNEL);
    hl_run_count_long(run);
    if (run->client)
        run->client->mode = HL_MODE_TUNNEL;
    hl_progress_request(run, HL_REQUEST_SENDING);
    hl_timer_disarm(&run->timer);
    hl_time_limit_lift(run);
    if (!hl_passage_flush(run, pass) || !run->client)
        return false;
    hl_client_become_tunnel(run->client);
    if (run->response.half == HL_RESPONSE_TUNNEL && run->runs->ends_tunnels)
        hl_tunnel_close(run);
    return !hl_run_has_ended(run);
}

void hl_tunnel_pass(struct hl_run *run, const char *p, size_t n)
{
    if (!run->client || n == 0)
        return;
    hl_access_add(run->client, n);
    if (hl_client_write2(run->client, (struct hl_str){p, n}, (struct hl_str){0}) == HL_OK)
        hl_flow_pause(run);
}

void hl_tunnel_end(struct hl_run *run, bool is_clean)
{
    struct hl_runs *runs = run->runs;
    struct hl_client *c = run->client;
    bool goes_on = is_clean && c && run->request.half == HL_REQUEST_SENDING &&
                   run->response.half == HL_RESPONSE_TUNNEL;
    hl_progress_response(run, HL_RESPONSE_TUNNEL_HALF);
    if (goes_on) { /* half-close goes through; the caller's side may go on, but not in silence */
        hl_stream_shutdown(&c->stream);
        hl_timer_arm(runs->wheel, &run->timer, runs->config->body_timeout_ms);
        hl_ending_leave_slot(run);
        return;
    }
    run->client = NULL;
    hl_ending_conclude(run, HL_RUN_SUCCESS, HL_REASON_NONE, false);
    if (c) {
        c->must_close = true;
        c->ended_us = run->times.ended_us;
        hl_client_call_done(c, is_clean);
    }
}

void hl_tunnel_close(struct hl_run *run)
{
    if (run->request.half != HL_REQUEST_BROKEN)
        hl_progress_request(run, HL_REQUEST_SENT);
    hl_tunnel_end(run, true);
}
