/* fake_app.c - sockets that the test holds. */
#include "fake_app.h"

#include <arpa/inet.h>
#include <criterion/assert.h>
#include <errno.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/list.h"
#include "caller/client.h"
#include "callers_fixture.h"
#include "config/config.h"
#include "loop_fixture.h"
#include "run/forward.h"
#include "run/page.h"
#include "run/run.h"
#include "run/runs.h"
#include "run/runs_fixture.h"

#define MOST    16
#define LONG_MS 600000

static int app = -1;
static struct {
    int fd; /* -1: the app has closed it */
    char got[65536];
    size_t n;
} wires[MOST];
static size_t wire_count;

void app_begin(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof(a);
    app = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    cr_assert_eq(bind(app, (struct sockaddr *)&a, n), 0);
    cr_assert_eq(listen(app, MOST), 0);
    cr_assert_eq(getsockname(app, (struct sockaddr *)&a, &n), 0);
    app_port = ntohs(a.sin_port);
    runs_begin();
    config.app_head_timeout_ms = config.app_idle_timeout_ms = config.connect_timeout_ms = LONG_MS;
    config.app_queue_timeout_ms = LONG_MS;
}

void app_stop(void)
{
    close(app);
    app = -1;
}

void app_end(void)
{
    HL_LIST_EACH_SAFE (node, &runs.list) {
        struct hl_run *run = HL_CONTAINER_OF(node, struct hl_run, node);
        if (run->client)
            hl_client_lose(run->client);
    }
    for (size_t i = 0; i < wire_count; i++)
        if (wires[i].fd >= 0)
            close(wires[i].fd);
    if (app >= 0)
        app_stop();
    runs_end();
}

bool app_is_called(void)
{
    int fd = accept4(app, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0)
        return false;
    cr_assert_lt(wire_count, MOST);
    wires[wire_count++].fd = fd;
    return true;
}

int app_accept(void)
{
    UNTIL(app_is_called());
    return (int)wire_count - 1;
}

static void read_all(int i)
{
    ssize_t n;
    while ((n = recv(wires[i].fd, wires[i].got + wires[i].n, sizeof(wires[i].got) - 1 - wires[i].n,
                0)) > 0)
        wires[i].n += (size_t)n;
}

bool app_has_got(int i, const char *part)
{
    read_all(i);
    return strstr(wires[i].got, part) != NULL;
}

void app_await(int i, const char *part)
{
    UNTIL(app_has_got(i, part));
}

void app_say(int i, const char *text)
{
    cr_assert_eq(send(wires[i].fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

size_t app_pour(int i, const char *p, size_t n)
{
    ssize_t sent = send(wires[i].fd, p, n, MSG_NOSIGNAL | MSG_DONTWAIT);
    return sent > 0 ? (size_t)sent : 0;
}

bool app_is_acknowledged(int i)
{
    int waiting = 0;
    cr_assert_eq(ioctl(wires[i].fd, SIOCOUTQ, &waiting), 0);
    return waiting == 0;
}

void app_close(int i)
{
    close(wires[i].fd);
    wires[i].fd = -1;
}

bool app_is_left(int i)
{
    char byte;
    read_all(i);
    ssize_t n = recv(wires[i].fd, &byte, 1, MSG_PEEK);
    return n == 0 || (n < 0 && errno == ECONNRESET);
}

void run_set_page(struct hl_run *run, const char *text, enum hl_framing framing)
{
    cr_assert(hl_page_make(&run->request.page, &runs.pages, 1));
    hl_page_append(&run->request.page, hl_str_from(text));
    run->request.framing = framing;
}

struct hl_run *app_call(int *caller)
{
    struct hl_run *run = run_called(caller);
    run_set_page(run, APP_GET, HL_FRAMING_NONE);
    hl_client_give_to(run->client, &hl_forward_taker, run);
    hl_forward_begin(run);
    return run;
}

struct hl_run *app_call_with_body(int *caller, const char *lines, enum hl_framing framing)
{
    char text[256];
    unsigned heads = taker.heads;
    *caller = caller_call();
    taker.is_blocked = true;
    snprintf(text, sizeof(text), "POST /x HTTP/1.1\r\nHost: h\r\n%s\r\n\r\n", lines);
    caller_say(*caller, text);
    UNTIL(taker.heads == heads + 1);
    struct hl_run *run = run_new();
    run->client = taker.client;
    run->caller.minor = 1;
    run->request.method = HL_METHOD_POST;
    hl_counter_add(&metrics.calls_in_flight, 1);
    run_set_page(run, text, framing);
    hl_client_give_to(run->client, &hl_forward_taker, run);
    hl_forward_begin(run);
    if (run->client)
        hl_client_resume(run->client);
    return run;
}
