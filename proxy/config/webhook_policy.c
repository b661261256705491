/* webhook_policy.c - see webhook_policy.h. */
#include "config/webhook_policy.h"

#include <string.h>

#include "base/str.h"
#include "config/status_word.h"
#include "config/value.h"

bool hl_schedule_parse(struct hl_str text, struct hl_schedule *out)
{
    bool has_more = true;
    struct hl_str word;
    *out = (struct hl_schedule){.n = 0};
    while (has_more) {
        uint64_t ms;
        if (!hl_value_next_word(&text, &has_more, &word) || out->n == HL_SCHEDULE_MAX ||
            !hl_value_parse_duration(word, &ms) || ms > HL_SCHEDULE_DELAY_MAX)
            return false;
        out->delays_ms[out->n++] = ms;
        out->longest_ms = ms > out->longest_ms ? ms : out->longest_ms;
    }
    return true;
}

bool hl_schedule_is_valid(struct hl_str text)
{
    struct hl_schedule ignored;
    return hl_schedule_parse(text, &ignored);
}

/* What is delivered is not tried again, and no answer ends with a 1xx. */
static bool add_status(struct hl_str word, struct hl_webhook_retry_on *on)
{
    unsigned first, n;
    if (!hl_status_word_parse(word, &first, &n) || first / 100 <= 2)
        return false;
    memset(on->statuses + first, true, n);
    return true;
}

bool hl_webhook_retry_on_parse(struct hl_str text, struct hl_webhook_retry_on *out)
{
    bool has_more = true;
    struct hl_str word;
    memset(out, 0, sizeof(*out));
    while (has_more) {
        if (!hl_value_next_word(&text, &has_more, &word))
            return false;
        if (hl_str_eq(word, HL_STR("network")))
            out->network = true;
        else if (hl_str_eq(word, HL_STR("other")))
            out->other = true;
        else if (!add_status(word, out))
            return false;
    }
    return true;
}

bool hl_webhook_retry_on_is_valid(struct hl_str text)
{
    struct hl_webhook_retry_on ignored;
    return hl_webhook_retry_on_parse(text, &ignored);
}
