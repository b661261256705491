/* trouble.c - failed calls in the log, bounded.
 * Owns: the kinds of this second. Thread: the worker's.
 * Promise: at most two lines a second for each kind, however many calls fail; each call is in a line
 * of its own or in a count.
 * Not here: each failed call in a line of its own (HOOKLINE_LOG_LEVEL=debug: forward.c). */
#include "caller/trouble.h"

#include <string.h>

#include "base/compiler.h"
#include "base/log.h"
#include "http/problem.h"
#include "http/refusal.h"

#define SECOND_MS 1000

static void say_counts(struct hl_trouble *trouble)
{
    for (size_t i = 0; i < trouble->kind_count; i++) {
        const struct hl_trouble_kind *kind = &trouble->kinds[i];
        if (kind->left_out > 0)
            HL_LOG(WARN, kind->what, HL_LOG_INT("status", kind->status),
                HL_LOG_TEXT("detail", kind->detail), HL_LOG_INT("left_out", kind->left_out));
    }
    if (trouble->left_out > 0)
        HL_LOG(WARN, "calls failed for other reasons", HL_LOG_INT("left_out", trouble->left_out));
    trouble->kind_count = 0;
    trouble->left_out = 0;
}

static void on_second(struct hl_timer *timer)
{
    say_counts(HL_CONTAINER_OF(timer, struct hl_trouble, timer));
}

void hl_trouble_init(struct hl_trouble *trouble, struct hl_wheel *wheel)
{
    trouble->wheel = wheel;
    trouble->kind_count = 0;
    trouble->left_out = 0;
    hl_timer_init(&trouble->timer, on_second);
}

void hl_trouble_fini(struct hl_trouble *trouble)
{
    say_counts(trouble);
    hl_timer_fini(trouble->wheel, &trouble->timer);
}

static bool is_of_kind(const struct hl_trouble_case *one, const struct hl_trouble_kind *kind)
{
    return kind->what == one->what && kind->status == one->why->status &&
           strncmp(kind->detail, one->why->detail, HL_TROUBLE_DETAIL - 1) == 0;
}

/* False: it was counted, there is a line of its kind in this second. */
static bool is_first(struct hl_trouble *trouble, const struct hl_trouble_case *one)
{
    for (size_t i = 0; i < trouble->kind_count; i++) {
        struct hl_trouble_kind *kind = &trouble->kinds[i];
        if (!is_of_kind(one, kind))
            continue;
        kind->left_out++;
        return false;
    }
    if (trouble->kind_count == HL_TROUBLE_KINDS) {
        trouble->left_out++;
        return false;
    }
    struct hl_trouble_kind *kind = &trouble->kinds[trouble->kind_count++];
    *kind = (struct hl_trouble_kind){.what = one->what, .status = one->why->status};
    strncpy(kind->detail, one->why->detail, HL_TROUBLE_DETAIL - 1);
    return true;
}

void hl_trouble_note(struct hl_trouble *trouble, const struct hl_trouble_case *one)
{
    if (!hl_log_is_on(HL_LOG_WARN) || !is_first(trouble, one))
        return;
    if (!hl_timer_is_armed(&trouble->timer))
        hl_timer_arm(trouble->wheel, &trouble->timer, SECOND_MS);
    struct hl_log_field fields[6];
    size_t n = 0;
    if (one->run_id)
        fields[n++] = HL_LOG_ID("run_id", one->run_id);
    fields[n++] = HL_LOG_HEX("trace_id", one->trace_id);
    fields[n++] = HL_LOG_INT("status", one->why->status);
    if (one->reason)
        fields[n++] = HL_LOG_TEXT("reason", one->reason);
    fields[n++] = HL_LOG_TEXT("detail", one->why->detail);
    fields[n] = (struct hl_log_field){.name = NULL};
    hl_log_write(HL_LOG_WARN, one->what, fields);
}

/* Not the caller's fault, as 501 and 505 are. */
static bool is_trouble(const struct hl_answer *answer)
{
    uint16_t status = hl_answer_status(answer);
    return answer->refusal && (status == 429 || (status >= 500 && status != 501 && status != 505));
}

void hl_trouble_note_answer(struct hl_trouble *trouble, const struct hl_answer *answer)
{
    if (!is_trouble(answer))
        return;
    struct hl_trouble_case refused = {
        .what = "a call was refused", .run_id = answer->run_id, .why = answer->refusal};
    hl_trouble_note(trouble, &refused);
}
