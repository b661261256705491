/* test_events.c - values one by one: events and arrays, slow readers, ends that are none. */
#include <sys/socket.h>
#include <unistd.h>

#include "core/call.h"
#include "house.h"

TestSuite(events, .init = house_prepare, .fini = house_close, .timeout = 180);

#define ACCEPT_EVENTS "Accept: text/event-stream\r\n"

Test(events, are_sent_in_chunks_of_one_event_each)
{
    house_open();
    int fd = caller_open();
    caller_post(fd, "/yield", ACCEPT_EVENTS, "{\"values\":[\"a\",1]}");
    const char *got = caller_read_until(fd, "\r\n0\r\n\r\n");
    cr_assert(strstr(got, "\r\nContent-Type: text/event-stream; charset=utf-8\r\n"), "%s", got);
    cr_assert(strstr(got, "\r\nTransfer-Encoding: chunked\r\n"), "%s", got);
    cr_assert(strstr(got, "\r\nCache-Control: no-cache\r\n"), "%s", got);
    cr_assert(strstr(got, "\r\n\r\n9\r\ndata: a\n\n\r\n9\r\ndata: 1\n\n\r\n0\r\n\r\n"), "%s", got);
    caller_post(fd, "/echo", "", "{}"); /* the connection goes on */
    caller_read_until(fd, "{}");
    close(fd);
}

Test(events, have_a_data_line_for_each_line_of_a_text)
{
    house_open();
    int fd = caller_open();
    caller_post(fd, "/yield", ACCEPT_EVENTS, "{\"values\":[\"a\\nb\\r\\nc\\rd\\n\",\"\"]}");
    cr_assert(strstr(caller_read_until(fd, "\r\n0\r\n\r\n"),
        "data: a\ndata: b\ndata: c\ndata: d\ndata: \n\n\r\n8\r\ndata: \n\n\r\n0\r\n\r\n"));
    close(fd);
}

Test(events, end_with_the_connection_for_a_caller_of_http_1_0)
{
    house_open();
    const char *got = caller_ask("POST /yield HTTP/1.0\r\nConnection: keep-alive\r\n" ACCEPT_EVENTS
                                 "Content-Length: 16\r\n\r\n{\"values\":[1,2]}");
    cr_assert(strstr(got, "\r\nConnection: close\r\n"), "%s", got);
    cr_assert(!strstr(got, "Transfer-Encoding"), "%s", got);
    cr_assert(strstr(got, "\r\n\r\ndata: 1\n\ndata: 2\n\n"), "%s", got);
}

Test(events, become_an_array_where_none_were_asked_for)
{
    house_open();
    int fd = caller_open();
    caller_post(fd, "/yield", "Accept: */*\r\n", "{\"values\":[\"a\\nb\",1,{\"x\":[2]}]}");
    const char *got = caller_read_until(fd, "]}]");
    cr_assert(strstr(got, "\r\nContent-Type: application/json\r\n"), "%s", got);
    cr_assert(strstr(got, "\r\n\r\n[\"a\\nb\",1,{\"x\":[2]}]"), "%s", got);
    caller_post(fd, "/yield", "", "{\"values\":[]}");
    caller_read_until(fd, "\r\n\r\n[]");
    close(fd);
}

Test(events, wait_for_a_slow_reader)
{
    house_open();
    int fd = caller_open();
    caller_post(fd, "/pour", ACCEPT_EVENTS, "{}");
    size_t before = SIZE_MAX;
    UNTIL(house.poured > HL_CALL_WINDOW);
    for (int still = 0; still < 100; house_rest()) { /* it stands still */
        still = before == house.poured ? still + 1 : 0;
        before = house.poured;
    }
    cr_assert_lt(house.poured, 16 * 1024 * 1024, "the sockets' buffers and a window");
    static char some[64 * 1024];
    while (house.poured == before) /* and goes on when there is room */
        cr_assert_gt(recv(fd, some, sizeof(some), 0), 0);
    close(fd);
    UNTIL(house.gone == 1); /* who waits for room is let go when the reader has gone */
}

Test(events, are_cut_off_when_the_function_fails_between_them)
{
    house_open();
    int fd = caller_open();
    caller_post(fd, "/fail", ACCEPT_EVENTS, "{\"n\":2}");
    const char *got = caller_read_all(fd);
    cr_assert(strstr(got, "data: 1\n\n\r\n9\r\ndata: 1\n\n\r\n"), "%s", got);
    cr_assert(
        strstr(got, "event: error\ndata: {\"type\":\"about:blank\",\"title\":\"Internal Server "
                    "Error\",\"status\":500,\"detail\":\"It \\\"broke\\\".\",\"run_id\":"),
        "%s", got);
    cr_assert(!strstr(got, "\r\n0\r\n\r\n"), "no last chunk: %s", got);
    close(fd);
}

Test(events, that_never_began_leave_a_status_to_fail_with)
{
    house_open();
    int fd = caller_open();
    caller_post(fd, "/fail", ACCEPT_EVENTS, "{\"n\":0}");
    const char *got = caller_read_until(fd, "}");
    cr_assert(strstr(got, "HTTP/1.1 500 "), "%s", got);
    cr_assert(strstr(got, "\r\nContent-Type: application/problem+json\r\n"), "%s", got);
    caller_post(fd, "/fail", "", "{\"n\":2}"); /* an array is not sent before its end */
    got = caller_read_until(fd, "}");
    cr_assert(strstr(got, "HTTP/1.1 500 "), "%s", got);
    close(fd);
}

Test(events, that_are_too_many_for_an_array_are_refused_as_a_whole)
{
    house_open();
    int fd = caller_open();
    caller_post(fd, "/pour", "", "{}"); /* emits until it may not; 1 MiB is the bound */
    const char *got = caller_read_until(fd, "}");
    cr_assert(strstr(got, "HTTP/1.1 500 "), "%s", got);
    cr_assert(strstr(got, "longer than HOOKLINE_FUNCTION_MAX_BODY allows"), "%s", got);
    close(fd);
}
