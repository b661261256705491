/* follow_cursor.h - where a follower is in a run's stream: of which attempt its bytes are, which one is next, and
 * whether it still looks for the event that it begins after. Thread: the desk's loop; no allocation. */
#ifndef HL_BODY_FOLLOW_CURSOR_H
#define HL_BODY_FOLLOW_CURSOR_H

#include "http/sse.h"
#include "store/record.h"

struct hl_str;

/* ---- where it begins: after the first event that has the id it had last (contract 14). The stream is read from
 * its beginning, in pieces cut anywhere. Any thread ---- */

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

/* ---- where it is ---- */

struct hl_follow_cursor {
    struct hl_follow_writer *writer;
    const struct hl_follow *grant;
    /* of the byte that goes out next; or, while it seeks or looks ahead, is looked at */
    uint64_t offset;
    uint32_t attempt;          /* whose bytes they are */
    uint64_t before;           /* ordinals that earlier attempts have used */
    bool has_origin;           /* those two are known */
    bool is_seeking;           /* nothing goes out yet */
    bool seeks_any;            /* is_seeking: whether there is an event at all */
    struct hl_event_seek seek; /* is_seeking, has_origin */
    /* Whoever is to have words of ours behind the last event has whole events alone: an event that the app never
     * ends could not be taken back. */
    uint64_t whole_to;         /* up to here events are whole */
    bool is_ahead;             /* it looks for the end of the one that begins at `held_at` */
    uint64_t held_at;          /* is_ahead: of the byte that goes out next */
    struct hl_event_ids ahead; /* is_ahead: at `offset` */
};

/* The first attempt whose bytes there are. */
void hl_follow_cursor_set_origin(struct hl_follow_cursor *c, uint32_t attempt, uint64_t before);
/* It had bytes of another attempt. */
bool hl_follow_cursor_is_of_other(const struct hl_follow_cursor *c, uint32_t attempt);

/* Each false: the follower is gone, or has nothing more to do. */

/* What comes now is of a further attempt: whoever was answered ends, and who looks for its event looks through
 * that. */
bool hl_follow_cursor_begin_anew(struct hl_follow_cursor *c);
/* There is nothing of the stream yet: whoever names an event of an earlier attempt, or one by its number,
 * begins with the first. */
bool hl_follow_cursor_begin_unseen(
    struct hl_follow_cursor *c, uint32_t attempt, enum hl_run_state state);
/* Bytes from `offset` on. `is_over`: no more than there are will come. */
bool hl_follow_cursor_take(
    struct hl_follow_cursor *c, struct hl_str bytes, bool is_over, enum hl_run_state state);
/* All there is has been looked through. */
bool hl_follow_cursor_end_seek(struct hl_follow_cursor *c, bool is_over, enum hl_run_state state);

/* Likewise, and nothing there is like what it looks for. */
bool hl_follow_cursor_has_missed(const struct hl_follow_cursor *c);

#endif
