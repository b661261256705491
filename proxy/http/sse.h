/* sse.h - event streams cut anywhere (WHATWG HTML 9.2.5: lines end with CRLF, LF or CR; an empty line ends
 * an event): where one event ends and the next begins, and the ids of events. */
#ifndef HL_HTTP_SSE_H
#define HL_HTTP_SSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

/* ---- where a stream stands between two events ---- */

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

/* ---- the id of each server-sent event, in a byte stream cut anywhere (WHATWG HTML 9.2.6, contract
 * 14): the app's own `id` where it sets one, else an ordinal, which goes out as a line `id: N` before the
 * empty line that ends the event.
 *
 * An event is a block with at least one `data` line. Ids that are empty or hold NUL are none: clients keep
 * nothing of them. Thread: any; no allocation ---- */

/* A line `id: N` with its end. */
#define HL_EVENT_ID_LINE_MAX 27
/* A longer one is not looked for. */
#define HL_EVENT_ID_MAX 1024

/* Where a stream stands. Plain bytes: a copy goes on from there. */
struct hl_event_ids {
    uint64_t count; /* the ordinal of the last event that has ended */
    uint8_t state;  /* of the line */
    uint8_t field;  /* its name, as far as it is known */
    uint8_t name_n;
    uint8_t end;                   /* how the last line ended */
    bool is_after_cr;              /* that may be half of CRLF */
    bool is_at_end;                /* of a block: its empty line is next */
    bool is_first;                 /* line of the stream: a byte order mark may stand before it */
    bool has_lines;                /* the block has begun */
    bool has_data, has_id;         /* in the block */
    bool is_wanted;                /* its id is the one that is looked for */
    bool id_has_nul, id_is_wanted; /* of the `id` line that is being read */
    char name[4];
    uint32_t id_n;
    uint32_t id_at; /* so much of `wanted` has been read */
    /* borrowed; empty: none is. Without blanks at its ends, see hl_event_id_wanted */
    struct hl_str wanted;
};

/* What can come back of an id: clients name it in a field, whose value has no blanks at its ends (RFC 9110 5.5).
 * So those of a stream's ids are passed over where they are compared. */
struct hl_str hl_event_id_wanted(struct hl_str id);

/* At the beginning of a stream whose first event has the ordinal `before` + 1. */
void hl_event_ids_init(struct hl_event_ids *s, uint64_t before);

/* Reads on. Returns how many bytes were read: up to the first byte of an empty line that ends a block
 * (`*at_end`), which the next call reads, or all. */
size_t hl_event_ids_scan(struct hl_event_ids *s, struct hl_str bytes, bool *at_end);

/* At the end of a block: what it was. */
enum hl_event_kind {
    HL_EVENT_NONE,    /* no event: comments, fields without data */
    HL_EVENT_NAMED,   /* it has an id of its own */
    HL_EVENT_COUNTED, /* it has the ordinal count + 1 */
};
enum hl_event_kind hl_event_ids_kind(const struct hl_event_ids *s);
/* At the end of a block: whether clients have the id that is looked for after it. */
bool hl_event_ids_is_wanted(const struct hl_event_ids *s);

/* Takes from `*bytes` what fits `out` with the lines added, and returns how much that is. `cap` is at least
 * HL_EVENT_ID_LINE_MAX + 1: then it goes forward. */
size_t hl_event_ids_put(struct hl_event_ids *s, struct hl_str *bytes, char *out, size_t cap);
/* Only counts. */
void hl_event_ids_pass(struct hl_event_ids *s, struct hl_str bytes);

/* Before the first byte and after a whole block; not in a byte order mark. */
static inline bool hl_event_ids_is_whole(const struct hl_event_ids *s)
{
    return !s->has_lines && s->name_n == 0;
}
/* The same, and something else may stand here, as hl_sse_is_between_events says it. */
bool hl_event_ids_is_between(const struct hl_event_ids *s);

#endif
