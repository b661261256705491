#include <criterion/criterion.h>
#include <string.h>

#include "base/compiler.h"
#include "base/str.h"
#include "http/sse.h"

/* `marks` has one character for each byte of `text` and one before: '|' where a boundary is after
 * that many bytes. */
static const struct {
    const char *text, *marks;
} boundaries[] = {
    {"", "|"},
    {"data: a\n\n", "|        |"},
    {"data: a\r\n\r\n", "|          |"},
    {"a\r\rb", "|  | "},
    {"a\r\r\nb\n\n", "|  ||  |"},
    {"\n\nx\n", "|||  "},
    {"a\nb\n\nc\n\n\n", "|    |  ||"},
    {"\r\n\r\n", "| | |"},
    {"a\r\nb\r\n", "|      "},
    {"a\n\r\nb", "|   | "},
    {"a\n\rb\r\n\n", "|      |"},
    {"data: a\rid: x\r\rdata: b\r\r", "|              |        |"},
    {"a\r\n\nb", "|   | "},
    {"\r\r\r\na", "| ||| "},
};

Test(sse, is_between_events_after_an_empty_line)
{
    for (size_t i = 0; i < HL_ARRAY_LEN(boundaries); i++) {
        struct hl_sse s;
        hl_sse_init(&s);
        cr_assert_eq(strlen(boundaries[i].marks), strlen(boundaries[i].text) + 1, "%zu", i);
        for (size_t n = 0; n <= strlen(boundaries[i].text); n++) {
            if (n > 0)
                hl_sse_scan(&s, boundaries[i].text + n - 1, 1);
            cr_assert_eq(hl_sse_is_between_events(&s), boundaries[i].marks[n] == '|',
                "case %zu after %zu bytes", i, n);
        }
    }
}

Test(sse, does_not_depend_on_where_the_stream_is_cut)
{
    const char *text = "data: a long line that fills more than one block of bytes\n"
                       "data: another one of them, with more than sixteen bytes\r\n\r\n"
                       ": comment\n\n";
    size_t n = strlen(text);
    for (size_t first = 0; first <= n; first++) {
        struct hl_sse s;
        hl_sse_init(&s);
        hl_sse_scan(&s, text, first);
        hl_sse_scan(&s, text + first, n - first);
        cr_assert(hl_sse_is_between_events(&s), "%zu", first);
        hl_sse_init(&s);
        hl_sse_scan(&s, text, first);
        hl_sse_scan(&s, text + first, n - 1 - (first < n ? first : n - 1));
        if (first < n)
            cr_assert_not(hl_sse_is_between_events(&s), "%zu", first);
    }
}

Test(sse, has_a_byte_order_mark_at_the_very_beginning_alone)
{
    struct hl_sse s;
    hl_sse_init(&s);
    cr_assert(hl_sse_is_before_first_byte(&s));
    hl_sse_scan(&s, "", 0);
    cr_assert(hl_sse_is_before_first_byte(&s));
    hl_sse_scan(&s, "\n", 1);
    cr_assert_not(hl_sse_is_before_first_byte(&s));
    cr_assert(hl_sse_is_between_events(&s));
    cr_assert_eq(hl_sse_mark_n(HL_STR("\xef\xbb\xbf:")), 3);
    cr_assert_eq(hl_sse_mark_n(HL_STR("\xef\xbb")), 0);
    cr_assert_eq(hl_sse_mark_n(HL_STR("")), 0);
}

#define ROOM 1024

/* The stream with its ids, read in pieces of `step` bytes into a room of `cap`. */
static struct hl_str put(char out[ROOM], struct hl_str in, uint64_t before, size_t step, size_t cap)
{
    struct hl_event_ids ids;
    size_t n = 0;
    hl_event_ids_init(&ids, before);
    while (in.n > 0) {
        struct hl_str piece = {in.p, in.n < step ? in.n : step};
        in = (struct hl_str){in.p + piece.n, in.n - piece.n};
        while (piece.n > 0)
            n += hl_event_ids_put(&ids, &piece, out + n, cap < ROOM - n ? cap : ROOM - n);
    }
    return (struct hl_str){out, n};
}

