/* test_peer.c - whether a peer answers: on loopback its kernel does, whatever the program does. */
#include "base/clock.h"
#include "net/stream.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/tcp.h>
#include <unistd.h>
#include <uv/unix.h>

#include "loop_fixture.h"

#define MUCH (16u << 20) /* more than the kernel's buffers hold */

static struct hl_stream stream;
static int peer = -1;

static void on_event(struct hl_stream *s, const struct hl_stream_event *event)
{
    (void)s;
    (void)event;
}

static void begin(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof(a);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_eq(bind(listener, (struct sockaddr *)&a, sizeof(a)), 0);
    cr_assert_eq(listen(listener, 1), 0);
    cr_assert_eq(getsockname(listener, (struct sockaddr *)&a, &n), 0);
    loop_begin();
    cr_assert_eq(hl_stream_init_tcp(&stream, &loop, &reader, on_event), 0);
    cr_assert_eq(hl_stream_connect_tcp(&stream, (struct sockaddr *)&a), 0);
    loop_turns(1);
    peer = accept(listener, NULL, NULL);
    cr_assert_geq(peer, 0);
    close(listener);
}

static void end(void)
{
    hl_stream_close(&stream);
    loop_end();
    close(peer);
}

TestSuite(peer, .init = begin, .fini = end);

static struct tcp_info ask(void)
{
    uv_os_fd_t fd;
    struct tcp_info info;
    socklen_t n = sizeof(info);
    cr_assert_eq(uv_fileno(&stream.handle, &fd), 0);
    cr_assert_eq(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &n), 0);
    return info;
}

Test(peer, is_not_silent_while_nothing_is_said)
{
    struct hl_silence silence = {.since_ms = 1};
    cr_assert_not(hl_peer_is_silent(&silence, &stream, hl_clock_mono_ms(), 0));
    cr_assert_eq(silence.since_ms, 0);
}

Test(peer, is_not_silent_while_it_takes_nothing_but_answers)
{
    static char bytes[MUCH];
    struct hl_silence silence = {.since_ms = 0};
    uint64_t begun = hl_clock_mono_ms(), now;
    cr_assert_eq(hl_stream_write(&stream, bytes, sizeof(bytes)), HL_OK);
    do { /* the kernel asks after the closed window again and again, and is answered */
        now = hl_clock_mono_ms();
        cr_assert_not(hl_peer_is_silent(&silence, &stream, now, 2000));
        uv_sleep(20);
    } while (ask().tcpi_backoff < 4 && now - begun < PATIENCE_MS);
    cr_assert_geq(ask().tcpi_backoff, 4);
}

Test(peer, is_probed)
{
    uv_os_fd_t fd;
    int value[4] = {0};
    socklen_t n = sizeof(int);
    cr_assert_eq(uv_fileno(&stream.handle, &fd), 0);
    hl_peer_probe(fd, 15, 10, 3);
    cr_assert_eq(getsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &value[0], &n), 0);
    cr_assert_eq(getsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &value[1], &n), 0);
    cr_assert_eq(getsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &value[2], &n), 0);
    cr_assert_eq(getsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &value[3], &n), 0);
    cr_assert(value[0] && value[1] == 15 && value[2] == 10 && value[3] == 3);
}
