/* progress.c - the legal moves of a run's states.
 * Thread: the worker's. */
#include "run/progress.h"

#include "base/assert.h"
#include "base/log.h"
#include "run/run.h"

/* legal[from]: the states it may go to. */
#define TO(name) (1U << HL_STAGE_##name)
static const unsigned stage_moves[HL_STAGE_COUNT] = {
    [HL_STAGE_NEW] =
        TO(ACCEPTING) | TO(GATHERING) | TO(AT_GATE) | TO(QUEUED) | TO(CONNECTING) | TO(ENDED),
    [HL_STAGE_ACCEPTING] = TO(ENDED),
    [HL_STAGE_GATHERING] = TO(AT_GATE) | TO(QUEUED) | TO(CONNECTING) | TO(ENDED),
    [HL_STAGE_AT_GATE] = TO(QUEUED) | TO(CONNECTING) | TO(ENDED),
    [HL_STAGE_QUEUED] = TO(AT_GATE) | TO(CONNECTING) | TO(ENDED),
    [HL_STAGE_CONNECTING] = TO(CALLING) | TO(ENDED),
    [HL_STAGE_CALLING] = TO(CONNECTING) | TO(ENDED), /* sent again */
};
#undef TO

#define TO(name) (1U << HL_REQUEST_##name)
static const unsigned request_moves[HL_REQUEST_COUNT] = {
    [HL_REQUEST_HELD] = TO(SENDING) | TO(SENT),
    [HL_REQUEST_SENDING] = TO(SENT) | TO(BROKEN) | TO(HELD), /* sent again */
    [HL_REQUEST_SENT] = TO(HELD) | TO(SENDING),              /* sent again; becomes a tunnel */
    [HL_REQUEST_BROKEN] = TO(SENDING),                       /* becomes a tunnel */
};
#undef TO

#define TO(name) (1U << HL_RESPONSE_##name)
static const unsigned response_moves[HL_RESPONSE_COUNT] = {
    [HL_RESPONSE_HEAD] = TO(BODY) | TO(DONE),
    [HL_RESPONSE_BODY] = TO(TUNNEL) | TO(DONE),
    [HL_RESPONSE_TUNNEL] = TO(TUNNEL_HALF) | TO(DONE),
    [HL_RESPONSE_TUNNEL_HALF] = TO(DONE),
};
#undef TO

#define TO(name) (1U << HL_RECORD_##name)
static const unsigned record_moves[HL_RECORD_COUNT] = {
    [HL_RECORD_NONE] = TO(DUE) | TO(OPEN),
    [HL_RECORD_DUE] = TO(ACCEPTING) | TO(OPEN) | TO(NONE),     /* a webhook is lost */
    [HL_RECORD_OPEN] = TO(KEEPING) | TO(FINISHING) | TO(NONE), /* its claim is given back */
    [HL_RECORD_KEEPING] = TO(FINISHING),
    [HL_RECORD_FINISHING] = TO(AGAIN),
    [HL_RECORD_AGAIN] = TO(FINISHING),
};
#undef TO

static const char *const stage_texts[HL_STAGE_COUNT] = {
    "new", "accepting", "gathering", "at_gate", "queued", "connecting", "calling", "ended"};
static const char *const request_texts[HL_REQUEST_COUNT] = {"held", "sending", "sent", "broken"};
static const char *const response_texts[HL_RESPONSE_COUNT] = {
    "head", "body", "tunnel", "tunnel_half", "done"};
static const char *const record_texts[HL_RECORD_COUNT] = {
    "none", "due", "accepting", "open", "keeping", "finishing", "again"};

/* False: it is there already. */
static inline bool check(const struct hl_run *run, const char *what, const unsigned *moves,
    const char *const *texts, unsigned from, unsigned to)
{
    if (from == to)
        return false;
    HL_ASSERT(moves[from] >> to & 1U);
    HL_LOG(DEBUG, "run goes on", HL_LOG_ID("run_id", &run->id), HL_LOG_TEXT("what", what),
        HL_LOG_TEXT("from", texts[from]), HL_LOG_TEXT("to", texts[to]));
    return true;
}

void hl_progress_stage(struct hl_run *run, enum hl_run_stage to)
{
    if (check(run, "stage", stage_moves, stage_texts, run->stage, to))
        run->stage = to;
}

void hl_progress_request(struct hl_run *run, enum hl_request_half to)
{
    if (check(run, "request", request_moves, request_texts, run->request.half, to))
        run->request.half = to;
}

void hl_progress_response(struct hl_run *run, enum hl_response_half to)
{
    if (check(run, "response", response_moves, response_texts, run->response.half, to))
        run->response.half = to;
}

void hl_progress_record(struct hl_run *run, enum hl_run_record to)
{
    if (check(run, "record", record_moves, record_texts, run->store.record, to))
        run->store.record = to;
}
