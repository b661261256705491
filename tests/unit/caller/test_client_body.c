/* test_client_body.c - a request's body, taken off a connection's bytes: no socket, no loop. */
#include "base/compiler.h"
#include "base/str.h"
#include "caller/client.h"
#include "caller/client_body.h"
#include "caller/taker.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define LENGTH(n) "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: " n "\r\n\r\n"
#define CHUNKED   "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"

static const struct hl_message_rules rules = {.max_head = 4096,
    .max_trailer = 64,
    .no_head = &hl_refusals[HL_REFUSAL_NO_HEAD],
    .head_too_large = &hl_refusals[HL_REFUSAL_HEAD_TOO_LARGE]};
static struct hl_client client;
static struct {
    char body[4096], trailer[64];
    size_t n, room; /* blocked once n has reached it */
    unsigned ended;
    bool ends_call; /* at the first byte */
} taken;

static bool is_blocked(void *owner)
{
    (void)owner;
    return taken.n >= taken.room;
}

static void on_body(void *owner, struct hl_str data)
{
    (void)owner;
    if (taken.n + data.n < sizeof(taken.body))
        memcpy(taken.body + taken.n, data.p, data.n);
    taken.n += data.n;
    if (taken.ends_call)
        client.state = HL_CLIENT_LINGER;
}

static void on_end(void *owner, struct hl_str trailer)
{
    (void)owner;
    snprintf(taken.trailer, sizeof(taken.trailer), "%.*s", HL_STR_ARG(trailer));
    taken.ended++;
}

static struct hl_taker table = {.is_blocked = is_blocked, .body = on_body, .body_end = on_end};

static void begin(void)
{
    client.body_max = UINT64_MAX;
    taken.room = SIZE_MAX;
    hl_message_reader_init(&client.messages, &rules);
    client.taker = &table;
    client.state = HL_CLIENT_CALL;
    client.stream.read_size = HL_READ_SIZE;
}

static void end(void)
{
    hl_message_reader_fini(&client.messages);
}

TestSuite(client_body, .init = begin, .fini = end);

static void read_head(const char *text)
{
    static struct hl_head head;
    struct hl_refusal fault;
    struct hl_str bytes = hl_str_from(text);
    cr_assert_eq(hl_message_read_request(&client.messages, &bytes, &head, &fault), HL_MESSAGE_HEAD);
}

/* Bytes used; none of them is a fault. */
static size_t take(const char *text)
{
    struct hl_refusal fault = {0};
    size_t used = hl_client_body_take(&client, text, strlen(text), &fault);
    cr_assert_eq(fault.status, 0, "%s", fault.detail);
    return used;
}

static uint16_t fault_of(const char *text)
{
    struct hl_refusal fault = {0};
    cr_assert_eq(hl_client_body_take(&client, text, strlen(text), &fault), strlen(text),
        "nothing behind it is read");
    return fault.status;
}

Test(client_body, ends_with_the_last_byte_of_its_length)
{
    read_head(LENGTH("5"));
    cr_assert_eq(take("hel"), 3);
    cr_assert_eq(taken.ended, 0);
    cr_assert_eq(take("loGET /"), 2, "what follows is not its");
    cr_assert_str_eq(taken.body, "hello");
    cr_assert(taken.ended == 1 && client.body_done);
    cr_assert_eq(client.body_seen, 5);
}

Test(client_body, ends_with_its_last_byte_although_its_taker_is_full_then)
{
    read_head(LENGTH("5"));
    taken.room = 5;
    cr_assert_eq(take("hello"), 5);
    cr_assert_eq(taken.ended, 1);
}

Test(client_body, has_neither_chunks_heads_nor_trailers_in_it)
{
    const char *text = "3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nX-Sum: 1\r\n\r\n";
    char with_more[64];
    snprintf(with_more, sizeof(with_more), "%sGET /", text);
    read_head(CHUNKED);
    cr_assert_eq(take(with_more), strlen(text));
    cr_assert_str_eq(taken.body, "abcde");
    cr_assert_str_eq(taken.trailer, "X-Sum: 1\r\n");
    cr_assert_eq(taken.ended, 1);
}

Test(client_body, is_taken_no_faster_than_there_is_room_for)
{
    const char *text = "3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n";
    read_head(CHUNKED);
    taken.room = 3;
    size_t used = take(text);
    cr_assert_eq(taken.n, 3);
    cr_assert_eq(take(text + used), 0, "it is full still");
    taken.room = SIZE_MAX;
    cr_assert_eq(take(text + used), strlen(text) - used);
    cr_assert_str_eq(taken.body, "abcdef");
    cr_assert_eq(taken.ended, 1);
}

Test(client_body, goes_to_nobody_once_its_call_has_ended)
{
    read_head(CHUNKED);
    taken.ends_call = true;
    take("3\r\nabc\r\n3\r\ndef\r\n");
    cr_assert_eq(taken.n, 3);
    cr_assert_eq(taken.ended, 0);
}

Test(client_body, may_be_as_long_as_its_maximum)
{
    read_head(CHUNKED);
    client.body_max = 5;
    take("3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
    cr_assert_eq(taken.ended, 1);
}

Test(client_body, is_refused_beyond_its_maximum)
{
    read_head(CHUNKED);
    client.body_max = 5;
    cr_assert_eq(fault_of("3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n"), 413);
    cr_assert_eq(taken.n, 3, "none of what is too much was given");
    cr_assert_eq(taken.ended, 0);
}

static const char *const broken[] = {"3\r\nabcd\r\n", "x\r\n", "-1\r\n", "3\nabc\r\n",
    "3 \r\nabc\r\n", "3\r\nabc\r\n0\r\nX\r\n\r\n"};

Test(client_body, is_refused_when_its_chunks_are_broken)
{
    for (size_t i = 0; i < HL_ARRAY_LEN(broken); i++) {
        begin();
        read_head(CHUNKED);
        taken.n = taken.ended = 0;
        uint16_t status = fault_of(broken[i]);
        cr_assert_eq(status, 400, "%u: %s", status, broken[i]);
        cr_assert_eq(taken.ended, 0);
        hl_message_reader_fini(&client.messages);
    }
}

Test(client_body, lets_an_owed_100_be_forgotten_at_its_first_byte)
{
    read_head(LENGTH("5"));
    client.owes_continue = true;
    take("");
    cr_assert(client.owes_continue);
    take("h");
    cr_assert_not(client.owes_continue);
}

Test(client_body, comes_in_larger_pieces_once_it_is_long_if_its_taker_wants_that)
{
    static char much[200 * 1024 + 1];
    for (int wants = 0; wants < 2; wants++) {
        begin();
        table.reads_long = wants;
        read_head(LENGTH("1000000"));
        memset(much, 'x', sizeof(much) - 1);
        taken.n = client.body_seen = 0;
        take(much);
        cr_assert_eq(client.stream.read_size, HL_READ_SIZE);
        take(much);
        cr_assert_eq(client.stream.read_size, wants ? HL_READ_SIZE_LONG : HL_READ_SIZE);
    }
}
