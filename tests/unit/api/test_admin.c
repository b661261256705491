#include <criterion/criterion.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "api/admin.h"
#include "api/endpoint.h"
#include "config/config.h"
#include "server.h"

static struct server server;

static void start(void)
{
    server_start(&server, NULL);
}

static void stop(void)
{
    server_stop(&server);
}

TestSuite(admin, .init = start, .fini = stop, .timeout = 180);

static void ask_on(int fd, const char *request, struct answer *answer)
{
    client_send(fd, request);
    client_read(fd, answer, strncmp(request, "HEAD", 4) != 0);
    close(fd);
}

static void ask(const char *request, struct answer *answer)
{
    ask_on(client_connect(&server), request, answer);
}

Test(admin, says_that_it_is_alive)
{
    struct answer a;
    ask("GET /healthz HTTP/1.1\r\nHost: [::1]\r\n\r\n", &a);
    cr_assert_eq(a.status, 200);
    cr_assert_str_eq(a.body, "ok\n");
    cr_assert(strstr(a.head, "\r\nContent-Type: text/plain; charset=utf-8\r\n"));
}

Test(admin, is_ready_when_the_app_is)
{
    struct answer a;
    ask("GET /readyz HTTP/1.1\r\nHost: [::1]\r\n\r\n", &a);
    cr_assert_eq(a.status, 503);
    cr_assert_str_eq(a.body, "the app at HOOKLINE_APP_URL is not ready\n");
    atomic_store(&server.readiness.is_ready, true);
    ask("GET /readyz HTTP/1.1\r\nHost: [::1]\r\n\r\n", &a);
    cr_assert_eq(a.status, 200);
    cr_assert_str_eq(a.body, "ok\n");
}

