/* media.c - what a caller wants to read. Pure. */
#include "core/media.h"

#include "base/str.h"

/* The next piece of *rest up to `mark`, trimmed. */
static struct hl_str cut(struct hl_str *rest, char mark)
{
    const char *at = rest->n ? memchr(rest->p, mark, rest->n) : NULL;
    struct hl_str piece = {rest->p, at ? (size_t)(at - rest->p) : rest->n};
    size_t used = at ? piece.n + 1 : piece.n;
    rest->p += used;
    rest->n -= used;
    return hl_str_trim(piece);
}

/* "q=0", "q=0.", "q=0.000": not acceptable. */
static bool is_refusal(struct hl_str parameter)
{
    if (parameter.n < 3 || (parameter.p[0] | 0x20) != 'q' || parameter.p[1] != '=')
        return false;
    for (size_t i = 2; i < parameter.n; i++)
        if (parameter.p[i] != '0' && parameter.p[i] != '.')
            return false;
    return true;
}

bool hl_media_wants_events(struct hl_str accept)
{
    struct hl_str element;
    while (hl_str_next_element(&accept, &element)) {
        if (!hl_str_eq_nocase(cut(&element, ';'), HL_STR("text/event-stream")))
            continue;
        bool is_refused = false;
        while (element.n > 0)
            is_refused |= is_refusal(cut(&element, ';'));
        if (!is_refused)
            return true;
    }
    return false;
}
