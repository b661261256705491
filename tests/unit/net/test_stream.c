/* test_stream.c - a connected socket as events, with a raw socket as its peer. */
#include "base/clock.h"
#include "base/str.h"
#include "net/stream.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "loop_fixture.h"

#define MUCH (16u << 20) /* more than the kernel's buffers hold */

struct probe {
    struct hl_stream stream;
    unsigned connected, ended, failed, write_failed, drained, closed;
    int error; /* of the last CONNECTED or FAILED */
    size_t received;
    unsigned reads_in_turn, most_reads_in_turn;
    uint64_t turn;
    char first[16]; /* the first bytes received */
};

static struct probe probe;
static int peer = -1; /* non-blocking */

static void run_turns(int n)
{
    loop_turns(n);
}

static void on_bytes(struct probe *p, const struct hl_stream_event *event)
{
    for (size_t i = 0; i < event->n && p->received + i < sizeof(p->first); i++)
        p->first[p->received + i] = event->p[i];
    p->received += event->n;
    if (p->turn != reader.turn)
        p->reads_in_turn = 0;
    p->turn = reader.turn;
    if (++p->reads_in_turn > p->most_reads_in_turn)
        p->most_reads_in_turn = p->reads_in_turn;
}

static void on_event(struct hl_stream *stream, const struct hl_stream_event *event)
{
    struct probe *p = HL_CONTAINER_OF(stream, struct probe, stream);
    cr_assert_eq(p->closed, 0, "CLOSED is the last event");
    switch (event->kind) {
    case HL_STREAM_CONNECTED:
        p->connected++;
        p->error = event->error;
        break;
    case HL_STREAM_DATA:
        on_bytes(p, event);
        break;
    case HL_STREAM_EOF:
        p->ended++;
        break;
    case HL_STREAM_FAILED:
        p->failed++;
        p->error = event->error;
        break;
    case HL_STREAM_WRITE_FAILED:
        p->write_failed++;
        p->error = event->error;
        break;
    case HL_STREAM_DRAINED:
        p->drained++;
        break;
    case HL_STREAM_CLOSED:
        p->closed++;
        break;
    }
}

static int listen_somewhere(struct sockaddr_in *a)
{
    socklen_t n = sizeof(*a);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    *a = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    cr_assert_eq(bind(fd, (struct sockaddr *)a, sizeof(*a)), 0);
    cr_assert_eq(listen(fd, 1), 0);
    cr_assert_eq(getsockname(fd, (struct sockaddr *)a, &n), 0);
    return fd;
}

static void begin(void)
{
    loop_begin();
    cr_assert_eq(hl_stream_init_tcp(&probe.stream, &loop, &reader, on_event), 0);
}

/* The stream and `peer` are connected; nothing is read yet. */
static void connect_peer(void)
{
    struct sockaddr_in a;
    int server = listen_somewhere(&a);
    cr_assert_eq(hl_stream_connect_tcp(&probe.stream, (struct sockaddr *)&a), 0);
    cr_assert_eq(probe.connected, 0, "not before the return");
    UNTIL(probe.connected);
    cr_assert_eq(probe.error, 0);
    peer = accept4(server, NULL, NULL, SOCK_NONBLOCK);
    cr_assert_geq(peer, 0);
    close(server);
}

static void end(void)
{
    hl_stream_close(&probe.stream);
    UNTIL(probe.closed == 1);
    loop_end();
    if (peer >= 0)
        close(peer);
}

TestSuite(stream, .init = begin, .fini = end, .timeout = 180);

/* ---- the peer's side ---- */

static char pattern_at(size_t i)
{
    return (char)(i * 31 + i / 251);
}

static char *make_pattern(size_t n)
{
    char *p = malloc(n);
    for (size_t i = 0; i < n; i++)
        p[i] = pattern_at(i);
    return p;
}

/* Takes what is there; checks that it goes on at `from`. Returns the new position; *ended: FIN. */
static size_t peer_take(size_t from, bool *ended)
{
    static char buffer[256 * 1024];
    ssize_t n;
    while ((n = read(peer, buffer, sizeof(buffer))) > 0) {
        for (ssize_t i = 0; i < n; i++)
            if (buffer[i] != pattern_at(from + (size_t)i))
                cr_assert_fail("byte %zu is wrong", from + (size_t)i);
        from += (size_t)n;
    }
    *ended = n == 0;
    cr_assert(n == 0 || errno == EAGAIN);
    return from;
}

