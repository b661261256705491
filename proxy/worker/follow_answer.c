/* follow_answer.c - see follow_answer.h. */
#include "worker/follow_answer.h"

#include <stdio.h>

#include "http/problem.h"

static const enum hl_refusal_cause causes[] = {
    [HL_FOLLOW_BAD_ID] = HL_REFUSAL_EVENTS_ID,
    [HL_FOLLOW_NO_STREAM] = HL_REFUSAL_EVENTS_NO_STREAM,
    [HL_FOLLOW_GONE] = HL_REFUSAL_EVENTS_GONE,
    [HL_FOLLOW_FAILED] = HL_REFUSAL_REST_STORE_FAILING,
};

void hl_follow_answer_init(struct hl_answer *answer, enum hl_follow_answer what,
    enum hl_run_state state, char fields[HL_FOLLOW_FIELDS])
{
    bool is_stream = what == HL_FOLLOW_OK;
    *answer = (struct hl_answer){.extra_fields = fields};
    fields[0] = '\0';
    if (what > HL_FOLLOW_NOTHING) {
        answer->refusal = hl_refusal(causes[what]);
        return;
    }
    snprintf(fields, HL_FOLLOW_FIELDS, "X-Run-State: %s\r\n%s", hl_run_state_text(state),
        is_stream ? "X-Accel-Buffering: no\r\n" : "");
    answer->status = is_stream ? 200 : 204;
    answer->content_type = HL_STR("text/event-stream; charset=utf-8");
    answer->cache_control = is_stream ? "no-cache" : NULL;
    answer->is_stream = is_stream;
}
