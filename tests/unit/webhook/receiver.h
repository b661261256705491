/* receiver.h - a webhook receiver on loopback for tests: what it answers is decided by the
 * request's path, what it got is kept. */
#ifndef HL_TEST_RECEIVER_H
#define HL_TEST_RECEIVER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RECEIVER_KEPT 256

/* One request. */
struct received {
    char path[64];
    char head[4096]; /* with the empty line; NUL-terminated */
    char *body;      /* owned by the receiver */
    size_t body_n;
};

struct receiver {
    uint16_t port;
    int fd;
    pthread_t thread;
    pthread_mutex_t lock;
    unsigned connections, now_in, most_in; /* requests that are being answered */
    unsigned count;
    struct received got[RECEIVER_KEPT];
};

/* Paths: /status/<code> answers with it, /later/<code>/<seconds> with it, a Retry-After and the text "not now", /then/<code> with it the first time and 200 afterwards (a
 * second later with "slow" behind it), /slow answers 200 after 200 ms, /drip with a body that comes
 * byte by byte without end, /large-head with a field of 200 KiB, /drop closes without a word, /cut in the middle of a head, /stall
 * never answers, /stall-body sends a 200's head and no body, /endless a body without end, /early
 * answers 413 before it reads the body and closes. */
void receiver_start(struct receiver *r);
/* How many requests with that path there were. */
unsigned receiver_count(struct receiver *r, const char *path);
/* The i-th request of all; it stays. */
const struct received *receiver_got(struct receiver *r, unsigned i);
/* The value of a field in a received head, case folded, or NULL. Valid until the next call. */
const char *received_field(const struct received *got, const char *name);

#endif
