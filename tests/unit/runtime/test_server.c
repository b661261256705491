/* test_server.c - requests that become calls: their way through the queue and back. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/server.h"
#include "house.h"

TestSuite(server, .init = house_prepare, .fini = house_close, .timeout = 180);

#define POST_HEAD "POST /echo HTTP/1.1\r\nHost: x\r\n"

Test(server, answers_with_the_functions_value)
{
    house_open();
    int fd = caller_open();
    caller_post(fd, "/echo", "Content-Type: application/json\r\n", "{\"a\":[1,2]}");
    const char *got = caller_read_until(fd, "[1,2]}");
    cr_assert(strstr(got, "HTTP/1.1 200 OK\r\n"), "%s", got);
    cr_assert(strstr(got, "\r\nContent-Type: application/json\r\n"), "%s", got);
    cr_assert(strstr(got, "\r\nContent-Length: 11\r\n"), "%s", got);
    cr_assert(strstr(got, "\r\nX-Request-Id: "), "%s", got);
    caller_post(fd, "/echo", "", ""); /* the same connection, no parameters */
    cr_assert(strstr(caller_read_until(fd, "{}"), " 200 OK\r\n"));
    close(fd);
}

Test(server, keeps_the_run_id_that_the_request_names)
{
    house_open();
    int fd = caller_open();
    caller_post(fd, "/echo", "X-Request-Id: 0193a5b0-0000-7000-8000-000000000001\r\n", "{}");
    cr_assert(strstr(
        caller_read_until(fd, "{}"), "\r\nX-Request-Id: 0193a5b0-0000-7000-8000-000000000001\r\n"));
    close(fd);
}

Test(server, reads_chunked_bodies_and_answers_pipelined_requests_in_order)
{
    house_open();
    int fd = caller_open();
    caller_send(fd,
        POST_HEAD "Transfer-Encoding: chunked\r\n\r\n6\r\n{\"n\":1\r\n1\r\n}\r\n0\r\n\r\n" POST_HEAD
                  "Content-Length: 7\r\n\r\n{\"n\":2}"
                  "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n" POST_HEAD
                  "Content-Length: 7\r\nConnection: close\r\n\r\n{\"n\":3}");
    const char *got = caller_read_all(fd), *one = strstr(got, "{\"n\":1}"),
               *two = strstr(got, "{\"n\":2}"), *health = strstr(got, "{\"status\":\"ok\"}"),
               *three = strstr(got, "{\"n\":3}");
    cr_assert(one && one < two && two < health && health < three, "%s", got);
    close(fd);
}

Test(server, calls_run_one_at_a_time_in_the_order_of_arrival)
{
    house_open();
    int fds[3];
    for (int i = 0; i < 3; i++) {
        fds[i] = caller_open();
        caller_post(fds[i], "/hold", "", "{}");
        if (i == 0)
            UNTIL(house.running == 1);
        else
            house_catch_up();
    }
    cr_assert_eq(house.running, 1, "the others wait");
    for (unsigned i = 0; i < 3; i++) {
        char wanted[16];
        house.let_go = i + 1;
        snprintf(wanted, sizeof(wanted), "{\"run\":%u}", i + 1);
        caller_read_until(fds[i], wanted);
        close(fds[i]);
    }
}

Test(server, health_is_answered_while_every_thread_is_busy)
{
    house_open();
    int fd = caller_open();
    caller_post(fd, "/hold", "", "{}");
    UNTIL(house.running == 1);
    cr_assert(strstr(caller_ask("GET /healthz HTTP/1.0\r\n\r\n"), " 200 OK\r\n"));
    close(fd);
}

Test(server, as_many_calls_at_once_as_there_are_threads)
{
    house.settings.concurrency = 4;
    house_open();
    int fds[4];
    for (int i = 0; i < 4; i++)
        caller_post(fds[i] = caller_open(), "/hold", "", "{}");
    UNTIL(house.running == 4);
    house.let_go = 4;
    for (int i = 0; i < 4; i++) {
        caller_read_until(fds[i], "{\"run\":");
        close(fds[i]);
    }
}

