/* kernel.h - the part of the operating system that a test of connections decides on: the monotonic
 * clock stands still until it is moved, a socket takes as many bytes as it is allowed to, connects
 * go to the test or fail.
 *
 * The C library's functions of these names are replaced in the whole program, libuv included. */
#ifndef HL_FUZZ_KERNEL_H
#define HL_FUZZ_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* One socket of hookline's. */
struct kernel_socket {
    size_t room;    /* bytes that it still takes; SIZE_MAX: no limit */
    bool was_reset; /* it was told to end with RST */
};

/* Moves the clock. */
void kernel_advance(uint64_t ms);

/* `fd` is a socket of hookline's from now on; `socket` lives at least as long. */
void kernel_watch(int fd, struct kernel_socket *socket);
/* None is any more: descriptors may come again as something else. */
void kernel_forget(void);

/* Connects by unix: sockets go to `address`; `on_connect` gives the state of the new socket, or NULL
 * to refuse it. */
void kernel_serve(
    const struct sockaddr *address, socklen_t len, struct kernel_socket *(*on_connect)(void));

/* How often hookline has written, connected or been told something: unchanged over a loop turn,
 * nothing goes on. */
uint64_t kernel_activity(void);

#endif
