/* retry_rule.c - on which outcomes runs and deliveries are tried again, and when. Any thread; no state. */
#include "config/retry_rule.h"

#include <stdbool.h>
#include <string.h>

#include "base/compiler.h"
#include "base/str.h"
#include "config/value.h"
#include "http/byte.h"

/* "503" is one from `*first` on, "5xx" a hundred. False: it is neither, or not of 100 to 599. */
static bool read_statuses(struct hl_str word, unsigned *first, unsigned *n)
{
    if (word.n != 3 || word.p[0] < '1' || word.p[0] > '5')
        return false;
    *first = (unsigned)(word.p[0] - '0') * 100;
    *n = 100;
    if (memcmp(word.p + 1, "xx", 2) == 0)
        return true;
    if (!hl_byte_is(word.p[1], HL_BYTE_DIGIT) || !hl_byte_is(word.p[2], HL_BYTE_DIGIT))
        return false;
    *first += (unsigned)(word.p[1] - '0') * 10 + (unsigned)(word.p[2] - '0');
    *n = 1;
    return true;
}

/* ---- runs: HOOKLINE_RUN_RETRY_ON ---- */

static bool add_run_status(struct hl_str word, struct hl_retry_on *on)
{
    unsigned first, n;
    if (!read_statuses(word, &first, &n) || first < HL_RETRY_STATUS_LEAST)
        return false;
    memset(on->statuses + first - HL_RETRY_STATUS_LEAST, true, n);
    return true;
}

static bool add(struct hl_str word, struct hl_retry_on *on)
{
    struct {
        const char *name;
        bool *is_wanted;
    } ends[] = {{"unreachable", &on->unreachable}, {"reset", &on->reset}, {"timeout", &on->timeout},
        {"interrupted", &on->interrupted}, {"shutdown", &on->shutdown}};
    for (size_t i = 0; i < HL_ARRAY_LEN(ends); i++) {
        if (!hl_str_eq(word, hl_str_from(ends[i].name)))
            continue;
        *ends[i].is_wanted = true;
        return true;
    }
    return add_run_status(word, on);
}

static struct hl_str trim(struct hl_str s)
{
    for (; s.n > 0 && s.p[0] == ' '; s.n--)
        s.p++;
    while (s.n > 0 && s.p[s.n - 1] == ' ')
        s.n--;
    return s;
}

bool hl_retry_on_parse(struct hl_str text, struct hl_retry_on *out)
{
    memset(out, 0, sizeof(*out));
    while (text.n > 0) {
        const char *comma = memchr(text.p, ',', text.n);
        struct hl_str word = {text.p, comma ? (size_t)(comma - text.p) : text.n};
        if (!add(trim(word), out))
            return false;
        text.p += word.n;
        text.n -= word.n;
        if (comma && --text.n == 0)
            return false; /* nothing stands behind the last comma */
        text.p += comma != NULL;
    }
    return true;
}

bool hl_retry_on_is_shutdown(const struct hl_retry_on *on)
{
    bool has_more = on->unreachable || on->reset || on->timeout || on->interrupted;
    for (size_t i = 0; i < HL_RETRY_STATUSES; i++)
        has_more = has_more || on->statuses[i];
    return on->shutdown && !has_more;
}

bool hl_retry_on_is_valid(struct hl_str text)
{
    struct hl_retry_on ignored;
    return hl_retry_on_parse(text, &ignored);
}

/* ---- deliveries: HOOKLINE_WEBHOOK_SCHEDULE, HOOKLINE_WEBHOOK_RETRY_ON ---- */

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
static bool add_delivery_status(struct hl_str word, struct hl_webhook_retry_on *on)
{
    unsigned first, n;
    if (!read_statuses(word, &first, &n) || first / 100 <= 2)
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
        else if (!add_delivery_status(word, out))
            return false;
    }
    return true;
}

bool hl_webhook_retry_on_is_valid(struct hl_str text)
{
    struct hl_webhook_retry_on ignored;
    return hl_webhook_retry_on_parse(text, &ignored);
}