/* ---- connecting ---- */

Test(stream, says_that_nobody_listens)
{
    struct sockaddr_in a;
    close(listen_somewhere(&a));
    cr_assert_eq(hl_stream_connect_tcp(&probe.stream, (struct sockaddr *)&a), 0);
    UNTIL(probe.connected);
    cr_assert_eq(probe.error, UV_ECONNREFUSED);
}

Test(stream, may_be_closed_while_it_connects)
{
    struct sockaddr_in a;
    int server = listen_somewhere(&a);
    cr_assert_eq(hl_stream_connect_tcp(&probe.stream, (struct sockaddr *)&a), 0);
    hl_stream_close(&probe.stream);
    UNTIL(probe.closed);
    cr_assert_eq(probe.connected, 0);
    close(server);
}

Test(stream, speaks_to_a_unix_socket)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    static struct probe local;
    char dir[] = "/tmp/hl-stream-XXXXXX";
    cr_assert_not_null(mkdtemp(dir));
    snprintf(a.sun_path, sizeof(a.sun_path), "%s/s", dir);
    int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_eq(bind(server, (struct sockaddr *)&a, sizeof(a)), 0);
    cr_assert_eq(listen(server, 1), 0);
    cr_assert_eq(hl_stream_init_unix(&local.stream, &loop, &reader, on_event), 0);
    cr_assert_eq(hl_stream_connect_unix(&local.stream, a.sun_path), 0);
    UNTIL(local.connected);
    cr_assert_eq(local.error, 0);
    peer = accept4(server, NULL, NULL, SOCK_NONBLOCK);
    hl_stream_resume(&local.stream);
    cr_assert_eq(write(peer, "hello", 5), 5);
    UNTIL(local.received == 5);
    hl_stream_close(&local.stream);
    UNTIL(local.closed);
    close(server);
    unlink(a.sun_path);
    rmdir(dir);
}

/* ---- reading ---- */

Test(stream, gives_bytes_and_the_end)
{
    connect_peer();
    hl_stream_resume(&probe.stream);
    cr_assert_eq(write(peer, "hello", 5), 5);
    UNTIL(probe.received == 5);
    cr_assert_arr_eq(probe.first, "hello", 5);
    shutdown(peer, SHUT_WR);
    UNTIL(probe.ended == 1);
    run_turns(5);
    cr_assert_eq(probe.ended, 1);
    cr_assert_eq(probe.failed, 0);
}

Test(stream, reads_nothing_while_paused)
{
    connect_peer();
    hl_stream_resume(&probe.stream);
    hl_stream_resume(&probe.stream); /* harmless */
    hl_stream_pause(&probe.stream);
    hl_stream_pause(&probe.stream);
    cr_assert_eq(write(peer, "hello", 5), 5);
    run_turns(10);
    cr_assert_eq(probe.received, 0);
    hl_stream_resume(&probe.stream);
    UNTIL(probe.received == 5);
}

Test(stream, reads_a_bounded_number_of_times_a_turn)
{
    size_t sent = 0, want = 4u << 20;
    char *bytes = make_pattern(want);
    connect_peer();
    ssize_t n;
    while (sent < want && (n = write(peer, bytes + sent, want - sent)) > 0)
        sent += (size_t)n;
    cr_assert_gt(sent, HL_READS_PER_TURN * 2 * HL_READ_SIZE, "enough for several turns");
    hl_stream_resume(&probe.stream);
    UNTIL(probe.received == sent);
    cr_assert_eq(probe.most_reads_in_turn, HL_READS_PER_TURN);
    free(bytes);
}

