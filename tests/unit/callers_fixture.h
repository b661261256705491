/* callers_fixture.h - the callers of a worker that is the test: connections by TCP, a taker that notes
 * what it is given, and the callers' own ends. */
#ifndef HL_TEST_CALLERS_FIXTURE_H
#define HL_TEST_CALLERS_FIXTURE_H

#include "base/id.h"
#include "caller/callers.h"
#include "caller/client.h"
#include "caller/metrics.h"
#include "caller/taker.h"
#include "caller/trouble.h"

struct hl_config;

/* What a request's taker was told; forgotten when the next head comes. */
struct told {
    char target[256];
    char body[4096], trailer[256];
    size_t body_n;
    unsigned ended, gone, drained, failed;
    uint16_t status; /* of `failed` */
};

struct fake_taker {
    struct hl_taker table;    /* tests may change it */
    unsigned heads;           /* requests that came */
    struct hl_client *client; /* the present request's; NULL: it has gone */
    bool is_blocked, needs_caller;
    uint64_t body_max;
    unsigned later; /* so many heads' tokens have to be looked at first */
    struct told told;
};

extern struct hl_config config;
extern struct hl_callers callers;
extern struct hl_worker_metrics metrics;
extern struct hl_trouble trouble;
extern struct hl_id_source ids;
extern struct fake_taker taker;

/* On a loop that has begun. Deadlines are long; tests set those of `config` that they want. */
void callers_begin(void);
void callers_end(void);

/* A connected caller's end, non-blocking, and in `callers` what it is connected to. */
int caller_call(void);
void caller_say(int fd, const char *text);
/* Ends its side. */
void caller_end(int fd);

/* All that a caller has got since it was last asked. NUL-terminated, until the next call. */
const char *caller_hear(int fd);
/* Waits until what has come since the last wait has that part; returns all of it. */
const char *caller_await(int fd, const char *part);
/* How a caller's connection ended: -1: it goes on, 0: with a FIN, else errno. What was still to be
 * read is dropped. */
int caller_ending(int fd);

/* The present request is answered with that whole response, and done. */
void answer_with(const char *text);

#endif
