/* test_refusal.c - requests that never become calls: each is answered, and nothing runs. */
#include <sys/socket.h>
#include <unistd.h>

#include "house.h"

TestSuite(refusal, .init = house_prepare, .fini = house_close, .timeout = 180);

#define POST(path) "POST " path " HTTP/1.1\r\nHost: x\r\n"
#define LENGTH(n)  "Content-Length: " #n "\r\n"
#define CHUNKED    "Transfer-Encoding: chunked\r\n"
#define JSON       "Content-Type: application/json\r\n"
#define CLOSE      "Connection: close\r\n"

Test(refusal, says_what_is_wrong_with_a_request)
{
    static const struct {
        const char *request, *status, *says;
    } cases[] = {
        {"GET /nope HTTP/1.1\r\nHost: x\r\n" CLOSE "\r\n", " 404 ",
            "available are: echo, hold, yield, raw, pour, fail, await, tell, count, form.\""},
        {POST("/echo/") CLOSE LENGTH(0) "\r\n", " 404 ", "no function of that name"},
        {POST("//echo") CLOSE LENGTH(0) "\r\n", " 404 ", "no function of that name"},
        {POST("/ec%68o") CLOSE LENGTH(0) "\r\n", " 404 ", "no function of that name"},
        {"OPTIONS * HTTP/1.1\r\nHost: x\r\n" CLOSE "\r\n", " 404 ", "no function of that name"},
        {"GET /echo HTTP/1.1\r\nHost: x\r\n" CLOSE "\r\n", " 405 ", "\r\nAllow: POST\r\n"},
        {"POST /healthz HTTP/1.1\r\nHost: x\r\n" CLOSE LENGTH(0) "\r\n", " 405 ",
            "\r\nAllow: GET, HEAD\r\n"},
        {POST("/echo") CLOSE "Content-Type: text/plain\r\n" LENGTH(2) "\r\n{}", " 415 ",
            "application/json"},
        {POST("/echo") CLOSE JSON LENGTH(1) "\r\n{", " 400 ", "ends too early, after 1 bytes"},
        {POST("/echo") CLOSE JSON LENGTH(3) "\r\n{]}", " 400 ", "there is an error at byte 2"},
        {POST("/echo") CLOSE JSON LENGTH(3) "\r\n [1", " 400 ", "ends too early"},
        {POST("/echo") CLOSE JSON LENGTH(4) "\r\n [1]", " 422 ", "must be a JSON object"},
        {POST("/echo") CLOSE JSON LENGTH(4) "\r\nnull", " 422 ", "must be a JSON object"},
        {POST("/echo") JSON LENGTH(1048577) "\r\n", " 413 ", "HOOKLINE_FUNCTION_MAX_BODY"},
        {POST("/echo") JSON LENGTH(9223372036854775807) "\r\n", " 413 ", "longer than"},
        {POST("/echo") "Expect: 100-continue\r\n" JSON LENGTH(1048577) "\r\n", " 413 ", "longer"},
        {POST("/echo") JSON CHUNKED "\r\nzz\r\n", " 400 ", "detail"},
    };
    house_open();
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        const char *got = caller_ask(cases[i].request);
        cr_assert(strstr(got, cases[i].status), "%s got %s", cases[i].request, got);
        cr_assert(strstr(got, cases[i].says), "%s got %s", cases[i].request, got);
        cr_assert(strstr(got, "application/problem+json"), "%s", got);
    }
}

/* What is ambiguous is refused by the proxy's own reader, and the connection ends: bytes behind it
 * are no request. */
Test(refusal, leaves_no_room_for_a_second_reading)
{
    static const char *const cases[] = {
        POST("/echo") LENGTH(2) LENGTH(3) "\r\n{}",
        POST("/echo") LENGTH(2) CHUNKED "\r\n0\r\n\r\n",
        POST("/echo") "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        POST("/echo") "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
        POST("/echo") "X: a\r\n b\r\n" LENGTH(2) "\r\n{}",
        POST("/echo") "Content-Length: +2\r\n\r\n{}",
        "POST /echo HTTP/1.1\r\n" LENGTH(2) "\r\n{}",
        "POST /echo HTTP/1.1\r\nHost: x\r\nHost: y\r\n" LENGTH(2) "\r\n{}",
        "POST /echo HTTP/1.1\nHost: x\nContent-Length: 2\n\n{}",
        "POST /echo HTTP/2.0\r\nHost: x\r\n\r\n",
        "\x16\x03\x01\x02",
    };
    house_open();
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        int fd = caller_open();
        caller_send(fd, cases[i]);
        caller_send(fd, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
        const char *got = caller_read_all(fd);
        cr_assert(strncmp(got, "HTTP/1.1 4", 10) == 0 || strncmp(got, "HTTP/1.1 50", 11) == 0,
            "%s got %s", cases[i], got);
        cr_assert(!strstr(got, "\"status\":\"ok\""), "%s got %s", cases[i], got);
        close(fd);
    }
}

Test(refusal, keeps_the_connection_when_the_body_is_short)
{
    house_open();
    int fd = caller_open();
    caller_post(fd, "/nope", "", "{\"a\":1}");
    caller_read_until(fd, " 404 Not Found");
    caller_post(fd, "/echo", "", "{\"b\":2}");
    caller_read_until(fd, "{\"b\":2}");
    close(fd);
}

Test(refusal, of_a_chunked_body_comes_when_it_is_too_long)
{
    static char chunk[64 * 1024 + 1];
    house_open();
    int fd = caller_open();
    memset(chunk, ' ', sizeof(chunk) - 1);
    caller_send(fd, POST("/echo") CHUNKED "\r\n");
    for (int i = 0; i < 17; i++) { /* 1 MiB and one more */
        caller_send(fd, "10000\r\n");
        caller_send(fd, chunk);
        caller_send(fd, "\r\n");
    }
    cr_assert(strstr(caller_read_all(fd), " 413 "));
    close(fd);
}

Test(refusal, of_a_head_that_is_too_long)
{
    static char line[130 * 1024];
    house_open();
    int fd = caller_open();
    memset(line, 'a', sizeof(line) - 1);
    caller_send(fd, POST("/echo") "X: ");
    caller_send(fd, line);
    cr_assert(strstr(caller_read_all(fd), " 431 "));
    close(fd);
}

Test(refusal, of_bodies_beyond_what_all_may_hold)
{
    enum { MANY = 300 }; /* calls that wait with 1 MiB each, where 256 MiB are the bound */
    static char body[1024 * 1024 + 1];
    int fds[MANY], count = 0;
    char answer[64] = "";
    house_open();
    memset(body, ' ', sizeof(body) - 1);
    memcpy(body, "{}", 2);
    caller_post(fds[count++] = caller_open(), "/hold", "", "{}");
    UNTIL(house.running == 1);
    while (count < MANY && !answer[0]) {
        caller_post(fds[count++] = caller_open(), "/hold", "", body);
        if (count > 256)
            house_catch_up();
        recv(fds[count - 1], answer, sizeof(answer) - 1, MSG_DONTWAIT);
    }
    cr_assert(strstr(answer, " 429 "), "%s", answer);
    cr_assert_gt(count, 256, "%d", count);
    while (count > 0)
        close(fds[--count]);
}