Test(server, a_raw_function_reads_any_method_and_any_body)
{
    house_open();
    int fd = caller_open();
    caller_send(fd, "PUT /raw?a=%20b HTTP/1.1\r\nHost: x\r\nContent-Type: text/csv\r\n"
                    "Content-Length: 4\r\n\r\na;b\n");
    const char *got = caller_read_until(fd, "a;b\n");
    cr_assert(strstr(got, "HTTP/1.1 201 Created\r\n"), "%s", got);
    cr_assert(strstr(got, "\r\nContent-Type: text/plain\r\n"), "%s", got);
    cr_assert(strstr(got, "PUT /raw ? a=%20b : a;b\n"), "%s", got);
    caller_send(fd, "HEAD /raw HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    got = caller_read_all(fd);
    cr_assert(strstr(got, "\r\nContent-Length: 15\r\n"), "%s", got);
    cr_assert(strcmp(strstr(got, "\r\n\r\n"), "\r\n\r\n") == 0, "no body: %s", got);
    close(fd);
}

Test(server, wraps_values_when_the_envelope_is_on)
{
    house.settings.has_envelope = true;
    house_open();
    int fd = caller_open();
    caller_post(fd, "/echo", "X-Request-Id: 0193a5b0-0000-7000-8000-000000000001\r\n", "{\"a\":1}");
    const char *got = caller_read_until(fd, "{\"a\":1}}");
    cr_assert(strstr(got, "\r\n\r\n{\"run_id\":\"0193a5b0-0000-7000-8000-000000000001\","
                          "\"run_time_ms\":"),
        "%s", got);
    cr_assert(strstr(got, ",\"result\":{\"a\":1}}"), "%s", got);
    close(fd);
}

Test(server, says_100_to_a_caller_that_waits_for_it)
{
    house_open();
    int fd = caller_open();
    caller_send(fd, POST_HEAD "Expect: 100-continue\r\nContent-Length: 7\r\n\r\n");
    caller_read_until(fd, "HTTP/1.1 100 Continue\r\n\r\n");
    caller_send(fd, "{\"n\":5}");
    caller_read_until(fd, "{\"n\":5}");
    close(fd);
}

Test(server, an_answer_that_is_missing_becomes_an_error)
{
    house_open();
    int fd = caller_open();
    caller_post(fd, "/await", "", "{}");
    UNTIL(house.running == 1);
    int other = caller_open();
    close(fd);
    UNTIL(house.gone == 1);
    caller_post(other, "/echo", "", "{}");
    caller_read_until(other, "{}"); /* the thread goes on with the next call */
    close(other);
}

Test(server, a_call_whose_caller_has_gone_while_it_waited_never_runs)
{
    house_open();
    int first = caller_open(), second = caller_open(), third = caller_open();
    caller_post(first, "/hold", "", "{}");
    UNTIL(house.running == 1);
    caller_post(second, "/hold", "", "{}");
    house_catch_up();
    close(second);
    house_catch_up();
    caller_post(third, "/hold", "", "{}");
    house.let_go = 2;
    caller_read_until(first, "{\"run\":1}");
    caller_read_until(third, "{\"run\":2}");
    close(first);
    close(third);
}

Test(server, stopping_finishes_what_runs_and_what_waits)
{
    house_open();
    int idle = caller_open(), first = caller_open(), second = caller_open();
    caller_post(first, "/hold", "", "{}");
    UNTIL(house.running == 1);
    caller_post(second, "/hold", "", "{}");
    house_catch_up();
    hl_server_stop(house.server);
    cr_assert_str_empty(caller_read_all(idle));
    UNTIL(hl_server_is_stopping(house.server));
    house.let_go = 2;
    const char *got = caller_read_until(first, "{\"run\":1}");
    cr_assert(strstr(got, "\r\nConnection: close\r\n"), "%s", got);
    caller_read_until(second, "{\"run\":2}");
    close(idle);
    close(first);
    close(second);
}

Test(server, listens_on_a_unix_socket_and_removes_it)
{
    char directory[] = "/tmp/hl-server-XXXXXX";
    cr_assert_not_null(mkdtemp(directory));
    snprintf(house.settings.socket, sizeof(house.settings.socket), "%s/f.sock", directory);
    house_open();
    cr_assert_eq(hl_server_port(house.server), 0);
    int fd = caller_open();
    caller_post(fd, "/echo", "", "{\"u\":1}");
    caller_read_until(fd, "{\"u\":1}");
    close(fd);
    house_close();
    cr_assert_neq(access(house.settings.socket, F_OK), 0);
    rmdir(directory);
}

Test(server, says_why_it_cannot_listen)
{
    house_open();
    char why[HL_SETTINGS_WHY];
    struct hl_server *second;
    struct hl_settings settings = house.settings;
    settings.port = hl_server_port(house.server);
    static const struct hl_callee callees[] = {{.name = "run"}};
    cr_assert_eq(hl_server_start(&second, &settings, callees, 1, false, why), HL_ERR_IO);
    cr_assert(strstr(why, "address already in use"), "%s", why);
}
