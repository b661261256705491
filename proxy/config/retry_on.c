/* retry_on.c - see retry_on.h. */
#include "config/retry_on.h"

#include <string.h>

#include "base/str.h"
#include "config/status_word.h"

static bool add_status(struct hl_str word, struct hl_retry_on *on)
{
    unsigned first, n;
    if (!hl_status_word_parse(word, &first, &n) || first < HL_RETRY_STATUS_LEAST)
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
        {"interrupted", &on->interrupted}};
    for (size_t i = 0; i < HL_ARRAY_LEN(ends); i++) {
        if (!hl_str_eq(word, hl_str_from(ends[i].name)))
            continue;
        *ends[i].is_wanted = true;
        return true;
    }
    return add_status(word, on);
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

bool hl_retry_on_is_valid(struct hl_str text)
{
    struct hl_retry_on ignored;
    return hl_retry_on_parse(text, &ignored);
}
