/* sse.c - tells where an event stream stands between two events.
 * Thread: any. One byte of state. */
#include "http/sse.h"

#include "base/str.h"
#include "http/byte.h"

enum {
    STATE_BEGIN,       /* before the first byte */
    STATE_BETWEEN,     /* after an empty line */
    STATE_BETWEEN_CR,  /* after an empty line that ended with CR: LF may follow */
    STATE_BETWEEN_CRS, /* the same behind another CR: none is waited for */
    STATE_LINE,        /* inside a line */
    STATE_LINE_CR,     /* after a line that ended with CR: LF may follow */
    STATE_LINE_START,  /* after a line of an event that has not ended */
};

void hl_sse_init(struct hl_sse *s)
{
    s->state = STATE_BEGIN;
}

static uint8_t after_byte(uint8_t state, char c)
{
    bool is_in_line = state == STATE_LINE;
    bool is_after_cr =
        state == STATE_LINE_CR || state == STATE_BETWEEN_CR || state == STATE_BETWEEN_CRS;
    if (c == '\r')
        return is_in_line ? STATE_LINE_CR : is_after_cr ? STATE_BETWEEN_CRS : STATE_BETWEEN_CR;
    if (c != '\n')
        return STATE_LINE;
    if (is_in_line || state == STATE_LINE_CR)
        return STATE_LINE_START;
    return STATE_BETWEEN;
}

void hl_sse_scan(struct hl_sse *s, const char *p, size_t n)
{
    const char *end = p + n;
    while (p < end) {
        if (s->state == STATE_LINE && (p = hl_byte_line_end(p, end)) == end)
            return;
        s->state = after_byte(s->state, *p++);
    }
}

bool hl_sse_is_between_events(const struct hl_sse *s)
{
    return s->state == STATE_BETWEEN || s->state == STATE_BETWEEN_CRS || s->state == STATE_BEGIN;
}

bool hl_sse_is_before_first_byte(const struct hl_sse *s)
{
    return s->state == STATE_BEGIN;
}

size_t hl_sse_mark_n(struct hl_str bytes)
{
    struct hl_str mark = HL_STR("\xef\xbb\xbf");
    return hl_str_starts_with(bytes, mark) ? mark.n : 0;
}
