/* sse.h - where one server-sent event ends and the next begins, in a byte stream cut anywhere
 * (WHATWG HTML 9.2.5: lines end with CRLF, LF or CR; an empty line ends an event). */
#ifndef HL_HTTP_SSE_H
#define HL_HTTP_SSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hl_str;

struct hl_sse {
    uint8_t state;
};

void hl_sse_init(struct hl_sse *s);
void hl_sse_scan(struct hl_sse *s, const char *p, size_t n);

/* True before the first byte and after a complete event: a comment line may be put here without
 * touching one. After a CR that might be the first half of CRLF, as the line before ended, it is not (yet) a boundary;
 * where lines end with CR it is one, and an LF that came all the same would be one more empty line, which is nothing
 * (9.2.6). */
bool hl_sse_is_between_events(const struct hl_sse *s);

bool hl_sse_is_before_first_byte(const struct hl_sse *s);

/* The length of the byte order mark that stands at the beginning of `bytes`, or 0. It is one at the very beginning of
 * a stream alone: behind a comment that was put there it would be the name of a field, and its event lost. */
size_t hl_sse_mark_n(struct hl_str bytes);

#endif