Test(admin, shows_the_figures)
{
    struct answer a;
    hl_counter_add(&server.worker.metrics.connections_accepted, 42);
    ask("GET /metrics?name=x HTTP/1.1\r\nHost: [::1]\r\n\r\n", &a);
    cr_assert_eq(a.status, 200);
    cr_assert(strstr(a.head, "\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
    cr_assert(strstr(a.body, "\nhookline_connections_accepted_total 42\n"));
    cr_assert(strstr(a.body, "\nprocess_start_time_seconds 1700000000.123000\n"));
    cr_assert(strstr(a.body, "\nhookline_ready 0\n"));
}

Test(admin, answers_head_with_the_head_alone)
{
    struct answer get, head;
    int fd = client_connect(&server);
    client_send(fd, "HEAD /healthz HTTP/1.1\r\nHost: [::1]\r\n\r\n");
    client_read(fd, &head, false);
    client_send(fd, "GET /healthz HTTP/1.1\r\nHost: [::1]\r\n\r\n");
    client_read(fd, &get, true); /* body bytes after HEAD's head would be read as this one's */
    cr_assert_eq(head.status, 200);
    cr_assert(strstr(head.head, "\r\nContent-Length: 3\r\n"));
    cr_assert_str_eq(get.body, "ok\n");
    close(fd);
}

Test(admin, keeps_the_connection_and_answers_in_order)
{
    struct answer a;
    int fd = client_connect(&server);
    client_send(fd,
        "GET /healthz HTTP/1.1\r\nHost: [::1]\r\n\r\nGET /none HTTP/1.1\r\nHost: [::1]\r\n\r\n"
        "GET /metrics HTTP/1.1\r\nHost: [::1]\r\n\r\nGET /hea");
    client_read(fd, &a, true);
    cr_assert_eq(a.status, 200);
    client_read(fd, &a, true);
    cr_assert_eq(a.status, 404);
    client_read(fd, &a, true);
    cr_assert(strstr(a.body, "# TYPE hookline_ready gauge\n"));
    client_send(fd, "lthz HTTP/1.1\r\nHost: [::1]\r\nConnection: close\r\n\r\n");
    client_read(fd, &a, true);
    cr_assert_str_eq(a.body, "ok\n");
    cr_assert(strstr(a.head, "\r\nConnection: close\r\n"));
    cr_assert(client_is_closed(fd));
    close(fd);
}

Test(admin, answers_what_came_before_the_peer_ended_its_side)
{
    struct answer a;
    int fd = client_connect(&server);
    client_send(fd,
        "GET /healthz HTTP/1.1\r\nHost: [::1]\r\n\r\nGET /metrics HTTP/1.1\r\nHost: [::1]\r\n\r\n");
    shutdown(fd, SHUT_WR);
    client_read(fd, &a, true);
    client_read(fd, &a, true);
    cr_assert_eq(a.status, 200);
    cr_assert(client_is_closed(fd));
    close(fd);
}

Test(admin, keeps_an_old_client_only_if_it_asks)
{
    struct answer a;
    int fd = client_connect(&server);
    client_send(fd, "GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    client_read(fd, &a, true);
    cr_assert(strstr(a.head, "\r\nConnection: keep-alive\r\n"));
    client_send(fd, "GET /healthz HTTP/1.0\r\n\r\n");
    client_read(fd, &a, true);
    cr_assert_eq(a.status, 200);
    cr_assert(client_is_closed(fd));
    close(fd);
}

/* A request of `n` field bytes. */
static void send_large_head(int fd, size_t n)
{
    char line[1024];
    memset(line, 'x', sizeof(line));
    memcpy(line, "X-Y: ", 5);
    memcpy(line + sizeof(line) - 2, "\r\n", 2);
    client_send(fd, "GET /healthz HTTP/1.1\r\nHost: [::1]\r\n");
    for (size_t sent = 0; sent < n; sent += sizeof(line))
        cr_assert_eq(send(fd, line, sizeof(line), MSG_NOSIGNAL), (ssize_t)sizeof(line));
}

Test(admin, takes_heads_up_to_64_kib)
{
    struct answer a;
    int fd = client_connect(&server);
    send_large_head(fd, 63 * 1024);
    client_send(fd, "\r\n");
    client_read(fd, &a, true);
    cr_assert_eq(a.status, 200);
    send_large_head(fd, 64 * 1024);
    client_read(fd, &a, true); /* before the head has ended */
    cr_assert_eq(a.status, 431);
    cr_assert(client_is_closed(fd));
    close(fd);
}

Test(admin, refuses_what_is_no_request)
{
    static const struct {
        const char *request;
        int status;
    } cases[] = {
        {"\x16\x03\x01 hello\r\n\r\n", 400},
        {"GET /healthz HTTP/1.1\nHost: x\n\n", 400},
        {"GET /healthz HTTP/1.1\r\n\r\n", 400},
        {"GET /healthz HTTP/1.1\r\nHost: [::1]\r\nHost: [::1]\r\n\r\n", 400},
        {"GET /healthz#f HTTP/1.1\r\nHost: [::1]\r\n\r\n", 400},
        {"GET /healthz HTTP/1.1\r\nHost: [::1]\r\n folded: y\r\n\r\n", 400},
        {"GET /healthz HTTP/2.0\r\nHost: [::1]\r\n\r\n", 505},
        {"POST /healthz HTTP/1.1\r\nHost: [::1]\r\nContent-Length: 1\r\nTransfer-Encoding: "
         "chunked\r\n\r\n",
            400},
        {"POST /healthz HTTP/1.1\r\nHost: [::1]\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n",
            400},
        {"POST /healthz HTTP/1.1\r\nHost: [::1]\r\nContent-Length: 65537\r\n\r\n", 413},
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        struct answer a;
        int fd = client_connect(&server);
        client_send(fd, cases[i].request);
        client_read(fd, &a, true);
        cr_expect_eq(a.status, cases[i].status, "%s: %d", cases[i].request, a.status);
        cr_expect(strstr(a.head, "\r\nContent-Type: application/problem+json\r\n"));
        cr_expect(strstr(a.head, "\r\nConnection: close\r\n"));
        cr_expect(client_is_closed(fd), "%s", cases[i].request);
        close(fd);
    }
}

Test(admin, names_the_methods_that_a_path_has)
{
    static const char *const methods[] = {"POST", "DELETE", "OPTIONS"};
    for (size_t i = 0; i < HL_ARRAY_LEN(methods); i++) {
        for (size_t j = 0; j < hl_api_endpoint_count; j++) {
            struct answer a;
            char request[128];
            snprintf(request, sizeof(request), "%s %s HTTP/1.1\r\nHost: [::1]\r\n\r\n", methods[i],
                hl_api_endpoints[j].path);
            ask_on(client_connect_local(&server), request, &a);
            cr_expect_eq(a.status, 405);
            cr_expect(strstr(a.head, "\r\nAllow: GET, HEAD\r\n"));
            cr_expect(strstr(a.body, "\"title\":\"Method Not Allowed\""));
        }
    }
}

Test(admin, serves_the_rest_interface_without_a_token_where_none_is_asked_for)
{
    static const char request[] = "GET /v2/projects/p/nothing HTTP/1.1\r\nHost: [::1]\r\n\r\n";
    struct answer a;
    ask(request, &a);
    cr_assert_eq(a.status, 404);
    cr_assert(strstr(a.body, "Nothing is served at this path"));
    ask_on(client_connect_local(&server), request, &a);
    cr_assert_eq(a.status, 404);
    cr_assert(strstr(a.body, "Nothing is served at this path"));
}

Test(admin, passes_over_a_body_to_the_next_request)
{
    struct answer a;
    int fd = client_connect(&server);
    client_send(
        fd, "POST /healthz HTTP/1.1\r\nHost: [::1]\r\nContent-Length: 11\r\n\r\nGET / HTTP/");
    client_read(fd, &a, true);
    cr_assert_eq(a.status, 405);
    client_send(fd, "POST /healthz HTTP/1.1\r\nHost: [::1]\r\nTransfer-Encoding: chunked\r\n\r\n"
                    "5\r\nhello\r\n6;a=b\r\n");
    client_send(fd, " world\r\n0\r\nX-Trailer: y\r\n\r\n");
    client_read(fd, &a, true);
    cr_assert_eq(a.status, 405);
    client_send(fd, "GET /healthz HTTP/1.1\r\nHost: [::1]\r\n\r\n");
    client_read(fd, &a, true);
    cr_assert_eq(a.status, 200);
    close(fd);
}

Test(admin, counts_a_chunked_body_against_the_limit)
{
    struct answer a;
    static char chunk[32 * 1024 + 1];
    int fd = client_connect(&server);
    memset(chunk, 'x', sizeof(chunk) - 1);
    client_send(fd, "POST /healthz HTTP/1.1\r\nHost: [::1]\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 2; i++) {
        client_send(fd, "8000\r\n");
        client_send(fd, chunk);
        client_send(fd, "\r\n");
    }
    struct pollfd answered = {.fd = fd, .events = POLLIN};
    cr_assert_eq(poll(&answered, 1, 100), 0); /* 64 KiB are allowed */
    client_send(fd, "1\r\nx");
    client_read(fd, &a, true);
    cr_assert_eq(a.status, 413);
    cr_assert(client_is_closed(fd));
    close(fd);
}

Test(admin, asks_for_the_body_of_a_client_that_waits)
{
    struct answer a;
    int fd = client_connect(&server);
    client_send(fd, "POST /healthz HTTP/1.1\r\nHost: [::1]\r\nExpect: 100-continue\r\n"
                    "Content-Length: 2\r\n\r\n");
    client_read(fd, &a, true);
    cr_assert_eq(a.status, 100);
    client_send(fd, "xy");
    client_read(fd, &a, true);
    cr_assert_eq(a.status, 405);
    close(fd);
}

Test(admin, stops_reading_while_answers_wait)
{
    static const char request[] = "GET /metrics HTTP/1.1\r\nHost: [::1]\r\n\r\n";
    static struct answer a;
    int fd = client_connect(&server), sent = 0, n;
    /* Until both sockets' buffers are full: a server that read on would take requests for ever. */
    while ((n = (int)send(fd, request, sizeof(request) - 1, MSG_DONTWAIT)) > 0 && sent < 64 << 20)
        sent += n;
    if (n < 0) {
        struct pollfd writable = {.fd = fd, .events = POLLOUT};
        cr_assert_eq(poll(&writable, 1, 500), 0);
    }
    cr_assert_lt(sent, 64 << 20);
    for (int i = 0; i < sent / (int)(sizeof(request) - 1); i++) {
        client_read(fd, &a, true);
        cr_assert_eq(a.status, 200);
        if (i == 200)
            break;
    }
    close(fd);
}

/* Takes all places, each with `request`. */
static void fill(int fds[HL_ADMIN_MAX_CONNECTIONS], const char *request, bool is_answered)
{
    struct answer a;
    for (int i = 0; i < HL_ADMIN_MAX_CONNECTIONS; i++) {
        fds[i] = client_connect(&server);
        client_send(fds[i], request);
        if (is_answered)
            client_read(fds[i], &a, true);
    }
}

Test(admin, closes_what_is_idle_for_longest_when_all_256_places_are_taken)
{
    static const char request[] = "GET /healthz HTTP/1.1\r\nHost: [::1]\r\n\r\n";
    static int fds[HL_ADMIN_MAX_CONNECTIONS];
    struct answer a;
    fill(fds, request, true);
    client_send(fds[0], request);
    client_read(fds[0], &a, true);
    client_send(fds[1], "GET /hea");
    ask(request, &a); /* the newcomer takes the place of fds[2], and leaves it */
    cr_assert_eq(a.status, 200);
    cr_assert(client_is_closed(fds[2]));
    client_send(fds[1], "lthz HTTP/1.1\r\nHost: [::1]\r\n\r\n");
    for (int i = 0; i < HL_ADMIN_MAX_CONNECTIONS; i++) {
        if (i == 2)
            continue;
        if (i != 1)
            client_send(fds[i], request);
        client_read(fds[i], &a, true);
        cr_assert_eq(a.status, 200);
    }
}

Test(admin, lets_a_257th_connection_wait_while_none_is_idle)
{
    static int fds[HL_ADMIN_MAX_CONNECTIONS];
    struct answer a;
    fill(fds, "GET /healthz HTTP/1.1\r\nHo", false);
    int waiting = client_connect(&server);
    client_send(waiting, "GET /healthz HTTP/1.1\r\nHost: [::1]\r\n\r\n");
    struct pollfd answered = {.fd = waiting, .events = POLLIN};
    cr_assert_eq(poll(&answered, 1, 200), 0);
    close(fds[7]);
    client_read(waiting, &a, true);
    cr_assert_eq(a.status, 200);
    client_send(fds[0], "st: x\r\n\r\n");
    client_read(fds[0], &a, true);
    cr_assert_eq(a.status, 200);
    close(waiting); /* the others are closed by the server */
}

Test(admin, says_which_address_it_cannot_have)
{
    struct sockaddr_in *in = (struct sockaddr_in *)&server.config->admin_listen.items[0].addr;
    uv_loop_t loop;
    struct hl_admin *second;
    char why[256];
    in->sin_port = htons(server.port);
    uv_loop_init(&loop);
    cr_assert_eq(
        hl_admin_open(&second, &loop, NULL, NULL, &server.view, why, sizeof(why)), HL_ERR_IO);
    cr_assert_null(second);
    cr_assert_str_eq(
        why, "cannot listen on HOOKLINE_ADMIN_LISTEN 127.0.0.1:9090: address already in use");
    cr_assert_eq(uv_run(&loop, UV_RUN_DEFAULT), 0);
    cr_assert_eq(uv_loop_close(&loop), 0);
}

/* ---- deadlines ---- */

Test(admin_deadline, ends_a_request_that_does_not_come_whole, .timeout = 180)
{
    struct answer a;
    server_start(&server, "HOOKLINE_HEAD_TIMEOUT=100ms");
    int head = client_connect(&server), body = client_connect(&server);
    client_send(head, "GET /healthz HT");
    client_send(body, "POST /healthz HTTP/1.1\r\nHost: [::1]\r\nContent-Length: 2\r\n\r\n1");
    client_read(head, &a, true);
    cr_assert_eq(a.status, 408);
    cr_assert(client_is_closed(head));
    client_read(body, &a, true);
    cr_assert_eq(a.status, 408);
    cr_assert(client_is_closed(body));
    close(head);
    close(body);
    server_stop(&server);
}

Test(admin_deadline, closes_an_idle_connection, .timeout = 180)
{
    struct answer a;
    server_start(&server, "HOOKLINE_KEEPALIVE_TIMEOUT=1s");
    int fresh = client_connect(&server), used = client_connect(&server);
    client_send(used, "GET /healthz HTTP/1.1\r\nHost: [::1]\r\n\r\n");
    client_read(used, &a, true);
    cr_assert(client_is_closed(fresh));
    cr_assert(client_is_closed(used));
    close(fresh);
    close(used);
    server_stop(&server);
}
