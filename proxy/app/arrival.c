/* arrival.c - when what was read from a pipe can have come.
 * Owns: two handles, which keep no loop running, and a file of /proc. Thread: the loop's.
 * Promise: a time that is not too late; where the system does not say how long a thread waited for a processor, if that
 * is no longer than HL_ARRIVAL_WAKE_US. */
#include "app/arrival.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"

#define MS      1000 /* in us; the loop's clock is as fine */
#define NOTE_US (100 * MS)

static uint64_t read_waited_us(const struct hl_arrival *a)
{
    char text[64];
    uint64_t ns = 0;
    ssize_t n = a->waits_fd >= 0 ? pread(a->waits_fd, text, sizeof(text) - 1, 0) : 0;
    text[n > 0 ? n : 0] = '\0';
    return sscanf(text, "%*u %" SCNu64, &ns) == 1 ? ns / 1000 : 0;
}

static void note_waited(struct hl_arrival *a)
{
    a->waited_us = read_waited_us(a);
    a->noted_us = a->before_us;
}

static void on_before(uv_prepare_t *handle)
{
    struct hl_arrival *a = handle->data;
    a->before_us = hl_clock_mono_us();
    if (a->before_us - a->noted_us >= NOTE_US)
        note_waited(a);
}

static void on_after(uv_check_t *handle)
{
    ((struct hl_arrival *)handle->data)->after_us = uv_now(handle->loop) * MS;
}

void hl_arrival_open(struct hl_arrival *a, uv_loop_t *loop)
{
    uv_prepare_init(loop, &a->before);
    uv_check_init(loop, &a->after);
    a->before.data = a->after.data = a;
    a->before_us = a->after_us = hl_clock_mono_us();
    a->waits_fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    note_waited(a);
    uv_prepare_start(&a->before, on_before);
    uv_check_start(&a->after, on_after);
    uv_unref((uv_handle_t *)&a->before);
    uv_unref((uv_handle_t *)&a->after);
    a->is_open = true;
}

void hl_arrival_close(struct hl_arrival *a)
{
    if (!a->is_open)
        return;
    a->is_open = false;
    if (a->waits_fd >= 0)
        close(a->waits_fd);
    uv_close((uv_handle_t *)&a->before, NULL);
    uv_close((uv_handle_t *)&a->after, NULL);
}

/* The pipe was read to its end before. A loop that did not sleep was late: it may have come at any time
 * since the look before. */
static uint64_t begin_of_look(const struct hl_arrival *a)
{
    uint64_t woken_us = uv_now(a->before.loop) * MS;
    bool has_slept = woken_us > a->before_us + MS;
    if (!has_slept)
        return a->after_us;
    uint64_t wake_us = HL_ARRIVAL_WAKE_US + read_waited_us(a) - a->waited_us;
    return woken_us - a->before_us > wake_us ? woken_us - wake_us : a->before_us;
}

uint64_t hl_arrival_of(const struct hl_arrival *a, struct hl_arrival_pipe *pipe, bool is_all)
{
    uint64_t from_us = pipe->empty_us;
    if (!pipe->is_behind) {
        uint64_t look_us = begin_of_look(a);
        from_us = look_us > from_us ? look_us : from_us;
    }
    uint64_t woken_us = uv_now(a->before.loop) * MS;
    pipe->empty_us = is_all && woken_us > from_us ? woken_us : from_us;
    pipe->is_behind = !is_all;
    return from_us;
}
