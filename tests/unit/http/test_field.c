#include <criterion/criterion.h>
#include <ctype.h>

#include "http/field.h"

Test(field, knows_each_of_its_names_in_any_case)
{
    for (unsigned id = HL_FIELD_OTHER + 1; id < HL_FIELD_ID_COUNT; id++) {
        if (id == HL_FIELD_X_RUN || id == HL_FIELD_X_FORWARDED_OTHER || id == HL_FIELD_UNDERSCORE)
            continue;
        const char *text = hl_field_text(id);
        char upper[64];
        size_t n = strlen(text);
        for (size_t i = 0; i < n; i++)
            upper[i] = (char)toupper(text[i]);
        cr_assert_eq(hl_field_lookup(hl_str_from(text)), id, "%s", text);
        cr_assert_eq(hl_field_lookup((struct hl_str){upper, n}), id, "%s", text);
    }
}

Test(field, takes_no_other_name_for_one_of_them)
{
    static const char *const names[] = {"a", "te2", "hosts", "hos", "content-lengthx",
        "content-lengt", "xontent-length", "content-lengtx", "content~length", "y-forwarded-for",
        "x-forwarded", "sec-websocket-protocols", "user-agent", "x-run", "x-runs-1", "x",
        "x-request-ip"};
    for (size_t i = 0; i < HL_ARRAY_LEN(names); i++)
        cr_assert_eq(hl_field_lookup(hl_str_from(names[i])), HL_FIELD_OTHER, "%s", names[i]);
}

Test(field, each_byte_of_a_name_counts)
{
    for (unsigned id = HL_FIELD_OTHER + 1; id < HL_FIELD_ID_COUNT; id++) {
        if (id == HL_FIELD_X_RUN || id == HL_FIELD_X_FORWARDED_OTHER || id == HL_FIELD_UNDERSCORE)
            continue;
        char name[64];
        size_t n = strlen(hl_field_text(id));
        for (size_t i = 0; i < n; i++) {
            memcpy(name, hl_field_text(id), n);
            name[i] = '^';
            enum hl_field_id other =
                hl_str_starts_with((struct hl_str){name, n}, HL_STR("x-forwarded-"))
                    ? HL_FIELD_X_FORWARDED_OTHER
                    : HL_FIELD_OTHER;
            cr_assert_eq(hl_field_lookup((struct hl_str){name, n}), other, "%.*s", (int)n, name);
        }
    }
}

Test(field, run_names_are_a_family)
{
    cr_assert_eq(hl_field_lookup(HL_STR("X-Run-Attempt")), HL_FIELD_X_RUN);
    cr_assert_eq(hl_field_lookup(HL_STR("x-run-")), HL_FIELD_X_RUN);
    cr_assert_eq(hl_field_lookup(HL_STR("X-Forwarded-Prefix")), HL_FIELD_X_FORWARDED_OTHER);
    cr_assert_eq(hl_field_lookup(HL_STR("X-Forwarded-Host")), HL_FIELD_X_FORWARDED_HOST);
    cr_assert_eq(hl_field_lookup(HL_STR("X_Forwarded_Port")), HL_FIELD_UNDERSCORE);
    cr_assert_eq(
        hl_field_lookup(HL_STR("x-run-a-name-that-is-longer-than-all-others")), HL_FIELD_X_RUN);
}

Test(field, underscores_do_not_hide_a_name_of_ours)
{
    static const char *const spoofs[] = {"x_request_id", "X-Request_Id", "content_length",
        "Transfer_Encoding", "x_webhook_secret", "x_forwarded_for", "x_run_attempt",
        "x-run_attempt", "x_run_a_name_that_is_longer_than_all_others", "proxy_connection"};
    for (size_t i = 0; i < HL_ARRAY_LEN(spoofs); i++)
        cr_assert_eq(hl_field_lookup(hl_str_from(spoofs[i])), HL_FIELD_UNDERSCORE, "%s", spoofs[i]);
    cr_assert_eq(hl_field_lookup(HL_STR("my_field")), HL_FIELD_OTHER);
    cr_assert_eq(hl_field_lookup(HL_STR("_")), HL_FIELD_OTHER);
    cr_assert_eq(hl_field_lookup(HL_STR("a_name_that_is_longer_than_all_others")), HL_FIELD_OTHER);
}

Test(field, cuts_a_line_into_name_and_trimmed_value)
{
    static const struct {
        const char *line, *name, *value;
    } cases[] = {
        {"Host: example.com\r\n", "Host", "example.com"},
        {"a:b\r\n", "a", "b"},
        {"a:\r\n", "a", ""},
        {"a: \t \r\n", "a", ""},
        {"a:\t b \tc \t\r\n", "a", "b \tc"},
        {"X-Long-Name-With-Many-Letters-And-Dashes: and a value that spans blocks\tof bytes\r\n",
            "X-Long-Name-With-Many-Letters-And-Dashes", "and a value that spans blocks\tof bytes"},
        {"!#$%&'*+-.^_`|~09: \x80\xff\r\n", "!#$%&'*+-.^_`|~09", "\x80\xff"},
        {"a: b: c\r\n", "a", "b: c"},
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        struct hl_field field;
        const char *line = cases[i].line;
        cr_assert(hl_field_parse_line(line, strlen(line), &field), "%s", line);
        cr_assert(hl_str_eq(field.name, hl_str_from(cases[i].name)), "%s", line);
        cr_assert(hl_str_eq(field.value, hl_str_from(cases[i].value)), "%s", line);
        cr_assert(hl_str_eq(field.line, hl_str_from(line)), "%s", line);
    }
}

