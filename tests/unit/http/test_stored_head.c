#include <criterion/criterion.h>

#include "base/buf.h"
#include "base/id.h"
#include "http/stored_head.h"

#define OLD  "01890a5d-ac96-774b-bcce-b302099a8057"
#define NEW  "01890a5d-ac96-774b-bcce-b302099a8058"
#define HEAD "POST /run?x=1 HTTP/1.1\r\nHost: a\r\n"

static struct hl_id id_of(const char *text)
{
    struct hl_id id;
    cr_assert(hl_id_parse(hl_str_from(text), &id));
    return id;
}

static enum hl_err edit(const char *head, bool drops, struct hl_buf *out)
{
    struct hl_id from = id_of(OLD), to = id_of(NEW);
    hl_buf_init(out, 0);
    return hl_stored_head_edit(out, hl_str_from(head),
        &(struct hl_stored_edit){.from = &from, .to = &to, .drops_credentials = drops});
}

static void check(const char *head, bool drops, const char *expected)
{
    struct hl_buf out;
    cr_assert_eq(edit(head, drops, &out), HL_OK);
    cr_assert(hl_str_eq(hl_buf_str(&out), hl_str_from(expected)), "%.*s", (int)out.n, out.p);
    hl_buf_fini(&out);
}

Test(stored_head, is_read_line_by_line)
{
    struct hl_str rest = HL_STR(HEAD "X-A:\t b c \r\nX-Empty:\r\n");
    struct hl_stored_start start;
    struct hl_stored_field field;
    cr_assert(hl_stored_head_start(&rest, &start));
    cr_assert(hl_str_eq(start.method, HL_STR("POST")));
    cr_assert(hl_str_eq(start.target, HL_STR("/run?x=1")));
    cr_assert(hl_stored_head_next(&rest, &field));
    cr_assert(hl_stored_head_next(&rest, &field));
    cr_assert(hl_str_eq(field.name, HL_STR("X-A")) && hl_str_eq(field.value, HL_STR("b c")));
    cr_assert(hl_stored_head_next(&rest, &field));
    cr_assert_eq(field.value.n, 0);
    cr_assert_not(hl_stored_head_next(&rest, &field));
    cr_assert(hl_stored_head_find(HL_STR(HEAD "X-A: 1\r\n"), HL_STR("x-a"), &field));
    cr_assert_not(hl_stored_head_find(HL_STR(HEAD), HL_STR("POST /run?x=1 HTTP/1.1"), &field));
}

Test(stored_head, of_another_run_has_its_id_and_a_trace_of_its_own)
{
    check(HEAD "X-Request-Id: " OLD "\r\nX-A: " OLD "\r\n", false,
        HEAD "X-Request-Id: " NEW "\r\nX-A: " OLD "\r\n");
    check(HEAD "traceparent: 00-01890a5dac96774bbcceb302099a8057-b7ad6b7169203331-01\r\n", false,
        HEAD "traceparent: 00-01890a5dac96774bbcceb302099a8058-b7ad6b7169203331-01\r\n");
    check(HEAD "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n", false,
        HEAD "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n");
    check(HEAD "traceparent: 00\r\n", false, HEAD "traceparent: 00\r\n");
}

Test(stored_head, may_stay_in_the_trace_that_was_the_runs_own)
{
    const char *head =
        HEAD "traceparent: 00-01890a5dac96774bbcceb302099a8057-b7ad6b7169203331-01\r\n";
    struct hl_id from, to;
    struct hl_buf out;
    cr_assert(hl_id_parse(HL_STR(OLD), &from) && hl_id_parse(HL_STR(NEW), &to));
    struct hl_stored_edit stays = {.from = &from, .to = &to, .keeps_trace = true};
    hl_buf_init(&out, 0);
    cr_assert_eq(hl_stored_head_edit(&out, hl_str_from(head), &stays), HL_OK);
    cr_assert(hl_str_eq(hl_buf_str(&out), hl_str_from(head)));
    hl_buf_fini(&out);
}

static void check_trace(const char *head, const char *expected)
{
    struct hl_str found = hl_stored_head_traceparent(hl_str_from(head));
    cr_assert(hl_str_eq(found, hl_str_from(expected)), "%.*s in %s", HL_STR_ARG(found), head);
}

Test(stored_head, has_the_traceparent_that_stands_last)
{
    check_trace(HEAD "traceparent: a\r\nVia: 1.1 x\r\n", "a");
    check_trace(HEAD "Traceparent:a\r\n", "a");
    check_trace(HEAD "X-traceparent: a\r\nVia: 1.1 x\r\n", "");
    check_trace(HEAD, "");
    check_trace("traceparent: a\r\n", ""); /* a start line */
    check_trace("", "");
}

Test(stored_head, of_another_caller_has_no_credentials)
{
    const char *head =
        HEAD "authorization: x\r\nCOOKIE: a=b\r\nX-A: 1\r\nProxy-Authorization: y\r\n";
    check(head, true, HEAD "X-A: 1\r\n");
    check(head, false, head);
}

Test(stored_head, that_is_none_is_refused)
{
    static const char *const heads[] = {
        "", "POST", "POST /x", "POST /x HTTP/1.1\r\nno colon\r\n", HEAD "X-A: 1"};
    for (size_t i = 0; i < sizeof(heads) / sizeof(*heads); i++) {
        struct hl_buf out;
        cr_assert_eq(edit(heads[i], false, &out), HL_ERR_CORRUPT, "%zu", i);
        hl_buf_fini(&out);
    }
}

Test(stored_head, values_that_may_be_secret_are_told_from_harmless_ones)
{
    static const char *const harmless[] = {
        "Accept", "accept-language", "CONTENT-TYPE", "User-Agent", "traceparent", "x-request-id"};
    static const char *const others[] = {"Authorization", "Cookie", "X-Api-Key", "X-Content-Type",
        "Contents", "Tracestate", "X-Request-Id2", "Host"};
    for (size_t i = 0; i < sizeof(harmless) / sizeof(*harmless); i++)
        cr_assert(hl_stored_field_is_harmless(
            &(struct hl_stored_field){.name = hl_str_from(harmless[i])}));
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        cr_assert_not(
            hl_stored_field_is_harmless(&(struct hl_stored_field){.name = hl_str_from(others[i])}),
            "%s", others[i]);
}
