#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "http/problem.h"

static const struct hl_refusal *row(int cause)
{
    return hl_refusal_make((enum hl_refusal_cause)cause);
}

Test(refusal, without_a_cause_is_none)
{
    cr_assert_eq(hl_refusal_make(HL_REFUSAL_NONE)->status, 0);
    cr_assert_null(hl_refusal_make(HL_REFUSAL_NONE)->detail);
}

Test(refusal, of_each_cause_has_a_status_with_a_phrase_and_says_something)
{
    for (int cause = HL_REFUSAL_NONE + 1; cause < HL_REFUSAL_COUNT; cause++) {
        cr_assert(row(cause)->status >= 400 && row(cause)->status <= 599, "%d", cause);
        cr_assert(*hl_status_phrase(row(cause)->status), "%u", row(cause)->status);
        cr_assert(row(cause)->detail && *row(cause)->detail, "%d", cause);
    }
}

Test(refusal, of_each_cause_has_a_reason_of_its_own_for_the_log)
{
    char reason[HL_REFUSAL_REASON], other[HL_REFUSAL_REASON];
    for (int cause = HL_REFUSAL_NONE + 1; cause < HL_REFUSAL_COUNT; cause++) {
        cr_assert(row(cause)->cause && strlen(row(cause)->cause) < HL_REFUSAL_REASON, "%d", cause);
        hl_refusal_reason(row(cause)->cause, reason);
        cr_assert_eq(strspn(reason, "abcdefghijklmnopqrstuvwxyz_0123456789"), strlen(reason));
        for (int i = HL_REFUSAL_NONE + 1; i < cause; i++) {
            hl_refusal_reason(row(i)->cause, other);
            cr_assert_str_neq(reason, other);
        }
    }
    hl_refusal_reason(row(HL_REFUSAL_TOKEN_EXPIRED)->cause, reason);
    cr_assert_str_eq(reason, "token_expired");
    hl_refusal_reason(row(HL_REFUSAL_NONE)->cause, reason);
    cr_assert_str_eq(reason, "");
}

/* RFC 9110 15.5.2, 15.5.6. */
Test(refusal, of_401_says_how_to_show_a_token_and_of_405_what_is_allowed)
{
    for (int cause = HL_REFUSAL_NONE + 1; cause < HL_REFUSAL_COUNT; cause++) {
        const char *fields = row(cause)->fields;
        if (row(cause)->status == 401)
            cr_assert(fields && strstr(fields, "WWW-Authenticate: Bearer "), "%d", cause);
        if (row(cause)->status == 405 && cause != HL_REFUSAL_REST_METHOD) /* which says its own */
            cr_assert(fields && strstr(fields, "Allow: "), "%d", cause);
        if (fields)
            cr_assert_str_eq(fields + strlen(fields) - 2, "\r\n");
    }
}

Test(refusal, asks_to_wait_only_where_a_queue_or_a_limit_is_in_the_way)
{
    static const unsigned known[] = {
        HL_RETRY_NONE, HL_RETRY_PLACE, HL_RETRY_CALLS, HL_RETRY_BACKLOG, HL_RETRY_SPACE};
    for (int cause = HL_REFUSAL_NONE + 1; cause < HL_REFUSAL_COUNT; cause++) {
        bool is_known = false;
        for (size_t i = 0; i < HL_ARRAY_LEN(known); i++)
            is_known = is_known || row(cause)->retry_s == known[i];
        cr_assert(is_known, "%d", cause);
        if (row(cause)->retry_s != HL_RETRY_NONE)
            cr_assert(row(cause)->status == 429 || row(cause)->status == 503, "%d", cause);
        if (row(cause)->status == 429)
            cr_assert_neq(row(cause)->retry_s, HL_RETRY_NONE, "%d", cause);
    }
}

Test(refusal, fits_an_answer)
{
    char out[4096];
    for (int cause = HL_REFUSAL_NONE + 1; cause < HL_REFUSAL_COUNT; cause++)
        cr_assert(hl_answer_write(out, sizeof(out), &(struct hl_answer){.refusal = row(cause)}) > 0,
            "%d", cause);
}

Test(refusal, is_set_by_its_cause)
{
    struct hl_refusal why;
    cr_assert_not(hl_refuse(&why, HL_REFUSAL_STORE_FULL));
    cr_assert_eq(why.status, 503);
    cr_assert_eq(why.retry_s, 30);
    cr_assert_str_eq(why.detail, row(HL_REFUSAL_STORE_FULL)->detail);
}

Test(refusal, says_texts_in_the_places_for_them)
{
    char room[128];
    struct hl_refusal why =
        hl_refusal_say(room, sizeof(room), HL_REFUSAL_QUERY_VALUE, "limit", "a number", NULL);
    cr_assert_eq(why.status, 400);
    cr_assert_str_eq(why.detail, "The query parameter limit must be a number.");
}

Test(refusal, leaves_a_percent_sign_in_a_text_alone)
{
    char room[128];
    struct hl_refusal why =
        hl_refusal_say(room, sizeof(room), HL_REFUSAL_QUERY_VALUE, "%s", "%n%s", NULL);
    cr_assert_str_eq(why.detail, "The query parameter %s must be %n%s.");
}

Test(refusal, with_fewer_or_more_texts_than_places_reads_no_further)
{
    char room[128];
    cr_assert_str_eq(
        hl_refusal_say(room, sizeof(room), HL_REFUSAL_QUERY_VALUE, "limit", NULL).detail,
        "The query parameter limit must be %s.");
    cr_assert_str_eq(
        hl_refusal_say(room, sizeof(room), HL_REFUSAL_QUERY_TWICE, "limit", "more", NULL).detail,
        "The query parameter limit is given more than once.");
}

Test(refusal, is_cut_to_the_room_that_there_is)
{
    const char *whole = "The run is queued; ask again when it is finished.";
    for (size_t cap = 1; cap <= strlen(whole) + 2; cap++) {
        char *room = malloc(cap);
        struct hl_refusal why =
            hl_refusal_say(room, cap, HL_REFUSAL_RUN_UNFINISHED_IN, "queued", NULL);
        size_t n = strlen(why.detail);
        cr_assert_eq(n, cap <= strlen(whole) ? cap - 1 : strlen(whole));
        cr_assert(strncmp(why.detail, whole, n) == 0);
        free(room);
    }
}
