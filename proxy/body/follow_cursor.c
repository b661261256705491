/* follow_cursor.c - see follow_cursor.h.
 * Owns: the place in the stream. Thread: the desk's loop.
 * Promise: bytes go on in order, none twice, from the place on that was asked for.
 * Not here: how ids are counted (http/sse.c), how bytes are written (follow_writer.c), where they come from
 * (follow_journal.c, follow_store.c). */
#include "body/follow_cursor.h"

#include "base/compiler.h"
#include "body/follow.h"
#include "body/follow_writer.h"
#include "http/byte.h"

/* ---- the event that it begins after ---- */

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

/* ---- the place ---- */

static struct hl_str wanted(const struct hl_follow_cursor *c)
{
    return (struct hl_str){c->grant->wanted, c->grant->wanted_n};
}

void hl_follow_cursor_set_origin(struct hl_follow_cursor *c, uint32_t attempt, uint64_t before)
{
    if (c->has_origin)
        return;
    c->has_origin = true;
    c->attempt = attempt;
    c->before = before;
    hl_event_ids_init(&c->writer->ids, before);
    if (c->is_seeking)
        hl_event_seek_init(&c->seek, wanted(c), before);
}

bool hl_follow_cursor_is_of_other(const struct hl_follow_cursor *c, uint32_t attempt)
{
    return c->has_origin && c->attempt != attempt;
}

bool hl_follow_cursor_begin_anew(struct hl_follow_cursor *c)
{
    if (c->writer->is_answered) {
        hl_follow_writer_finish(c->writer, HL_RUN_RUNNING, HL_REASON_NONE);
        return false;
    }
    c->has_origin = c->is_ahead = false;
    c->offset = c->whole_to = 0;
    return true;
}

bool hl_follow_cursor_begin_unseen(
    struct hl_follow_cursor *c, uint32_t attempt, enum hl_run_state state)
{
    struct hl_event_seek seek;
    if (c->writer->is_answered)
        return true;
    hl_event_seek_init(&seek, wanted(c), 0);
    if (c->is_seeking && !seek.is_number && attempt <= 1) {
        hl_follow_writer_answer(c->writer, HL_FOLLOW_BAD_ID, state);
        return false;
    }
    c->is_seeking = false;
    return hl_follow_writer_answer(c->writer, HL_FOLLOW_OK, state);
}

static void begin_at(struct hl_follow_cursor *c, const struct hl_event_place *place)
{
    struct hl_event_ids *ids = &c->writer->ids;
    c->is_seeking = c->is_ahead = false;
    c->offset = c->whole_to = place->offset;
    hl_event_ids_init(ids, place->count);
    ids->is_first = place->offset == 0;
}

/* Of a run that has ended somebody gets from the first event on, if there is one. */
static void seek_any(struct hl_follow_cursor *c)
{
    c->is_seeking = c->seeks_any = true;
    hl_event_seek_init(&c->seek, HL_STR(""), c->before);
}

static bool begin_if_any(struct hl_follow_cursor *c, enum hl_run_state state)
{
    struct hl_event_place start = {0, c->before};
    if (c->seek.ids.count == c->before)
        return true;
    begin_at(c, &start);
    return hl_follow_writer_answer(c->writer, HL_FOLLOW_OK, state);
}

/* How much of the bytes is up to the last place between two events; `ids` is at their end then. */
static size_t whole_events(struct hl_event_ids *ids, struct hl_str bytes)
{
    size_t at = 0, whole = 0;
    bool at_end;
    while (at < bytes.n) {
        at += hl_event_ids_scan(ids, (struct hl_str){bytes.p + at, bytes.n - at}, &at_end);
        if (at_end)
            whole = at + 1; /* with the line end that is the empty line */
    }
    return hl_event_ids_is_whole(ids) ? bytes.n : whole;
}

/* The event goes on behind these bytes, or is whole now: then all of it is read once more. */
static void look_ahead(struct hl_follow_cursor *c, struct hl_str bytes)
{
    size_t n = whole_events(&c->ahead, bytes);
    c->is_ahead = n == 0;
    c->whole_to = c->offset + n;
    c->offset = c->is_ahead ? c->offset + bytes.n : c->held_at;
}

/* What of the bytes goes out now. */
static struct hl_str take_whole(struct hl_follow_cursor *c, struct hl_str bytes)
{
    if (!c->is_ahead && c->offset >= c->whole_to) {
        c->held_at = c->offset;
        c->ahead = c->writer->ids;
        look_ahead(c, bytes);
    } else if (c->is_ahead) {
        look_ahead(c, bytes);
        return (struct hl_str){bytes.p, 0};
    }
    if (c->is_ahead)
        return (struct hl_str){bytes.p, 0};
    uint64_t left = c->whole_to - c->offset;
    return (struct hl_str){bytes.p, bytes.n < left ? bytes.n : (size_t)left};
}

static bool pass(struct hl_follow_cursor *c, struct hl_str bytes, enum hl_run_state state)
{
    struct hl_follow_writer *w = c->writer;
    if (!w->is_answered && !hl_follow_writer_answer(w, HL_FOLLOW_OK, state))
        return false;
    if (c->grant->wants_progress)
        bytes = take_whole(c, bytes);
    return bytes.n == 0 || hl_follow_writer_pass(w, &c->offset, bytes);
}

bool hl_follow_cursor_take(
    struct hl_follow_cursor *c, struct hl_str bytes, bool is_over, enum hl_run_state state)
{
    if (is_over && !c->is_seeking && !c->writer->is_answered)
        seek_any(c);
    if (!c->is_seeking)
        return pass(c, bytes, state);
    c->offset += bytes.n;
    bool is_found = hl_event_seek_feed(&c->seek, bytes);
    if (c->seeks_any)
        return begin_if_any(c, state);
    if (is_found && (!is_over || c->seek.has_more)) {
        begin_at(c, &c->seek.found);
        return hl_follow_writer_answer(c->writer, HL_FOLLOW_OK, state);
    }
    return true;
}

bool hl_follow_cursor_end_seek(struct hl_follow_cursor *c, bool is_over, enum hl_run_state state)
{
    struct hl_event_place place;
    if (c->seeks_any) {
        hl_follow_writer_answer(c->writer, HL_FOLLOW_NOTHING, state);
        return false;
    }
    switch (hl_event_seek_end(&c->seek, is_over, c->attempt > 1, &place)) {
    case HL_SEEK_BEGIN:
        begin_at(c, &place);
        return hl_follow_writer_answer(c->writer, HL_FOLLOW_OK, state);
    case HL_SEEK_NOTHING:
        hl_follow_writer_answer(c->writer, HL_FOLLOW_NOTHING, state);
        return false;
    case HL_SEEK_BAD_ID:
        break;
    }
    hl_follow_writer_answer(c->writer, HL_FOLLOW_BAD_ID, state);
    return false;
}

bool hl_follow_cursor_has_missed(const struct hl_follow_cursor *c)
{
    struct hl_event_place place;
    return hl_event_seek_end(&c->seek, false, c->attempt > 1, &place) == HL_SEEK_BAD_ID;
}
