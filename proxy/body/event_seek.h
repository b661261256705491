/* event_seek.h - where a follower begins: after the first event that has the id it had last (contract 14). The
 * stream is read from its beginning, in pieces cut anywhere. Thread: any; no allocation. */
#ifndef HL_BODY_EVENT_SEEK_H
#define HL_BODY_EVENT_SEEK_H

#include "http/sse.h"

/* Between two events. */
struct hl_event_place {
    uint64_t offset;
    uint64_t count; /* the ordinal of the event before it */
};

struct hl_event_seek {
    struct hl_event_ids ids;
    uint64_t offset;
    uint64_t before; /* ordinals that earlier attempts have used */
    bool is_number, is_found, has_ordinal;
    bool has_more; /* an event stands after the one that was found */
    bool awaits_lf;
    uint64_t number;
    struct hl_event_place found, ordinal, last; /* the last one: of those that have ended */
};

enum hl_seek_verdict {
    HL_SEEK_BEGIN,   /* at `*place` */
    HL_SEEK_NOTHING, /* nothing follows, and nothing more comes */
    HL_SEEK_BAD_ID,
};

/* `wanted` is borrowed. */
void hl_event_seek_init(struct hl_event_seek *s, struct hl_str wanted, uint64_t before);
/* Reads on. True: it is found, and nothing before it matters. */
bool hl_event_seek_feed(struct hl_event_seek *s, struct hl_str bytes);
/* All there is was read. `is_over`: nothing more comes. `is_later`: there was an earlier attempt, whose ids
 * nobody knows any more. */
enum hl_seek_verdict hl_event_seek_end(
    const struct hl_event_seek *s, bool is_over, bool is_later, struct hl_event_place *place);

#endif
