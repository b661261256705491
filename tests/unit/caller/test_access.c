/* test_access.c - a line of the access log: who called, what for, and how it ended. */
#include "caller/access.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "captured_log.h"
#include "http/message.h"

static struct hl_head head;
static struct hl_cidr_list trusted;
static struct hl_cidr ranges[1];

static void begin(void)
{
    captured_log_begin();
    cr_assert(hl_cidr_parse(HL_STR("10.0.0.0/8"), &ranges[0]));
    trusted = (struct hl_cidr_list){.items = ranges, .n = 1};
}

TestSuite(access_line, .init = begin, .fini = captured_log_end);

static void read_head(const char *text)
{
    static const struct hl_message_rules rules = {.max_head = 65536,
        .max_trailer = 64,
        .no_head = &hl_refusals[HL_REFUSAL_NO_HEAD],
        .head_too_large = &hl_refusals[HL_REFUSAL_HEAD_TOO_LARGE]};
    struct hl_message_reader reader;
    struct hl_refusal fault;
    struct hl_str bytes = hl_str_from(text);
    hl_message_reader_init(&reader, &rules);
    cr_assert_eq(hl_message_read_request(&reader, &bytes, &head, &fault), HL_MESSAGE_HEAD);
    hl_message_reader_fini(&reader);
}

static void write_line(const char *peer, const char *text, struct hl_access_outcome outcome)
{
    if (text)
        read_head(text);
    struct hl_access_line *line = hl_access_line_new(peer, text ? &head : NULL, &trusted);
    line->bytes = 100;
    hl_access_line_write(line, &outcome);
    free(line);
}

static const struct hl_access_outcome whole = {.status = 200, .mode = "sync", .us = 1999};

Test(access_line, says_what_was_asked_for_and_what_came_of_it)
{
    write_line("127.0.0.1", "GET /v4/p/a/run HTTP/1.1\r\nHost: h\r\n\r\n", whole);
    cr_assert_eq(captured_log_count("\"msg\":\"call\",\"client\":\"127.0.0.1\",\"method\":\"GET\","
                                    "\"status\":200,\"bytes\":100,\"ms\":1,\"mode\":\"sync\"",
                     "\"path\":\"/v4/p/a/run\"}"),
        1);
    cr_assert_eq(captured_log_count("subject", ""), 0, "nobody was asked");
    cr_assert_eq(captured_log_count("run_id", ""), 0);
    cr_assert_eq(captured_log_count("\"end\"", ""), 0);
}

Test(access_line, has_no_query)
{
    write_line("127.0.0.1", "GET /x?token=secret HTTP/1.1\r\nHost: h\r\n\r\n", whole);
    cr_assert_eq(captured_log_count("\"path\":\"/x\"", ""), 1);
    cr_assert_eq(captured_log_count("secret", ""), 0);
}

Test(access_line, is_written_for_a_head_that_cannot_be_read)
{
    write_line("127.0.0.1", NULL, (struct hl_access_outcome){.status = 400, .mode = "other"});
    cr_assert_eq(captured_log_count("\"method\":\"\",\"status\":400", "\"path\":\"\""), 1);
}

Test(access_line, says_why_a_call_was_refused)
{
    read_head("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    struct hl_access_line *line = hl_access_line_new("127.0.0.1", &head, &trusted);
    line->cause = hl_refusal_make(HL_REFUSAL_TOKEN_EXPIRED)->cause;
    hl_access_line_write(line, &(struct hl_access_outcome){.status = 401, .mode = "other"});
    free(line);
    cr_assert_eq(captured_log_count("\"status\":401,\"reason\":\"token_expired\",", ""), 1);
    write_line("127.0.0.1", "GET / HTTP/1.1\r\nHost: h\r\n\r\n", whole);
    cr_assert_eq(captured_log_count("\"reason\"", ""), 1, "nothing was refused");
}

Test(access_line, counts_no_byte_that_the_caller_never_took)
{
    write_line("127.0.0.1", "GET / HTTP/1.1\r\nHost: h\r\n\r\n",
        (struct hl_access_outcome){
            .status = 200, .mode = "sync", .end = "caller_left", .unsent = 30});
    cr_assert_eq(captured_log_count("\"bytes\":70", "\"end\":\"caller_left\""), 1);
    write_line("127.0.0.1", "GET / HTTP/1.1\r\nHost: h\r\n\r\n",
        (struct hl_access_outcome){.status = 200, .mode = "sync", .end = "cut", .unsent = 300});
    cr_assert_eq(captured_log_count("\"bytes\":0", "\"end\":\"cut\""), 1, "a head was unsent too");
}

static const struct {
    const char *peer, *forwarded, *client;
} hops[] = {
    {"192.0.2.1", "198.51.100.7", "192.0.2.1"},   /* a peer that nobody trusts */
    {"10.0.0.1", "198.51.100.7", "198.51.100.7"}, /* a proxy of ours */
    {"10.0.0.1", "203.0.113.9, 198.51.100.7, 10.0.0.2", "198.51.100.7"}, /* a chain of them */
    {"10.0.0.1", "198.51.100.7, nonsense", "10.0.0.1"},
    {"10.0.0.1", "10.0.0.3", "10.0.0.3"},
};

Test(access_line, names_the_nearest_hop_that_is_not_trusted)
{
    for (size_t i = 0; i < HL_ARRAY_LEN(hops); i++) {
        char text[256];
        snprintf(text, sizeof(text), "GET / HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: %s\r\n\r\n",
            hops[i].forwarded);
        read_head(text);
        struct hl_access_line *line = hl_access_line_new(hops[i].peer, &head, &trusted);
        cr_assert_str_eq(line->client, hops[i].client, "%s", hops[i].forwarded);
        free(line);
    }
}

Test(access_line, cuts_what_is_as_long_as_its_caller_likes)
{
    static char text[HL_ACCESS_PATH + 1024];
    char method[HL_ACCESS_METHOD + 20];
    memset(method, 'M', sizeof(method) - 1);
    method[sizeof(method) - 1] = '\0';
    size_t n = (size_t)snprintf(text, sizeof(text), "%s /", method);
    memset(text + n, 'p', HL_ACCESS_PATH + 100);
    strcat(text, " HTTP/1.1\r\nHost: h\r\n\r\n");
    read_head(text);
    struct hl_access_line *line = hl_access_line_new("127.0.0.1", &head, &trusted);
    cr_assert_eq(line->path_n, HL_ACCESS_PATH);
    cr_assert_eq(strlen(line->method), HL_ACCESS_METHOD);
    free(line);
}
