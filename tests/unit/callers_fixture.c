/* callers_fixture.c - what a worker lends to its callers, and what it does with a head, as little as
 * can be. */
#include "callers_fixture.h"

#include <arpa/inet.h>
#include <criterion/assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "caller/client.h"
#include "config/config.h"
#include "http/problem.h"
#include "loop_fixture.h"

#define MOST_FDS 64

struct hl_config config;
struct hl_callers callers;
struct hl_worker_metrics metrics;
struct hl_trouble trouble;
struct hl_id_source ids;
struct fake_taker taker;

static _Atomic uint64_t full_noted_ms;
static int fds[MOST_FDS];
static size_t fd_count;

/* ---- the taker ---- */

static bool is_blocked(void *owner)
{
    (void)owner;
    return taker.is_blocked;
}

static void on_body(void *owner, struct hl_str data)
{
    (void)owner;
    cr_assert_lt(taker.told.body_n + data.n, sizeof(taker.told.body));
    memcpy(taker.told.body + taker.told.body_n, data.p, data.n);
    taker.told.body_n += data.n;
}

static void on_body_end(void *owner, struct hl_str trailer)
{
    (void)owner;
    snprintf(taker.told.trailer, sizeof(taker.told.trailer), "%.*s", HL_STR_ARG(trailer));
    taker.told.ended++;
}

/* As every taker does whose caller has seen nothing. */
static void on_failed(void *owner, const struct hl_refusal *why)
{
    struct hl_client *c = taker.client;
    struct hl_answer answer = {.refusal = why};
    (void)owner;
    taker.told.failed++;
    taker.told.status = why->status;
    taker.client = NULL;
    hl_client_answer(c, &answer, HL_MODE_SYNC);
}

static void on_gone(void *owner)
{
    (void)owner;
    taker.told.gone++;
    taker.client = NULL;
}

static void on_drained(void *owner)
{
    (void)owner;
    taker.told.drained++;
}

static bool needs_caller(void *owner)
{
    (void)owner;
    return taker.needs_caller;
}

/* ---- what the worker does ---- */

static size_t on_head(struct hl_client *c, struct hl_str rest)
{
    const struct hl_head *head = &callers.head;
    (void)rest;
    if (taker.later > 0) {
        taker.later--;
        taker.client = c;
        return HL_CALL_LATER;
    }
    taker.told = (struct told){.target = ""};
    snprintf(taker.told.target, sizeof(taker.told.target), "%.*s", HL_STR_ARG(head->target));
    taker.heads++;
    taker.client = c;
    c->method = head->method_id;
    c->minor = head->minor;
    c->must_close = !head->is_persistent || callers.is_draining;
    c->body_seen = 0;
    c->body_max = taker.body_max;
    c->body_done = c->messages.framing != HL_FRAMING_CHUNKED && c->messages.left == 0;
    c->owes_continue = head->expects_continue && !c->body_done;
    hl_client_give_to(c, &taker.table, &taker);
    return 0;
}

static void on_closed(struct hl_callers *all)
{
    (void)all;
}

void callers_begin(void)
{
    const uint64_t long_ms = 600000;
    hl_log_setup(HL_LOG_ERROR, HL_LOG_JSON);
    config = (struct hl_config){.head_timeout_ms = long_ms,
        .body_timeout_ms = long_ms,
        .keepalive_timeout_ms = long_ms,
        .write_timeout_ms = long_ms,
        .max_connections = MOST_FDS};
    taker = (struct fake_taker){.table = {is_blocked, on_body, on_body_end, on_failed, on_gone,
                                    on_drained, needs_caller, true, true},
        .needs_caller = true,
        .body_max = UINT64_MAX};
    metrics = (struct hl_worker_metrics){.connections_open = {0}};
    hl_id_source_init(&ids);
    hl_trouble_init(&trouble, &wheel);
    callers = (struct hl_callers){.config = &config,
        .loop = &loop,
        .wheel = &wheel,
        .reader = &reader,
        .ids = &ids,
        .trouble = &trouble,
        .metrics = &metrics,
        .full_noted_ms = &full_noted_ms,
        .on_head = on_head,
        .on_closed = on_closed,
        .max = config.max_connections,
        .rules = {.max_head = 4096,
            .max_trailer = 4096,
            .no_head = hl_refusal_make(HL_REFUSAL_NO_HEAD),
            .head_too_large = hl_refusal_make(HL_REFUSAL_HEAD_TOO_LARGE)}};
    hl_callers_init(&callers);
}

void callers_end(void)
{
    hl_callers_cut(&callers);
    UNTIL(callers.count == 0);
    cr_assert_eq(hl_counter_get(&metrics.connections_open), 0);
    cr_assert(callers.places_taken == 0 && callers.spares_taken == 0, "a place is lost");
    hl_timer_fini(&wheel, &callers.departures.timer);
    hl_strangers_fini(&callers.strangers);
    hl_callers_fini(&callers);
    hl_trouble_fini(&trouble);
    while (fd_count > 0)
        close(fds[--fd_count]);
}

/* ---- the callers' ends ---- */

int caller_call(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof(a);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_eq(bind(listener, (struct sockaddr *)&a, n), 0);
    cr_assert_eq(listen(listener, 1), 0);
    cr_assert_eq(getsockname(listener, (struct sockaddr *)&a, &n), 0);
    cr_assert_eq(connect(fd, (struct sockaddr *)&a, n), 0);
    int accepted = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    cr_assert_geq(accepted, 0);
    close(listener);
    cr_assert_lt(fd_count, MOST_FDS);
    fds[fd_count++] = fd;
    hl_callers_adopt(&callers, accepted);
    return fd;
}

void caller_say(int fd, const char *text)
{
    cr_assert_eq(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

void caller_end(int fd)
{
    cr_assert_eq(shutdown(fd, SHUT_WR), 0);
}

const char *caller_hear(int fd)
{
    static char text[65536];
    ssize_t n;
    size_t used = 0;
    while (used < sizeof(text) - 1 &&
           (n = recv(fd, text + used, sizeof(text) - 1 - used, MSG_DONTWAIT)) > 0)
        used += (size_t)n;
    text[used] = '\0';
    return text;
}

const char *caller_await(int fd, const char *part)
{
    static char text[65536];
    size_t n = 0;
    text[0] = '\0';
    UNTIL_WITH(n += (size_t)snprintf(text + n, sizeof(text) - n, "%s", caller_hear(fd)),
        strstr(text, part));
    return text;
}

int caller_ending(int fd)
{
    char bytes[4096];
    ssize_t n;
    do
        n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
    while (n > 0);
    return n == 0 ? 0 : errno == EAGAIN ? -1 : errno;
}

void answer_with(const char *text)
{
    struct hl_client *c = taker.client;
    taker.client = NULL;
    cr_assert_eq(hl_client_write2(c, hl_str_from(text), HL_STR("")), HL_OK);
    c->status = 200;
    hl_client_call_done(c, true);
}