Test(stream, says_that_the_peer_reset_it)
{
    struct linger hard = {.l_onoff = 1, .l_linger = 0};
    connect_peer();
    hl_stream_resume(&probe.stream);
    setsockopt(peer, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
    close(peer);
    peer = -1;
    UNTIL(probe.failed == 1);
    cr_assert_eq(probe.error, UV_ECONNRESET);
    cr_assert_eq(hl_stream_write(&probe.stream, "x", 1), HL_ERR_IO);
}

/* ---- writing ---- */

Test(stream, tells_a_reset_behind_bytes_from_an_end)
{
    connect_peer();
    cr_assert_eq(write(peer, "abc", 3), 3);
    struct linger hard = {.l_onoff = 1};
    setsockopt(peer, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
    close(peer);
    peer = -1;
    hl_stream_resume(&probe.stream);
    UNTIL(probe.failed || probe.ended);
    cr_assert_eq(probe.received, 3);
    cr_assert_eq(probe.failed, 1);
    cr_assert_eq(probe.error, UV_ECONNRESET);
}

Test(stream, an_end_is_one_though_a_reset_comes_behind_it)
{
    connect_peer();
    cr_assert_eq(write(peer, "abc", 3), 3);
    close(peer);
    peer = -1;
    cr_assert_eq(hl_stream_write(&probe.stream, "x", 1), HL_OK); /* which nobody takes any more */
    run_turns(3);
    hl_stream_resume(&probe.stream);
    UNTIL(probe.failed || probe.ended);
    cr_assert_eq(probe.received, 3);
    cr_assert_eq(probe.ended, 1);
}

Test(stream, keeps_what_the_socket_does_not_take)
{
    char *bytes = make_pattern(MUCH);
    bool ended = false;
    size_t got = 0;
    connect_peer();
    cr_assert_eq(hl_stream_write2(&probe.stream, (struct hl_str){bytes, 100000},
                     (struct hl_str){bytes + 100000, MUCH - 200000}),
        HL_OK);
    cr_assert(hl_stream_is_blocked(&probe.stream));
    size_t unsent = hl_stream_unsent(&probe.stream);
    cr_assert_gt(unsent, 0);
    /* behind what waits, in order, even if the socket would take it now */
    cr_assert_eq(hl_stream_write(&probe.stream, bytes + MUCH - 100000, 100000), HL_OK);
    cr_assert_eq(hl_stream_unsent(&probe.stream), unsent + 100000);
    free(bytes); /* it was copied */
    run_turns(3);
    cr_assert_eq(probe.drained, 0);
    UNTIL((got = peer_take(got, &ended)) == MUCH);
    UNTIL(probe.drained == 1);
    cr_assert_not(hl_stream_is_blocked(&probe.stream));
    cr_assert_eq(hl_stream_unsent(&probe.stream), 0);
}

/* Bytes wait for a peer that has said something and then reset the connection. */
static void lose_what_waits(void)
{
    char *bytes = make_pattern(MUCH);
    connect_peer();
    cr_assert_eq(hl_stream_write(&probe.stream, bytes, MUCH), HL_OK);
    cr_assert(hl_stream_is_blocked(&probe.stream));
    free(bytes);
    cr_assert_eq(write(peer, "last words", 10), 10);
    close(peer); /* it has read nothing */
    peer = -1;
}

Test(stream, still_reads_what_its_peer_said_before_a_write_failed)
{
    lose_what_waits();
    UNTIL(probe.write_failed == 1);
    cr_assert_eq(probe.failed, 0);
    cr_assert_eq(hl_stream_write(&probe.stream, "x", 1), HL_ERR_IO);
    hl_stream_resume(&probe.stream); /* it was slow to read */
    UNTIL(probe.received == 10);
    UNTIL(probe.failed == 1);
    cr_assert_eq(probe.error, UV_ECONNRESET, "the write has taken the error off the socket");
    cr_assert_eq(probe.ended, 0);
}

Test(stream, counts_nothing_of_a_write_that_failed)
{
    const struct linger at_once = {.l_onoff = 1};
    connect_peer();
    cr_assert_eq(hl_stream_write(&probe.stream, "first", 5), HL_OK);
    cr_assert_eq(setsockopt(peer, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)), 0);
    close(peer);
    peer = -1;
    UNTIL(hl_stream_has_peer_left(&probe.stream));
    cr_assert_eq(hl_stream_write(&probe.stream, "second", 6), HL_ERR_IO);
    cr_assert_eq(probe.stream.written, 5);
}

Test(stream, tells_what_its_peer_has_taken)
{
    char *bytes = make_pattern(MUCH);
    char piece[65536];
    connect_peer();
    cr_assert_eq(hl_stream_taken(&probe.stream), 0);
    cr_assert_eq(hl_stream_write(&probe.stream, bytes, MUCH), HL_OK);
    free(bytes);
    run_turns(3);
    uint64_t taken = hl_stream_taken(&probe.stream), give_up = hl_clock_mono_ms() + PATIENCE_MS;
    size_t unsent = hl_stream_unsent(&probe.stream);
    cr_assert_lt(taken, MUCH - unsent, "what the kernel holds is not taken");
    while (hl_stream_taken(&probe.stream) == taken) { /* the loop stands still */
        cr_assert_lt(hl_clock_mono_ms(), give_up);
        cr_assert(read(peer, piece, sizeof(piece)) > 0 || errno == EAGAIN);
    }
    cr_assert_eq(hl_stream_unsent(&probe.stream), unsent);
}

Test(stream, splits_in_either_slice)
{
    char *bytes = make_pattern(MUCH);
    bool ended = false;
    size_t got = 0;
    connect_peer();
    cr_assert_eq(hl_stream_write2(&probe.stream, (struct hl_str){bytes, MUCH - 10},
                     (struct hl_str){bytes + MUCH - 10, 10}),
        HL_OK);
    UNTIL((got = peer_take(got, &ended)) == MUCH);
    UNTIL(probe.drained == 1);
    free(bytes);
}

Test(stream, owns_nothing_when_the_socket_takes_it_all)
{
    connect_peer();
    cr_assert_eq(hl_stream_write(&probe.stream, "x", 1), HL_OK);
    cr_assert_not(hl_stream_is_blocked(&probe.stream));
    run_turns(3);
    cr_assert_eq(probe.drained, 0, "there was nothing to drain");
}

Test(stream, sends_its_end_behind_what_waits_and_still_reads)
{
    char *bytes = make_pattern(MUCH);
    bool ended = false;
    size_t got = 0;
    connect_peer();
    hl_stream_resume(&probe.stream);
    cr_assert_eq(hl_stream_write(&probe.stream, bytes, MUCH), HL_OK);
    hl_stream_shutdown(&probe.stream);
    UNTIL((got = peer_take(got, &ended), ended));
    cr_assert_eq(got, MUCH);
    cr_assert_eq(write(peer, "hello", 5), 5);
    UNTIL(probe.received == 5);
    cr_assert_eq(hl_stream_write(&probe.stream, "x", 1), HL_ERR_IO);
    free(bytes);
}

Test(stream, sends_its_end_at_once_when_nothing_waits)
{
    bool ended = false;
    connect_peer();
    hl_stream_shutdown(&probe.stream);
    hl_stream_shutdown(&probe.stream); /* harmless */
    UNTIL((peer_take(0, &ended), ended));
}

/* ---- closing ---- */

Test(stream, says_only_that_it_closed_when_bytes_still_wait)
{
    char *bytes = make_pattern(MUCH);
    connect_peer();
    hl_stream_resume(&probe.stream);
    cr_assert_eq(hl_stream_write(&probe.stream, bytes, MUCH), HL_OK);
    cr_assert_eq(write(peer, "hello", 5), 5);
    hl_stream_close(&probe.stream);
    hl_stream_close(&probe.stream); /* harmless */
    cr_assert_eq(hl_stream_write(&probe.stream, "x", 1), HL_ERR_IO);
    hl_stream_resume(&probe.stream);
    UNTIL(probe.closed == 1);
    cr_assert_eq(probe.drained + probe.failed + probe.ended + probe.received, 0);
    free(bytes);
}

Test(stream, resets_when_asked_to)
{
    char byte;
    connect_peer();
    hl_stream_close_reset(&probe.stream);
    UNTIL(probe.closed == 1);
    UNTIL(read(peer, &byte, 1) < 0 && errno != EAGAIN);
    cr_assert_eq(errno, ECONNRESET);
}
