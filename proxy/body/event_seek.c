/* event_seek.c - see event_seek.h. */
#include "body/event_seek.h"

#include "base/compiler.h"
#include "http/byte.h"

/* More digits than fit are a number all the same, beyond any that there is. */
static bool read_number(struct hl_str text, uint64_t *number)
{
    for (size_t i = 0; i < text.n; i++)
        if (!hl_byte_is(text.p[i], HL_BYTE_DIGIT))
            return false;
    if (!hl_str_to_u64(text, number))
        *number = UINT64_MAX;
    return text.n > 0;
}

void hl_event_seek_init(struct hl_event_seek *s, struct hl_str wanted, uint64_t before)
{
    *s = (struct hl_event_seek){.before = before, .last = {.count = before}};
    s->is_number = read_number(wanted, &s->number);
    hl_event_ids_init(&s->ids, before);
    s->ids.wanted = wanted;
}

static void read_over(struct hl_event_seek *s, struct hl_str *bytes, size_t n)
{
    bool at_end;
    size_t used = hl_event_ids_scan(&s->ids, (struct hl_str){bytes->p, n}, &at_end);
    s->offset += used;
    *bytes = (struct hl_str){bytes->p + used, bytes->n - used};
}

/* A block has ended at `offset`. */
static void note_block(struct hl_event_seek *s, enum hl_event_kind kind, bool is_wanted)
{
    struct hl_event_place here = {s->offset, s->ids.count};
    s->last = here;
    if (s->is_found) {
        s->has_more = s->has_more || kind != HL_EVENT_NONE;
        return;
    }
    if (is_wanted) {
        s->is_found = true;
        s->found = here;
    }
    if (kind != HL_EVENT_NONE && s->is_number && s->ids.count == s->number && !s->has_ordinal) {
        s->has_ordinal = true;
        s->ordinal = here;
    }
}

/* The second half of the CRLF that a block ended with belongs to it. */
static void take_lf(struct hl_event_seek *s, struct hl_str *bytes)
{
    struct hl_event_place *places[] = {&s->found, &s->ordinal, &s->last};
    uint64_t before = s->offset;
    s->awaits_lf = false;
    if (bytes->p[0] != '\n')
        return;
    read_over(s, bytes, 1);
    for (size_t i = 0; i < HL_ARRAY_LEN(places); i++)
        if (places[i]->offset == before)
            places[i]->offset++;
}

bool hl_event_seek_feed(struct hl_event_seek *s, struct hl_str bytes)
{
    while (bytes.n > 0) {
        bool at_end;
        if (s->awaits_lf) {
            take_lf(s, &bytes);
            continue;
        }
        size_t n = hl_event_ids_scan(&s->ids, bytes, &at_end);
        s->offset += n;
        bytes = (struct hl_str){bytes.p + n, bytes.n - n};
        if (!at_end)
            continue;
        enum hl_event_kind kind = hl_event_ids_kind(&s->ids);
        bool is_wanted = hl_event_ids_is_wanted(&s->ids);
        s->awaits_lf = bytes.p[0] == '\r';
        read_over(s, &bytes, 1);
        note_block(s, kind, is_wanted);
        if (s->awaits_lf && bytes.n > 0)
            take_lf(s, &bytes);
    }
    return s->is_found;
}

static enum hl_seek_verdict begin(struct hl_event_place *place, struct hl_event_place at)
{
    *place = at;
    return HL_SEEK_BEGIN;
}

enum hl_seek_verdict hl_event_seek_end(
    const struct hl_event_seek *s, bool is_over, bool is_later, struct hl_event_place *place)
{
    struct hl_event_place start = {0, s->before};
    if (s->is_found)
        return is_over && !s->has_more ? HL_SEEK_NOTHING : begin(place, s->found);
    if (s->is_number && s->number > s->before) {
        if (is_over && s->number >= s->ids.count)
            return HL_SEEK_NOTHING;
        return begin(place, s->has_ordinal ? s->ordinal : s->last);
    }
    if (!s->is_number && !is_later)
        return HL_SEEK_BAD_ID;
    bool has_events = s->ids.count > s->before;
    return is_over && !has_events ? HL_SEEK_NOTHING : begin(place, start);
}
