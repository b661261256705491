/* wire.h - HTTP/1.1 as the parties of this bench speak it: heads with a Content-Length, never two
 * messages on the way in one direction of a connection; all in one thread, on one epoll. What goes
 * wrong with the machine ends the program with a message. */
#ifndef BENCH_WIRE_H
#define BENCH_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WIRE_IN_MAX 8192 /* a message, its end's NUL included */

struct wire_conn;

struct wire_side {
    /* A whole one: `c->in`, ended by NUL, the body from `c->body` on. */
    void (*on_message)(struct wire_conn *c);
    void (*on_closed)(struct wire_conn *c); /* NULL: it is nobody's loss; freed afterwards */
};

struct wire_conn {
    int fd;
    bool is_listener;
    struct wire *wire;
    const struct wire_side *side;
    void *self; /* the side's */
    struct wire_conn *next;
    size_t in_n;
    const char *body;
    char in[WIRE_IN_MAX];
};

struct wire {
    int epoll;
};

/* Connections that come are the side's, with `self`. On 127.0.0.1, as all here. */
void wire_listen(struct wire *w, int port, const struct wire_side *side, void *self);
/* Never NULL. */
struct wire_conn *wire_connect(struct wire *w, int port, const struct wire_side *side, void *self);
void wire_send(struct wire_conn *c, const char *text, size_t n);
/* Events, waited for at most that long. */
void wire_turn(struct wire *w, int wait_ms);

uint64_t wire_now_us(void); /* CLOCK_MONOTONIC */

#endif
