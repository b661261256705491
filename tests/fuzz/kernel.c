/* kernel.c - stands between the program and the C library. Each function does what the system call
 * does but for what kernel.h says. One thread. */
#include "kernel.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <syscall.h>
#include <time.h>
#include <unistd.h>

/* The C library declares connect and getpeername with a transparent union. */
#pragma GCC diagnostic ignored "-Wpedantic"

#define MAX_FD 1024

static uint64_t now_ms = 1000000;
static uint64_t activity;
static struct kernel_socket *sockets[MAX_FD];
static struct sockaddr_storage app_address;
static socklen_t app_address_len;
static struct kernel_socket *(*on_app_connect)(void);

void kernel_advance(uint64_t ms)
{
    now_ms += ms;
}

void kernel_watch(int fd, struct kernel_socket *socket)
{
    if (fd >= 0 && fd < MAX_FD)
        sockets[fd] = socket;
}

void kernel_forget(void)
{
    memset(sockets, 0, sizeof sockets);
}

void kernel_serve(
    const struct sockaddr *address, socklen_t len, struct kernel_socket *(*on_connect)(void))
{
    memcpy(&app_address, address, len);
    app_address_len = len;
    on_app_connect = on_connect;
}

uint64_t kernel_activity(void)
{
    return activity;
}

static struct kernel_socket *watched(int fd)
{
    return fd >= 0 && fd < MAX_FD ? sockets[fd] : NULL;
}

int clock_gettime(clockid_t id, struct timespec *out)
{
    bool is_monotonic = id == CLOCK_MONOTONIC || id == CLOCK_MONOTONIC_COARSE;
    if (!is_monotonic)
        return (int)syscall(SYS_clock_gettime, id, out);
    out->tv_sec = (time_t)(now_ms / 1000);
    out->tv_nsec = (long)(now_ms % 1000) * 1000000;
    return 0;
}

/* At most as many bytes as there is room for, by a copy of the vector's beginning. */
ssize_t writev(int fd, const struct iovec *iov, int n)
{
    struct kernel_socket *socket = watched(fd);
    struct iovec allowed[4];
    int used = 0;
    if (!socket || n > 4)
        return syscall(SYS_writev, fd, iov, n);
    size_t room = socket->room;
    for (; used < n && room > 0; used++) {
        allowed[used] = iov[used];
        if (allowed[used].iov_len > room)
            allowed[used].iov_len = room;
        room -= allowed[used].iov_len;
    }
    if (used == 0) {
        errno = EAGAIN;
        return -1;
    }
    ssize_t written = syscall(SYS_writev, fd, allowed, used);
    if (written > 0 && socket->room != SIZE_MAX)
        socket->room -= (size_t)written;
    activity++;
    return written;
}

ssize_t write(int fd, const void *p, size_t n)
{
    struct iovec whole = {(void *)(uintptr_t)p, n};
    if (watched(fd))
        return writev(fd, &whole, 1);
    activity++; /* perhaps a loop that is woken */
    return syscall(SYS_write, fd, p, n);
}

int connect(int fd, const struct sockaddr *address, socklen_t len)
{
    if (address->sa_family != AF_UNIX || !on_app_connect)
        return (int)syscall(SYS_connect, fd, address, len);
    struct kernel_socket *socket = on_app_connect();
    activity++;
    if (!socket) {
        errno = ECONNREFUSED;
        return -1;
    }
    kernel_watch(fd, socket);
    return (int)syscall(SYS_connect, fd, &app_address, app_address_len);
}

int setsockopt(int fd, int level, int option, const void *value, socklen_t len)
{
    struct kernel_socket *socket = watched(fd);
    if (socket && level == SOL_SOCKET && option == SO_LINGER)
        socket->was_reset = ((const struct linger *)value)->l_onoff;
    return (int)syscall(SYS_setsockopt, fd, level, option, value, len);
}

/* Callers come from loopback, whatever their sockets are. */
int getpeername(int fd, struct sockaddr *address, socklen_t *len)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(1)};
    if (!watched(fd))
        return (int)syscall(SYS_getpeername, fd, address, len);
    in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    memcpy(address, &in, *len < sizeof in ? *len : sizeof in);
    *len = sizeof in;
    return 0;
}
