/* test_record.c - the texts that the REST interface and the webhook say, and messages that own what
 * they were given. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "loop/mailbox.h"
#include "store/accept.h"

Test(record, texts_are_those_of_the_contract)
{
    cr_assert_str_eq(hl_run_state_text(HL_RUN_QUEUED), "queued");
    cr_assert_str_eq(hl_run_state_text(HL_RUN_RUNNING), "running");
    cr_assert_str_eq(hl_run_state_text(HL_RUN_SUCCESS), "success");
    cr_assert_str_eq(hl_run_state_text(HL_RUN_FAILURE), "failure");
    cr_assert_str_eq(hl_run_state_text(HL_RUN_CANCELLED), "cancelled");
    cr_assert_str_eq(hl_run_reason_text(HL_REASON_NONE), "");
    cr_assert_str_eq(hl_run_reason_text(HL_REASON_UPSTREAM_UNREACHABLE), "upstream_unreachable");
    cr_assert_str_eq(hl_run_reason_text(HL_REASON_INTERRUPTED), "interrupted");
    cr_assert_str_eq(hl_encoding_text(HL_ENCODING_JSON), "json");
    cr_assert_str_eq(hl_encoding_text(HL_ENCODING_NONE), "none");
    cr_assert_str_eq(hl_run_state_text((enum hl_run_state)99), "unknown");
}

Test(message, accept_copies_strings_and_takes_the_body)
{
    char app[] = "app", url[] = "https://example.org/";
    struct hl_accept tmpl = {.app = hl_str_from(app),
        .webhook_url = hl_str_from(url),
        .project = HL_STR("project"),
        .body = {.where = HL_BODY_INLINE, .size = 3, .bytes = strdup("abc")}};
    struct hl_accept *a = hl_accept_new(HL_STORE_RECORD, &tmpl);
    cr_assert_eq(a->m.msg.type, HL_STORE_RECORD);
    cr_assert_null(tmpl.body.bytes);
    cr_assert_eq(tmpl.body.where, HL_BODY_NONE);
    memset(app, 'x', sizeof(app) - 1);
    memset(url, 'x', sizeof(url) - 1);
    cr_assert(hl_str_eq(a->app, HL_STR("app")));
    cr_assert(hl_str_eq(a->webhook_url, HL_STR("https://example.org/")));
    cr_assert(hl_str_eq(a->project, HL_STR("project")));
    cr_assert_eq(a->subject.n, 0);
    cr_assert_eq(memcmp(a->body.bytes, "abc", 3), 0);
    hl_accept_free(a);
    hl_accept_free(NULL);
}

Test(record, reads_a_reason_as_it_is_written)
{
    enum hl_run_reason read;
    for (int r = HL_REASON_NONE + 1; r <= HL_REASON_EXPIRED; r++) {
        cr_assert(
            hl_run_reason_parse(hl_str_from(hl_run_reason_text((enum hl_run_reason)r)), &read));
        cr_assert_eq(read, (enum hl_run_reason)r);
    }
    cr_assert_not(hl_run_reason_parse(HL_STR(""), &read));
    cr_assert_not(hl_run_reason_parse(HL_STR("app_errors"), &read));
}
