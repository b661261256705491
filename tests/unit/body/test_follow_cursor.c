/* test_follow_cursor.c - where a follower begins that names the event it had last. */
#include "base/compiler.h"
#include "body/follow_cursor.h"

#include <criterion/criterion.h>
#include <string.h>

/* What is expected: a place, or one of these. */
#define NOTHING (-1)
#define BAD_ID  (-2)

static struct hl_event_place place;

/* The offset where it begins. */
static int seek_in(struct hl_str stream, const char *wanted, uint64_t before, bool is_over,
    bool is_later, size_t step)
{
    struct hl_event_seek s;
    hl_event_seek_init(&s, hl_str_from(wanted), before);
    for (size_t at = 0; at < stream.n; at += step) {
        size_t n = stream.n - at < step ? stream.n - at : step;
        hl_event_seek_feed(&s, (struct hl_str){stream.p + at, n});
    }
    switch (hl_event_seek_end(&s, is_over, is_later, &place)) {
    case HL_SEEK_BEGIN:
        return (int)place.offset;
    case HL_SEEK_NOTHING:
        return NOTHING;
    case HL_SEEK_BAD_ID:
        break;
    }
    return BAD_ID;
}

static const struct {
    const char *stream, *wanted;
    uint64_t before;
    bool is_over, is_later;
    int at;
    uint64_t count; /* the ordinal before that place */
} cases[] = {
    /* an ordinal */
    {"data: a\n\ndata: b\n\n", "1", 0, false, false, 9, 1},
    {"data: a\n\ndata: b\n\n", "2", 0, false, false, 18, 2},
    {"data: a\n\n: c\n\ndata: b\n\ndata: d\n\n", "2", 0, false, false, 23, 2},
    /* the app's own id; it counts */
    {"id: x\ndata: a\n\ndata: b\n\n", "x", 0, false, false, 15, 1},
    {"id: x\ndata: a\n\ndata: b\n\n", "1", 0, false, false, 15, 1},
    {"data: a\n\nid: x y\ndata: b\n\n", "x y", 0, false, false, 26, 2},
    /* the first one with it: repeated rather than lost */
    {"id: x\ndata: a\n\nid: x\ndata: b\n\ndata: c\n\n", "x", 0, false, false, 15, 1},
    {"data: a\n\ndata: b\n\nid: 1\ndata: c\n\n", "1", 0, false, false, 9, 1},
    {"id: 1\ndata: a\n\ndata: b\n\n", "1", 0, false, false, 15, 1},
    /* an end of line that is two bytes */
    {"data: a\r\n\r\ndata: b\r\n\r\n", "1", 0, false, false, 11, 1},
    {"id: x\r\ndata: a\r\n\r\n", "x", 0, false, false, 18, 1},
    {"data: a\r\rdata: b\r\r", "1", 0, false, false, 9, 1},
    /* beyond what there is of a stream that goes on: from its edge */
    {"data: a\n\ndata: b\n\n", "9", 0, false, false, 18, 2},
    {"data: a\n\ndata: b", "9", 0, false, false, 9, 1},
    {"", "9", 0, false, false, 0, 0},
    {"data: a\n\n", "99999999999999999999999999", 0, false, false, 9, 1},
    /* nothing follows, and nothing more comes */
    {"data: a\n\ndata: b\n\n", "2", 0, true, false, NOTHING, 0},
    {"data: a\n\ndata: b\n\n", "9", 0, true, false, NOTHING, 0},
    {"data: a\n\nid: x\ndata: b\n\n", "x", 0, true, false, NOTHING, 0},
    {"data: a\n\nid: x\ndata: b\n\n: c\n\n", "x", 0, true, false, NOTHING, 0},
    {"data: a\n\nid: x\ndata: b\n\ndata: unfin", "x", 0, true, false, NOTHING, 0},
    {"", "1", 0, true, false, NOTHING, 0},
    /* something does */
    {"data: a\n\ndata: b\n\n", "1", 0, true, false, 9, 1},
    {"id: x\ndata: a\n\ndata: b\n\n", "x", 0, true, false, 15, 1},
    /* no id of the stream's */
    {"data: a\n\n", "x", 0, false, false, BAD_ID, 0},
    {"data: a\n\n", "x", 0, true, false, BAD_ID, 0},
    {"data: a\n\n", "-1", 0, false, false, BAD_ID, 0},
    {"data: a\n\n", "1x", 0, false, false, BAD_ID, 0},
    {"id: unfin", "unfin", 0, false, false, BAD_ID, 0},
    /* the start has an ordinal */
    {"data: a\n\n", "0", 0, false, false, 0, 0},
    {"data: a\n\n", "0", 0, true, false, 0, 0},
    /* a later attempt: what is not in it was in an earlier one */
    {"data: a\n\ndata: b\n\n", "7", 7, false, true, 0, 7},
    {"data: a\n\ndata: b\n\n", "3", 7, false, true, 0, 7},
    {"data: a\n\ndata: b\n\n", "8", 7, false, true, 9, 8},
    {"data: a\n\ndata: b\n\n", "x", 7, false, true, 0, 7},
    {"data: a\n\ndata: b\n\n", "x", 7, true, true, 0, 7},
    {"data: a\n\n", "8", 7, true, true, NOTHING, 0},
};

Test(event_seek, begins_after_the_event_that_is_named)
{
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        int at = seek_in(hl_str_from(cases[i].stream), cases[i].wanted, cases[i].before,
            cases[i].is_over, cases[i].is_later, SIZE_MAX / 2);
        cr_assert_eq(at, cases[i].at, "case %zu: %d", i, at);
        if (at >= 0)
            cr_assert_eq(place.count, cases[i].count, "case %zu", i);
    }
}

Test(event_seek, does_not_depend_on_where_the_stream_is_cut)
{
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++)
        for (size_t step = 1; step < 20; step++) {
            int at = seek_in(hl_str_from(cases[i].stream), cases[i].wanted, cases[i].before,
                cases[i].is_over, cases[i].is_later, step);
            cr_assert_eq(at, cases[i].at, "case %zu in pieces of %zu: %d", i, step, at);
        }
}

Test(event_seek, says_that_it_is_found_as_soon_as_it_is)
{
    struct hl_event_seek s;
    hl_event_seek_init(&s, HL_STR("x"), 0);
    cr_assert_not(hl_event_seek_feed(&s, HL_STR("id: x\ndata: a\n")));
    cr_assert(hl_event_seek_feed(&s, HL_STR("\n")));
    cr_assert_not(s.has_more);
    cr_assert(hl_event_seek_feed(&s, HL_STR("data: b\n\n")));
    cr_assert(s.has_more);
}
