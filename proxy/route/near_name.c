/* near_name.c - parameters of a run that are hookline's but for their case, their separators or one letter.
 * Thread: any; no state, no allocation.
 * Promise: the app's own names pass unless they are that near; `sync` does, as it says what happens without
 * `async`.
 * Not here: names that are ours (route/mode.c). */
#include "route/near_name.h"

#include <string.h>

#include "base/compiler.h"
#include "http/url.h"

static const struct {
    const char *name, *folded;
} own[] = {
    {"async", "async"},
    {"webhookEndpoint", "webhookendpoint"},
};

#define LONGEST 24 /* bytes of a name that can be near one of them */

/* In lower case, without `_` and `-`. Returns the length; 0: it is too long, or cannot be decoded. */
static size_t fold(struct hl_str name, char out[LONGEST])
{
    size_t n = 0;
    ptrdiff_t length = hl_query_decode(name, out, LONGEST);
    for (ptrdiff_t i = 0; i < length; i++)
        if (out[i] != '_' && out[i] != '-')
            out[n++] = out[i] >= 'A' && out[i] <= 'Z' ? (char)(out[i] | 0x20) : out[i];
    return n;
}

/* Equal, or one letter is missing, too many, another one, or in its neighbour's place. */
static bool is_near(struct hl_str a, struct hl_str b)
{
    size_t head = 0, tail = 0;
    while (head < a.n && head < b.n && a.p[head] == b.p[head])
        head++;
    while (tail < a.n - head && tail < b.n - head && a.p[a.n - 1 - tail] == b.p[b.n - 1 - tail])
        tail++;
    size_t in_a = a.n - head - tail, in_b = b.n - head - tail;
    if (in_a <= 1 && in_b <= 1)
        return true;
    return in_a == 2 && in_b == 2 && a.p[head] == b.p[head + 1] && a.p[head + 1] == b.p[head];
}

/* `fsync`, `vsync`: nobody mistypes the first letter of `async` into another word. */
static bool is_other_word(struct hl_str folded)
{
    return folded.n >= 4 && folded.n <= 5 && folded.p[0] != 'a' &&
           memcmp(folded.p + folded.n - 4, "sync", 4) == 0;
}

bool hl_near_name_find(struct hl_str query, struct hl_str *found, const char **ours)
{
    struct hl_param param;
    char room[LONGEST];
    while (hl_query_next(&query, &param)) {
        struct hl_str folded = {room, fold(param.name, room)};
        for (size_t i = 0; i < HL_ARRAY_LEN(own) && folded.n > 0; i++) {
            if (!is_near(folded, hl_str_from(own[i].folded)) ||
                hl_param_is(&param, hl_str_from(own[i].name)) || is_other_word(folded))
                continue;
            *found = param.name;
            *ours = own[i].name;
            return true;
        }
    }
    return false;
}
