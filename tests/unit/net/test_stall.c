/* test_stall.c - whether a peer takes of what waits for it. */
#include "base/clock.h"
#include "net/stream.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loop_fixture.h"

#define MUCH (16u << 20) /* more than the kernel's buffers hold */

static struct hl_stream stream;
static struct hl_stall stall;
static struct hl_timer timer;
static int peer = -1;

static void on_event(struct hl_stream *s, const struct hl_stream_event *event)
{
    (void)s;
    (void)event;
}

static void on_fire(struct hl_timer *t)
{
    (void)t;
}

static void begin(void)
{
    static char bytes[MUCH];
    int ends[2];
    loop_begin();
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    peer = ends[1];
    cr_assert_eq(hl_stream_init_unix(&stream, &loop, &reader, on_event), 0);
    cr_assert_eq(uv_pipe_open(&stream.pipe, ends[0]), 0);
    hl_timer_init(&timer, on_fire);
    cr_assert_eq(hl_stream_write(&stream, bytes, sizeof(bytes)), HL_OK);
    cr_assert(hl_stream_is_blocked(&stream));
    hl_stall_watch(&stall, &stream, &wheel, &timer, 1);
}

static void end(void)
{
    hl_stream_close(&stream);
    hl_timer_fini(&wheel, &timer);
    loop_end();
    close(peer);
}

TestSuite(stall, .init = begin, .fini = end);

static void read_until_taken(void)
{
    static char piece[65536];
    uint64_t taken = hl_stream_taken(&stream), give_up = hl_clock_mono_ms() + PATIENCE_MS;
    while (hl_stream_taken(&stream) == taken) {
        cr_assert_lt(hl_clock_mono_ms(), give_up);
        cr_assert_gt(read(peer, piece, sizeof(piece)), 0);
    }
}

Test(stall, is_over_when_the_peer_took_nothing)
{
    cr_assert(hl_stall_is_over(&stall, &stream, &wheel, &timer, 1));
}

Test(stall, goes_on_while_the_peer_takes_what_the_kernel_holds)
{
    size_t unsent = hl_stream_unsent(&stream);
    read_until_taken();
    cr_assert_eq(hl_stream_unsent(&stream), unsent, "nothing moved on our side");
    hl_timer_disarm(&timer);
    cr_assert_not(hl_stall_is_over(&stall, &stream, &wheel, &timer, 1));
    cr_assert(hl_timer_is_armed(&timer), "it is watched on");
    cr_assert(hl_stall_is_over(&stall, &stream, &wheel, &timer, 1), "and took no more since");
}

Test(stall, does_not_move_with_what_is_written_meanwhile)
{
    uint64_t deadline = timer.deadline;
    uv_sleep(2);
    uv_update_time(&loop);
    cr_assert_eq(hl_stream_write(&stream, "x", 1), HL_OK);
    hl_stall_watch(&stall, &stream, &wheel, &timer, 1);
    cr_assert_eq(timer.deadline, deadline);
    cr_assert(hl_stall_is_over(&stall, &stream, &wheel, &timer, 1));
}

Test(stall, gives_a_slow_reader_time)
{
    cr_assert_geq(timer.deadline, uv_now(&loop) + HL_STALL_LEAST_MS);
    hl_stall_end(&stall);
    hl_stall_watch(&stall, &stream, &wheel, &timer, 60000);
    cr_assert_geq(timer.deadline, uv_now(&loop) + 60000);
}
