#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "api/representation.h"
#include "http/refusal.h"
#include "worker/reply.h"

static char list[8 * HL_GZIP_FROM];
static const struct hl_taste plain = {.is_read = true},
                             gzip = {.is_read = true, .accepts_gzip = true};

static void make_list(void)
{
    for (size_t i = 0; i + 1 < sizeof(list); i++)
        list[i] = "{\"state\":\"success\"},"[i % 20];
}

TestSuite(representation, .init = make_list);

static void answer(struct hl_reply *reply, const char *json)
{
    *reply = (struct hl_reply){.status = 200, .is_json = true, .content_type = "application/json"};
    cr_assert_eq(hl_buf_append_str(&reply->body, hl_str_from(json)), HL_OK);
}

static const char *fields_of(struct hl_reply *reply)
{
    cr_assert_eq(hl_buf_append(&reply->fields, "", 1), HL_OK);
    return reply->fields.p;
}

/* The value of its ETag. */
static void read_tag(struct hl_reply *reply, char tag[32])
{
    const char *at = strstr(fields_of(reply), "ETag: ");
    cr_assert_not_null(at);
    cr_assert_eq(sscanf(at, "ETag: %31[^\r]", tag), 1);
}

static void check_is(const struct hl_reply *reply, const char *text)
{
    char out[sizeof(list)];
    z_stream z = {.next_in = (Bytef *)reply->body.p,
        .avail_in = (uInt)reply->body.n,
        .next_out = (Bytef *)out,
        .avail_out = sizeof(out)};
    cr_assert_eq(inflateInit2(&z, 15 + 16), Z_OK);
    cr_assert_eq(inflate(&z, Z_FINISH), Z_STREAM_END);
    cr_assert_eq(z.total_out, strlen(text));
    cr_assert_eq(memcmp(out, text, strlen(text)), 0);
    inflateEnd(&z);
}

Test(representation, is_gzip_where_that_is_taken)
{
    struct hl_reply reply;
    answer(&reply, list);
    hl_representation_choose(&reply, &gzip);
    cr_assert_eq(reply.status, 200);
    cr_assert_lt(reply.body.n, sizeof(list) / 4);
    check_is(&reply, list);
    cr_assert(strstr(fields_of(&reply), "Content-Encoding: gzip\r\n"));
    cr_assert(strstr(reply.fields.p, "Vary: Accept-Encoding\r\n"));
    hl_reply_fini(&reply);
}

Test(representation, is_the_text_where_gzip_is_not_taken_or_saves_no_packet)
{
    struct hl_reply reply;
    answer(&reply, list);
    hl_representation_choose(&reply, &plain);
    cr_assert_eq(reply.body.n, strlen(list));
    cr_assert_null(strstr(fields_of(&reply), "Content-Encoding"));
    cr_assert(strstr(reply.fields.p, "Vary: Accept-Encoding\r\n"), "caches are to know");
    hl_reply_fini(&reply);

    answer(&reply, "{\"runs\":[]}");
    hl_representation_choose(&reply, &gzip);
    cr_assert_eq(reply.body.n, 11);
    hl_reply_fini(&reply);
}

Test(representation, of_a_short_answer_is_gzip_where_the_text_is_refused)
{
    struct hl_taste taste = gzip;
    struct hl_reply reply;
    taste.refuses_text = true;
    answer(&reply, "{\"runs\":[]}");
    hl_representation_choose(&reply, &taste);
    check_is(&reply, "{\"runs\":[]}");
    hl_reply_fini(&reply);
}

Test(representation, is_the_text_where_it_is_too_long_to_be_compressed_between_other_work)
{
    struct hl_reply reply;
    char *text = malloc(HL_GZIP_MAX + 2);
    memset(text, 'a', HL_GZIP_MAX + 1);
    text[HL_GZIP_MAX + 1] = '\0';
    answer(&reply, text);
    hl_representation_choose(&reply, &gzip);
    cr_assert_eq(reply.body.n, HL_GZIP_MAX + 1);
    hl_reply_fini(&reply);
    free(text);
}

Test(representation, is_not_sent_again_to_who_has_it)
{
    char tag[32];
    struct hl_reply reply;
    answer(&reply, list);
    hl_representation_choose(&reply, &gzip);
    read_tag(&reply, tag);
    hl_reply_fini(&reply);

    struct hl_taste taste = plain; /* a tag is the text's, however it was encoded */
    taste.if_none_match = hl_str_from(tag);
    answer(&reply, list);
    hl_representation_choose(&reply, &taste);
    cr_assert_eq(reply.status, 304);
    cr_assert_eq(reply.body.n, 0);
    cr_assert(strstr(fields_of(&reply), tag));
    hl_reply_fini(&reply);

    list[sizeof(list) / 2] ^= 1;
    answer(&reply, list);
    hl_representation_choose(&reply, &taste);
    cr_assert_eq(reply.status, 200);
    cr_assert_eq(reply.body.n, strlen(list));
    hl_reply_fini(&reply);
}

/* A new token, say. */
Test(representation, of_what_a_change_answers_is_the_text_without_a_tag)
{
    struct hl_taste taste = gzip;
    struct hl_reply reply;
    taste.is_read = false;
    taste.if_none_match = HL_STR("*");
    answer(&reply, list);
    hl_representation_choose(&reply, &taste);
    cr_assert_eq(reply.status, 200);
    cr_assert_eq(reply.body.n, strlen(list));
    cr_assert_eq(reply.fields.n, 0);
    hl_reply_fini(&reply);
}

Test(representation, of_an_apps_response_a_problem_or_another_status_is_what_it_was)
{
    struct hl_reply reply;
    answer(&reply, list);
    reply.is_json = false;
    hl_representation_choose(&reply, &gzip);
    cr_assert_eq(reply.fields.n, 0);
    cr_assert_eq(reply.body.n, strlen(list));
    reply.is_json = true;
    reply.status = 201;
    hl_representation_choose(&reply, &gzip);
    cr_assert_eq(reply.fields.n, 0);
    hl_reply_refuse(&reply, hl_refusal_make(HL_REFUSAL_REST_NOWHERE));
    hl_representation_choose(&reply, &gzip);
    cr_assert_eq(reply.fields.n, 0);
    hl_reply_fini(&reply);
}
