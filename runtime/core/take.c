/* take.c - how the host gets a call out of the queue: one whose body is good; the others are answered.
 * Thread: the one that takes it. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "core/call.h"
#include "core/call_inside.h"
#include "core/desk.h"
#include "core/server.h"
#include "core/upload.h"
#include "http/json_check.h"
#include "http/refusal.h"

static bool is_json(struct hl_str text)
{
    struct hl_json_check check;
    hl_json_check_init(&check);
    return hl_json_check_feed(&check, text.p, text.n) && hl_json_check_end(&check);
}

/* Where the text stops being JSON: looked for again, byte by byte, only to say so. */
static void refuse_text(struct hl_call *call, struct hl_str text)
{
    char detail[160], number[24];
    enum hl_refusal_cause cause = HL_REFUSAL_FUNCTION_JSON_END;
    struct hl_json_check check;
    hl_json_check_init(&check);
    size_t i = 0;
    while (i < text.n && hl_json_check_feed(&check, text.p + i, 1))
        i++;
    if (check.is_too_deep)
        cause = HL_REFUSAL_FUNCTION_JSON_DEPTH;
    else if (i < text.n)
        cause = HL_REFUSAL_FUNCTION_JSON_FORM;
    snprintf(number, sizeof(number), "%zu",
        check.is_too_deep ? (size_t)HL_JSON_MAX_DEPTH : i + (i < text.n));
    struct hl_refusal why = hl_refusal_say(detail, sizeof(detail), cause, number, NULL);
    hl_call_refuse(call, &why);
}

/* One JSON object, or nothing. Done by the thread that takes the call: a long body would keep the
 * loop from everybody else. */
static bool is_body_good(struct hl_call *call)
{
    struct hl_str body = hl_call_body(call);
    if (call->desk->directory.callees[call->callee].is_raw || body.n == 0) /* a form's is empty */
        return true;
    if (!is_json(body)) {
        refuse_text(call, body);
        return false;
    }
    size_t begin = strspn(body.p, " \t\r\n");
    if (body.p[begin] != '{') {
        hl_call_refuse(call, hl_refusal_make(HL_REFUSAL_FUNCTION_NO_OBJECT));
        return false;
    }
    return true;
}

static struct hl_call *take(
    struct hl_desk *desk, struct hl_queue_entry *(*next)(struct hl_queue *queue))
{
    struct hl_queue_entry *entry;
    while ((entry = next(&desk->queue)) != NULL) {
        struct hl_call *call = HL_CONTAINER_OF(entry, struct hl_call, entry);
        call->taken_us = hl_clock_mono_us();
        if (call->upload)
            hl_upload_hand_over(call->upload);
        if (is_body_good(call))
            return call;
        hl_call_release(call);
    }
    return NULL;
}

struct hl_call *hl_desk_take(struct hl_desk *desk)
{
    return take(desk, hl_queue_take);
}

struct hl_call *hl_desk_take_async(struct hl_desk *desk)
{
    return take(desk, hl_queue_take_async);
}
