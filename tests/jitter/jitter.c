/* jitter.c - preloaded: a program is held up at random where it waits for something, after it has come, and around flushes
 * of files. What takes for given that one thing is noticed before another fails then, sooner than on a busy machine.
 *
 * $JITTER: in so many of a thousand cases, for at most so many microseconds: "30 30000". The programs that it starts are
 * not held up. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

static unsigned chance, most_us;

__attribute__((constructor)) static void begin(void)
{
    const char *how = getenv("JITTER");
    if (!how || sscanf(how, "%u %u", &chance, &most_us) != 2)
        chance = most_us = 0;
    unsetenv("JITTER");
    unsetenv("LD_PRELOAD");
}

/* xorshift, each thread its own: nothing is locked here. */
static uint64_t draw(void)
{
    static __thread uint64_t seed;
    if (seed == 0) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        seed = ((uint64_t)now.tv_nsec << 20) ^ (uintptr_t)&seed ^ (uint64_t)getpid();
    }
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

static void hold_up(void)
{
    uint64_t drawn = draw();
    int was = errno;
    if (most_us > 0 && drawn % 1000 < chance)
        usleep((useconds_t)((drawn >> 20) % most_us));
    errno = was;
}

static void *next_of(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

int epoll_wait(int epoll, struct epoll_event *events, int n, int ms)
{
    static int (*next)(int, struct epoll_event *, int, int);
    if (!next)
        *(void **)&next = next_of("epoll_wait");
    int got = next(epoll, events, n, ms);
    if (got > 0)
        hold_up();
    return got;
}

int epoll_pwait(int epoll, struct epoll_event *events, int n, int ms, const sigset_t *signals)
{
    static int (*next)(int, struct epoll_event *, int, int, const sigset_t *);
    if (!next)
        *(void **)&next = next_of("epoll_pwait");
    int got = next(epoll, events, n, ms, signals);
    if (got > 0)
        hold_up();
    return got;
}

int poll(struct pollfd *files, nfds_t n, int ms)
{
    static int (*next)(struct pollfd *, nfds_t, int);
    if (!next)
        *(void **)&next = next_of("poll");
    int got = next(files, n, ms);
    if (got > 0)
        hold_up();
    return got;
}

int fdatasync(int file)
{
    static int (*next)(int);
    if (!next)
        *(void **)&next = next_of("fdatasync");
    hold_up();
    int rc = next(file);
    hold_up();
    return rc;
}