#define CASE(in, out)                                                                              \
    {                                                                                              \
        {in, sizeof(in) - 1},                                                                      \
        {                                                                                          \
            out, sizeof(out) - 1                                                                   \
        }                                                                                          \
    }

static const struct {
    struct hl_str in, out;
} streams[] = {
    CASE("", ""),
    CASE("data: a\n\n", "data: a\nid: 1\n\n"),
    CASE("data: a\r\n\r\n", "data: a\r\nid: 1\r\n\r\n"),
    CASE("data: a\r\r", "data: a\rid: 1\r\r"),
    CASE("data\n\ndata:\n\n", "data\nid: 1\n\ndata:\nid: 2\n\n"),
    CASE("data: a\n\r\ndata: b\r\n\n", "data: a\nid: 1\n\r\ndata: b\r\nid: 2\r\n\n"),
    CASE("data: a\r\n\rdata: b\n\n", "data: a\r\nid: 1\r\n\rdata: b\nid: 2\n\n"),
    /* what is no event has none */
    CASE(": c\n\n\n\nevent: x\n\nretry: 1\n\ndata: a\n\n",
        ": c\n\n\n\nevent: x\n\nretry: 1\n\ndata: a\nid: 1\n\n"),
    CASE("dat: a\n\ndatax: a\n\nDATA: a\n\n data: a\n\n",
        "dat: a\n\ndatax: a\n\nDATA: a\n\n data: a\n\n"),
    /* several lines, in any order, comments between them */
    CASE("data: a\n: c\ndata: b\nevent: e\n\n", "data: a\n: c\ndata: b\nevent: e\nid: 1\n\n"),
    /* its own id, which counts as well */
    CASE("id: x\ndata: a\n\ndata: b\n\n", "id: x\ndata: a\n\ndata: b\nid: 2\n\n"),
    CASE("data: a\nid:7\n\ndata: b\n\n", "data: a\nid:7\n\ndata: b\nid: 2\n\n"),
    CASE("id: x\n\ndata: a\n\n", "id: x\n\ndata: a\nid: 1\n\n"),
    CASE("id: x\nid: y\ndata: a\n\n", "id: x\nid: y\ndata: a\n\n"),
    /* none: empty, or with NUL, which clients ignore */
    CASE("id\ndata: a\n\nid:\ndata: b\n\nid: \ndata: c\n\n",
        "id\ndata: a\nid: 1\n\nid:\ndata: b\nid: 2\n\nid: \ndata: c\nid: 3\n\n"),
    CASE("id: a\0b\ndata: a\n\nid: x\nid: \0\ndata: b\n\nid: x\nid:\ndata: c\n\n",
        "id: a\0b\ndata: a\nid: 1\n\nid: x\nid: \0\ndata: b\n\nid: x\nid:\ndata: c\nid: 3\n\n"),
    CASE("ID: x\ndata: a\n\nid : x\ndata: b\n\nidx: x\ndata: c\n\n",
        "ID: x\ndata: a\nid: 1\n\nid : x\ndata: b\nid: 2\n\nidx: x\ndata: c\nid: 3\n\n"),
    /* a byte order mark, once, and parts of one */
    CASE("\xef\xbb\xbf"
         "data: a\n\n",
        "\xef\xbb\xbf"
        "data: a\nid: 1\n\n"),
    CASE("\xef\xbb"
         "data: a\n\n\xef\xbb\xbf"
         "data: a\n\n",
        "\xef\xbb"
        "data: a\n\n\xef\xbb\xbf"
        "data: a\n\n"),
    CASE("\xef\xbb\xbf\xef\xbb\xbf"
         "data: a\n\n",
        "\xef\xbb\xbf\xef\xbb\xbf"
        "data: a\n\n"),
    CASE("\xef\n\ndata: a\n\n", "\xef\n\ndata: a\nid: 1\n\n"),
    CASE("\xef\xbb\xbf\n\ndata: a\n\n", "\xef\xbb\xbf\n\ndata: a\nid: 1\n\n"),
    /* an unfinished last one has none */
    CASE("data: a\n\ndata: b\n", "data: a\nid: 1\n\ndata: b\n"),
    CASE("data: a", "data: a"),
    CASE("\r\n\r\ndata: a\r\n\r\n", "\r\n\r\ndata: a\r\nid: 1\r\n\r\n"),
    CASE("data: a line that is longer than a block of sixteen bytes\n\n",
        "data: a line that is longer than a block of sixteen bytes\nid: 1\n\n"),
};