Test(field, refuses_every_other_line)
{
    const struct hl_str bad[] = {HL_STR(""), HL_STR("\r\n"), HL_STR("a\r\n"), HL_STR(": b\r\n"),
        HL_STR("a : b\r\n"), HL_STR(" a: b\r\n"), HL_STR("\ta: b\r\n"), HL_STR("a b: c\r\n"),
        HL_STR("a: b\n"), HL_STR("a: b\r"), HL_STR("a: b"), HL_STR("a: b\rc\r\n"),
        HL_STR("a: b\r\r\n"), HL_STR("a: b\nc\r\n"), HL_STR("a: b\r\n c\r\n"),
        HL_STR("a: b\r\nc: d\r\n"), HL_STR("a: \0b\r\n"), HL_STR("a\0: b\r\n"),
        HL_STR("a: b\x7f\r\n"), HL_STR("a: \x01\r\n"), HL_STR("a: \x0b\r\n"),
        HL_STR("a: \x1b[0m\r\n"), HL_STR("a(b): c\r\n"), HL_STR("a\x80: c\r\n"),
        HL_STR("a;b: c\r\n"), HL_STR("\"a\": c\r\n"),
        HL_STR("a: 0123456789abcdef0123456789\x01 cdef0123456789\r\n")};
    struct hl_field field;
    for (size_t i = 0; i < HL_ARRAY_LEN(bad); i++)
        cr_assert_not(hl_field_parse_line(bad[i].p, bad[i].n, &field), "case %zu", i);
}

Test(field, marks_what_is_hop_by_hop_by_definition)
{
    struct hl_field field;
    cr_assert(hl_field_parse_line("Keep-Alive: 5\r\n", 15, &field) && field.is_hop);
    cr_assert(hl_field_parse_line("TE: trailers\r\n", 14, &field) && field.is_hop);
    cr_assert(hl_field_parse_line("Accept: */*\r\n", 13, &field) && !field.is_hop);
}

Test(field, begins_and_ends_where_llhttp_sees_its_name)
{
    const struct hl_str text = HL_STR("ab: 1\r\nc: 2\r\n\r\n");
    const char *end = text.p + text.n;
    struct hl_field fields[2] = {{.name = {text.p, 2}}, {.name = {text.p + 7, 1}}};
    cr_assert_eq(hl_field_read_lines(fields, 2, text.p, end), end - 2);
    cr_assert(hl_str_eq(fields[0].value, HL_STR("1")));
    cr_assert_eq(fields[0].line.n, 7);
    cr_assert(hl_str_eq(fields[1].value, HL_STR("2")));
    cr_assert_eq(hl_field_read_lines(fields, 1, text.p, end), text.p + 7);
    cr_assert_eq(hl_field_read_lines(fields, 0, text.p, end), text.p);

    static const size_t lengths[] = {0, 1, 3};
    for (size_t i = 0; i < HL_ARRAY_LEN(lengths); i++) {
        fields[0].name.n = lengths[i];
        cr_assert_null(hl_field_read_lines(fields, 1, text.p, end), "%zu", lengths[i]);
    }
    fields[0].name = (struct hl_str){text.p + 1, 1};
    cr_assert_null(hl_field_read_lines(fields, 1, text.p, end));
    fields[0].name = (struct hl_str){text.p, 2};
    fields[1].name = (struct hl_str){text.p + 6, 2};
    cr_assert_null(hl_field_read_lines(fields, 2, text.p, end));
}

Test(field, token_is_not_empty_and_has_token_characters_only)
{
    cr_assert(hl_str_is_token(HL_STR("chunked")));
    cr_assert_not(hl_str_is_token(HL_STR("")));
    cr_assert_not(hl_str_is_token(HL_STR("a b")));
    cr_assert_not(hl_str_is_token(HL_STR("a\"")));
}

Test(field, trailers_may_not_frame_route_or_authenticate)
{
    static const struct {
        const char *line;
        bool is_safe;
    } cases[] = {
        {"Digest: x\r\n", true},
        {"Server-Timing: x\r\n", true},
        {"grpc-status: 0\r\n", true},
        {"Content-Length: 5\r\n", false},
        {"Transfer-Encoding: chunked\r\n", false},
        {"Host: a\r\n", false},
        {"Trailer: a\r\n", false},
        {"Content-Type: a\r\n", false},
        {"Authorization: a\r\n", false},
        {"Set-Cookie: a\r\n", false},
        {"Cookie: a\r\n", false},
        {"X-Request-Id: a\r\n", false},
        {"X-Run-Attempt: 2\r\n", false},
        {"X_Request_Id: a\r\n", false},
        {"X-Forwarded-For: a\r\n", false},
        {"If-Match: a\r\n", false},
        {"Location: a\r\n", false},
        {"Connection: close\r\n", false},
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        struct hl_field field;
        cr_assert(hl_field_parse_line(cases[i].line, strlen(cases[i].line), &field));
        cr_assert_eq(hl_field_is_trailer_safe(&field), cases[i].is_safe, "%s", cases[i].line);
    }
}
