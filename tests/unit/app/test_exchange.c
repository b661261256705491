/* test_exchange.c - one request to a server that answers as the test says. */
#include "app/exchange.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "loop_fixture.h"

#define OK "HTTP/1.1 200 OK\r\n"

static int listener, server; /* server -1: it has not taken the connection */
static struct sockaddr_in address;
static struct hl_exchange *exchange;

/* What it told its owner. */
static struct {
    unsigned heads, ends;
    uint16_t status;
    struct hl_buf body;
    enum hl_exchange_end how;
    int error;
} told;

static void on_head(void *owner, const struct hl_head *head)
{
    cr_assert_eq(owner, &told);
    told.heads++;
    told.status = head->status;
}

static void on_bytes(void *owner, struct hl_str bytes)
{
    (void)owner;
    cr_assert_eq(told.heads, 1);
    cr_assert_eq(hl_buf_append_str(&told.body, bytes), HL_OK);
}

static void on_end(void *owner, enum hl_exchange_end how, int error)
{
    (void)owner;
    told.ends++;
    told.how = how;
    told.error = error;
    exchange = NULL;
}

static const struct hl_exchange_events events = {.head = on_head, .bytes = on_bytes, .end = on_end};
static struct hl_exchange_order order;

static void begin(void)
{
    socklen_t n = sizeof(address);
    loop_begin();
    address =
        (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    server = -1;
    cr_assert_eq(bind(listener, (struct sockaddr *)&address, n), 0);
    cr_assert_eq(listen(listener, 4), 0);
    cr_assert_eq(getsockname(listener, (struct sockaddr *)&address, &n), 0);
    hl_buf_init(&told.body, 0);
    order = (struct hl_exchange_order){.loop = &loop,
        .wheel = &wheel,
        .reader = &reader,
        .address = (struct sockaddr *)&address,
        .method = HL_METHOD_GET,
        .max_head = 1024,
        .is_decoded = true,
        .events = &events,
        .owner = &told};
}

static void end(void)
{
    hl_exchange_drop(exchange);
    if (server >= 0)
        close(server);
    if (listener >= 0)
        close(listener);
    hl_buf_fini(&told.body);
    loop_end();
}

TestSuite(exchange, .init = begin, .fini = end, .timeout = 180);

static void ask(const char *text)
{
    struct hl_buf request;
    int error;
    hl_buf_init(&request, 0);
    cr_assert_eq(hl_buf_append_str(&request, hl_str_from(text)), HL_OK);
    exchange = hl_exchange_begin(&order, &request, &error);
    cr_assert_not_null(exchange);
    cr_assert_eq(request.n, 0, "it is taken");
}

static void answer(const char *text)
{
    if (server < 0)
        server = accept(listener, NULL, NULL);
    cr_assert_eq(send(server, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

/* Behind the request: what is unread would make a reset of it. */
static void hang_up(void)
{
    char request[64];
    cr_assert_gt(recv(server, request, sizeof(request), 0), 0);
    close(server);
    server = -1;
}

static bool has(const char *body)
{
    return hl_str_eq(hl_buf_str(&told.body), hl_str_from(body));
}

Test(exchange, takes_a_body_off_its_framing)
{
    char got[64] = "";
    ask("GET / HTTP/1.1\r\n\r\n");
    answer("HTTP/1.1 103 Early Hints\r\n\r\n" OK "Transfer-Encoding: chunked\r\n\r\n3\r\nab");
    UNTIL(has("ab"));
    cr_assert_eq(told.status, 200, "interim answers say nothing");
    answer("c\r\n0\r\n\r\n");
    UNTIL(told.ends);
    cr_assert_eq(told.how, HL_EXCHANGE_WHOLE);
    cr_assert(has("abc"));
    cr_assert_eq(recv(server, got, sizeof(got) - 1, 0), 18);
}

Test(exchange, reads_a_body_to_its_end_that_nobody_wants)
{
    static const struct hl_exchange_events without = {.head = on_head, .end = on_end};
    order.events = &without;
    ask("GET / HTTP/1.1\r\n\r\n");
    answer(OK "Content-Length: 4\r\n\r\nwa");
    UNTIL(told.heads);
    answer("rm");
    UNTIL(told.ends);
    cr_assert_eq(told.how, HL_EXCHANGE_WHOLE);
}

Test(exchange, passes_a_body_on_in_its_framing_until_the_connection_closes)
{
    order.is_decoded = false;
    ask("GET / HTTP/1.1\r\n\r\n");
    answer(OK "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n");
    UNTIL(has("1\r\na\r\n0\r\n\r\n"));
    cr_assert_eq(told.ends, 0);
    hang_up();
    UNTIL(told.ends);
    cr_assert_eq(told.how, HL_EXCHANGE_WHOLE);
}

Test(exchange, without_a_request_asks_whether_somebody_listens)
{
    ask("");
    UNTIL(told.ends);
    cr_assert_eq(told.how, HL_EXCHANGE_WHOLE);
    close(listener);
    listener = -1;
    ask("");
    UNTIL(told.ends == 2);
    cr_assert_eq(told.how, HL_EXCHANGE_UNREACHABLE);
    cr_assert_eq(told.error, UV_ECONNREFUSED);
}

Test(exchange, tells_an_end_that_is_too_early_from_what_is_no_http)
{
    ask("GET / HTTP/1.1\r\n\r\n");
    answer(OK "Content-Length: 2\r\n\r\na");
    UNTIL(has("a"));
    hang_up();
    UNTIL(told.ends == 1);
    cr_assert_eq(told.how, HL_EXCHANGE_CLOSED);
    ask("GET / HTTP/1.1\r\n\r\n");
    answer("220 smtp.example ESMTP\r\n\r\n");
    UNTIL(told.ends == 2);
    cr_assert_eq(told.how, HL_EXCHANGE_UNREADABLE);
}

Test(exchange, takes_no_longer_head_than_it_is_told)
{
    char head[1200];
    memset(head, 'x', sizeof(head));
    memcpy(head, OK "X: ", strlen(OK "X: "));
    head[sizeof(head) - 1] = '\0';
    ask("GET / HTTP/1.1\r\n\r\n");
    answer(head);
    UNTIL(told.ends);
    cr_assert_eq(told.how, HL_EXCHANGE_UNREADABLE);
}

Test(exchange, is_late_without_a_head_and_for_each_silence_behind_it)
{
    order.head_ms = 20;
    ask("GET / HTTP/1.1\r\n\r\n");
    UNTIL(told.ends == 1);
    cr_assert_eq(told.how, HL_EXCHANGE_LATE);
    order.head_ms = 0;
    order.silence_ms = 20;
    close(accept(listener, NULL, NULL));
    ask("GET / HTTP/1.1\r\n\r\n");
    answer(OK "Content-Length: 2\r\n\r\na");
    UNTIL(told.ends == 2);
    cr_assert_eq(told.how, HL_EXCHANGE_LATE);
    cr_assert(has("a"));
}

Test(exchange, nothing_is_late_or_read_while_it_is_paused)
{
    order.silence_ms = 20;
    ask("GET / HTTP/1.1\r\n\r\n");
    answer(OK "Content-Length: 2\r\n\r\na");
    UNTIL(has("a"));
    hl_exchange_pause(exchange);
    answer("b");
    uint64_t paused = hl_clock_mono_ms();
    UNTIL(hl_clock_mono_ms() > paused + 100);
    cr_assert_eq(told.ends, 0);
    cr_assert(has("a"));
    hl_exchange_resume(exchange);
    UNTIL(told.ends);
    cr_assert_eq(told.how, HL_EXCHANGE_WHOLE);
    cr_assert(has("ab"));
}