static void expect(size_t i, struct hl_str got)
{
    cr_assert(hl_str_eq(got, streams[i].out), "case %zu: %.*s", i, HL_STR_ARG(got));
}

Test(event_id, stands_before_the_empty_line_that_ends_an_event)
{
    char out[ROOM];
    for (size_t i = 0; i < HL_ARRAY_LEN(streams); i++)
        expect(i, put(out, streams[i].in, 0, SIZE_MAX, ROOM));
}

Test(event_id, does_not_depend_on_where_the_stream_is_cut)
{
    char out[ROOM];
    for (size_t i = 0; i < HL_ARRAY_LEN(streams); i++)
        for (size_t step = 1; step < 20; step++)
            expect(i, put(out, streams[i].in, 0, step, ROOM));
}

Test(event_id, goes_forward_in_the_smallest_room)
{
    char out[ROOM];
    for (size_t i = 0; i < HL_ARRAY_LEN(streams); i++)
        for (size_t cap = HL_EVENT_ID_LINE_MAX + 1; cap < 2 * HL_EVENT_ID_LINE_MAX; cap++)
            expect(i, put(out, streams[i].in, 0, SIZE_MAX, cap));
}

Test(event_id, goes_on_from_the_count_of_earlier_attempts)
{
    char out[ROOM];
    struct hl_str got = put(out, HL_STR("data: a\n\ndata: b\n\n"), 41, SIZE_MAX, ROOM);
    cr_assert(hl_str_eq(got, HL_STR("data: a\nid: 42\n\ndata: b\nid: 43\n\n")));
    got = put(out, HL_STR("data: a\r\n\r\n"), UINT64_MAX - 1, SIZE_MAX, ROOM);
    cr_assert(hl_str_eq(got, HL_STR("data: a\r\nid: 18446744073709551615\r\n\r\n")));
}

Test(event_id, passing_counts_as_putting_does)
{
    for (size_t i = 0; i < HL_ARRAY_LEN(streams); i++) {
        struct hl_event_ids put_ids, ids;
        char out[ROOM];
        struct hl_str rest = streams[i].in;
        hl_event_ids_init(&put_ids, 0);
        hl_event_ids_init(&ids, 0);
        hl_event_ids_put(&put_ids, &rest, out, ROOM);
        hl_event_ids_pass(&ids, streams[i].in);
        cr_assert_eq(ids.count, put_ids.count, "%zu", i);
        cr_assert_eq(hl_event_ids_is_between(&ids), hl_event_ids_is_between(&put_ids), "%zu", i);
    }
}

/* How many bytes of the stream stand before the first block whose id is `wanted`; -1: there is none. */
static int find(const char *stream, const char *wanted)
{
    struct hl_event_ids ids;
    struct hl_str rest = hl_str_from(stream);
    bool at_end;
    hl_event_ids_init(&ids, 0);
    ids.wanted = hl_str_from(wanted);
    while (rest.n > 0) {
        size_t n = hl_event_ids_scan(&ids, rest, &at_end);
        rest = (struct hl_str){rest.p + n, rest.n - n};
        if (at_end && hl_event_ids_is_wanted(&ids))
            return (int)(rest.p - stream);
    }
    return -1;
}

