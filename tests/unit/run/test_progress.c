/* test_progress.c - the states of a run: each has one mover, which refuses what may not follow. */
#include "run/progress.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <signal.h>

#include "run/run.h"

static struct hl_run run;

Test(progress, goes_the_way_of_a_call_that_waits_and_is_sent_again)
{
    static const enum hl_run_stage way[] = {HL_STAGE_GATHERING, HL_STAGE_QUEUED,
        HL_STAGE_CONNECTING, HL_STAGE_CALLING, HL_STAGE_CONNECTING, HL_STAGE_CALLING,
        HL_STAGE_ENDED};
    for (size_t i = 0; i < HL_ARRAY_LEN(way); i++) {
        hl_progress_stage(&run, way[i]);
        cr_assert_eq(run.stage, way[i]);
    }
}

Test(progress, lets_a_run_end_from_wherever_it_is)
{
    for (run.stage = HL_STAGE_NEW; run.stage < HL_STAGE_ENDED;) {
        enum hl_run_stage from = run.stage;
        hl_progress_stage(&run, HL_STAGE_ENDED);
        cr_assert_eq(run.stage, HL_STAGE_ENDED);
        run.stage = from + 1;
    }
    for (run.response.half = HL_RESPONSE_HEAD; run.response.half < HL_RESPONSE_DONE;) {
        enum hl_response_half from = run.response.half;
        hl_progress_response(&run, HL_RESPONSE_DONE);
        cr_assert_eq(run.response.half, HL_RESPONSE_DONE);
        run.response.half = from + 1;
    }
}

Test(progress, goes_the_way_of_a_webhook_that_the_store_cannot_take_at_once)
{
    static const enum hl_run_record way[] = {HL_RECORD_DUE, HL_RECORD_OPEN, HL_RECORD_KEEPING,
        HL_RECORD_FINISHING, HL_RECORD_AGAIN, HL_RECORD_FINISHING};
    for (size_t i = 0; i < HL_ARRAY_LEN(way); i++) {
        hl_progress_record(&run, way[i]);
        cr_assert_eq(run.store.record, way[i]);
    }
}

Test(progress, takes_a_move_to_where_it_is_for_none)
{
    run.stage = HL_STAGE_ENDED;
    run.request.half = HL_REQUEST_BROKEN;
    run.response.half = HL_RESPONSE_DONE;
    run.store.record = HL_RECORD_FINISHING;
    hl_progress_stage(&run, HL_STAGE_ENDED);
    hl_progress_request(&run, HL_REQUEST_BROKEN);
    hl_progress_response(&run, HL_RESPONSE_DONE);
    hl_progress_record(&run, HL_RECORD_FINISHING);
}

/* ---- what may not be ---- */

enum half { STAGE, REQUEST, RESPONSE, RECORD };

struct fault {
    enum half half;
    int from, to;
};

static struct fault faults[] = {
    {STAGE, HL_STAGE_ENDED, HL_STAGE_CALLING},        /* nothing comes after the end */
    {STAGE, HL_STAGE_ENDED, HL_STAGE_NEW},            /* */
    {STAGE, HL_STAGE_NEW, HL_STAGE_CALLING},          /* without a connection */
    {STAGE, HL_STAGE_QUEUED, HL_STAGE_CALLING},       /* */
    {STAGE, HL_STAGE_ACCEPTING, HL_STAGE_CONNECTING}, /* its app is called by whoever claims it */
    {STAGE, HL_STAGE_CONNECTING, HL_STAGE_QUEUED},    /* it has its slot */
    {REQUEST, HL_REQUEST_HELD, HL_REQUEST_BROKEN},    /* nothing was sent that could break */
    {REQUEST, HL_REQUEST_BROKEN, HL_REQUEST_SENT},    /* it never becomes whole */
    {RESPONSE, HL_RESPONSE_HEAD, HL_RESPONSE_TUNNEL}, /* a 101 is a head too */
    {RESPONSE, HL_RESPONSE_TUNNEL, HL_RESPONSE_BODY}, /* */
    {RESPONSE, HL_RESPONSE_TUNNEL_HALF, HL_RESPONSE_TUNNEL},
    {RESPONSE, HL_RESPONSE_DONE, HL_RESPONSE_HEAD}, /* */
    {RECORD, HL_RECORD_NONE, HL_RECORD_FINISHING},  /* the store does not know the run */
    {RECORD, HL_RECORD_ACCEPTING, HL_RECORD_OPEN},  /* whoever claims it opens it */
    {RECORD, HL_RECORD_FINISHING, HL_RECORD_OPEN},  /* it has ended */
    {RECORD, HL_RECORD_KEEPING, HL_RECORD_AGAIN},   /* it was not sent yet */
};

ParameterizedTestParameters(progress, refuses_what_may_not_follow)
{
    return cr_make_param_array(struct fault, faults, HL_ARRAY_LEN(faults));
}

ParameterizedTest(struct fault *fault, progress, refuses_what_may_not_follow, .signal = SIGABRT)
{
    switch (fault->half) {
    case STAGE:
        run.stage = (enum hl_run_stage)fault->from;
        hl_progress_stage(&run, (enum hl_run_stage)fault->to);
        break;
    case REQUEST:
        run.request.half = (enum hl_request_half)fault->from;
        hl_progress_request(&run, (enum hl_request_half)fault->to);
        break;
    case RESPONSE:
        run.response.half = (enum hl_response_half)fault->from;
        hl_progress_response(&run, (enum hl_response_half)fault->to);
        break;
    case RECORD:
        run.store.record = (enum hl_run_record)fault->from;
        hl_progress_record(&run, (enum hl_run_record)fault->to);
        break;
    }
}
