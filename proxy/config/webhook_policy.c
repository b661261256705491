/* webhook_policy.c - see webhook_policy.h. */
#include "config/webhook_policy.h"

#include <string.h>

#include "config/value.h"

/* An entry between commas that is empty is a mistake, and so is a list of none. */
static bool next_word(struct hl_str *rest, bool *has_more, struct hl_str *word)
{
    const char *comma = rest->n > 0 ? memchr(rest->p, ',', rest->n) : NULL;
    *word = (struct hl_str){rest->p, comma ? (size_t)(comma - rest->p) : rest->n};
    *has_more = comma != NULL;
    size_t used = word->n + (comma ? 1 : 0);
    *rest = (struct hl_str){rest->p + used, rest->n - used};
    *word = hl_str_trim(*word);
    return word->n > 0;
}

bool hl_schedule_parse(struct hl_str text, struct hl_schedule *out)
{
    bool has_more = true;
    struct hl_str word;
    *out = (struct hl_schedule){.n = 0};
    while (has_more) {
        uint64_t ms;
        if (!next_word(&text, &has_more, &word) || out->n == HL_SCHEDULE_MAX ||
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

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* "5xx", "503". */
static bool add_status(struct hl_str word, struct hl_webhook_retry_on *on)
{
    if (word.n != 3 || word.p[0] < '1' || word.p[0] > '5' || word.p[0] == '2')
        return false;
    unsigned first = (unsigned)(word.p[0] - '0') * 100, n = 100;
    if (memcmp(word.p + 1, "xx", 2) != 0) {
        if (!is_digit(word.p[1]) || !is_digit(word.p[2]))
            return false;
        first += (unsigned)(word.p[1] - '0') * 10 + (unsigned)(word.p[2] - '0');
        n = 1;
    }
    memset(on->statuses + first, true, n);
    return true;
}

bool hl_webhook_retry_on_parse(struct hl_str text, struct hl_webhook_retry_on *out)
{
    bool has_more = true;
    struct hl_str word;
    memset(out, 0, sizeof(*out));
    while (has_more) {
        if (!next_word(&text, &has_more, &word))
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