Test(event_id, is_found_where_clients_had_it)
{
    const char *stream = "data: a\n\n"                 /* 1, to byte 8 */
                         "id: x\ndata: b\n\n"          /* x, 23 */
                         "id: only\n\n"                /* 33 */
                         "data: c\nid: 4\n\n"          /* 48 */
                         "data: d\n\n"                 /* 4 again, 57 */
                         "id: x\nid: yy\ndata: e\n\n"; /* 79 */
    cr_assert_eq(find(stream, "1"), 8);
    cr_assert_eq(find(stream, "x"), 23);
    cr_assert_eq(find(stream, "only"), 33);
    cr_assert_eq(find(stream, "4"), 48);
    cr_assert_eq(find(stream, "yy"), 79);
    cr_assert_eq(find(stream, "2"), -1);
    cr_assert_eq(find(stream, "y"), -1);
    cr_assert_eq(find(stream, "yyy"), -1);
    cr_assert_eq(find(stream, "onl"), -1);
    cr_assert_eq(find(stream, ""), -1);
}

Test(event_id, is_found_by_what_comes_back_of_it)
{
    const char *stream = "id:  a \ndata: 1\n\n"      /* to byte 16 */
                         "id: \tb c\t \ndata: 2\n\n" /* 36 */
                         "id:  \ndata: 3\n\n"        /* 51 */
                         "id: aa\ndata: 4\n\n";      /* 67 */
    cr_assert_eq(find(stream, "a"), 16);
    cr_assert_eq(find(stream, "b c"), 36);
    cr_assert_eq(find(stream, "aa"), 67);
    for (size_t i = 0; i < 4; i++)
        cr_assert_eq(find(stream, ((const char *[]){"b", "bc", "b  c", "3"})[i]), -1, "%zu", i);
    cr_assert(hl_str_eq(hl_event_id_wanted(HL_STR("\t b c \t")), HL_STR("b c")));
    cr_assert_eq(hl_event_id_wanted(HL_STR(" \t ")).n, 0);
}

Test(event_id, something_else_stands_only_between_blocks)
{
    static const struct {
        const char *text, *marks;
    } places[] = {
        {"data: a\n\n", "|        |"},
        {"data: a\r\n\r\n", "|          |"},
        {"\r\r\r\na", "| ||| "},
        {"a\r\rb", "|  | "},
        {"\n\nx\n", "|||  "},
        {"\xef\xbb\xbf\n", "|   |"},
        {"a\nb\n\nc\n\n\n", "|    |  ||"},
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(places); i++) {
        struct hl_event_ids ids;
        hl_event_ids_init(&ids, 0);
        for (size_t n = 0; n <= strlen(places[i].text); n++) {
            if (n > 0)
                hl_event_ids_pass(&ids, (struct hl_str){places[i].text + n - 1, 1});
            cr_assert_eq(hl_event_ids_is_between(&ids), places[i].marks[n] == '|',
                "case %zu after %zu bytes", i, n);
        }
    }
}

/* The caller's connection asks the one, followers the other. */
Test(event_id, says_as_the_scanner_of_streams_where_something_else_stands)
{
    static const char letters[] = "\r\na";
    for (unsigned n = 1; n <= 7; n++) {
        unsigned all = 1;
        for (unsigned i = 0; i < n; i++)
            all *= 3;
        for (unsigned k = 0; k < all; k++) {
            struct hl_event_ids ids;
            struct hl_sse sse;
            hl_event_ids_init(&ids, 0);
            hl_sse_init(&sse);
            for (unsigned i = 0, rest = k; i < n; i++, rest /= 3) {
                hl_event_ids_pass(&ids, (struct hl_str){letters + rest % 3, 1});
                hl_sse_scan(&sse, letters + rest % 3, 1);
            }
            cr_assert_eq(hl_event_ids_is_between(&ids), hl_sse_is_between_events(&sse),
                "%u letters, case %u", n, k);
        }
    }
}
