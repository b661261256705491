/* house.h - a server of a test's own: its threads run the functions below, and callers are sockets.
 *
 *   POST /echo    answers the body
 *   POST /hold    says that it runs, and waits until the test lets one go; answers {"run":n}
 *   POST /yield   emits each member "values" of the body: texts as texts, else JSON
 *   any  /raw     answers method, target and body as text/plain
 *   POST /pour    emits 16 KiB events until the caller has gone
 *   POST /fail    emits the number of values that the body says, then fails
 *   POST /await   waits until the caller has gone
 *   POST /tell    tells each member "values" of the body as its progress, holds as /hold does and
 *                 answers {"run":n}; a stream is told "late" between two events
 *   POST /form    answers what is in the file of a form, as text/plain
 *   POST /count   tells 1, 2, 3 … for as long as /hold holds and its caller is there; answers as /tell */
#ifndef HL_TESTS_HOUSE_H
#define HL_TESTS_HOUSE_H

#include <criterion/criterion.h>
#include <stdatomic.h>

#include "core/settings.h"

#define PATIENCE_MS 60000

struct house {
    struct hl_server *server;
    struct hl_settings settings;
    atomic_uint running, finished, gone; /* calls of /hold; callers that were seen to go */
    atomic_uint let_go;                  /* how many calls of /hold may end */
    atomic_size_t poured;                /* bytes */
    atomic_uint told;                    /* enum hl_err of the last progress */
};

extern struct house house;

/* Settings of a test server: a port of the system's choice, one call at once. Change
 * house.settings between them. */
void house_prepare(void);
void house_open(void);
/* Lets all calls go, stops, and fails the test when that does not end. */
void house_close(void);

/* The loop has seen all that callers sent or closed before: it answers a later request. */
void house_catch_up(void);

/* Waits until a claim holds; fails the test when it does not come true. */
#define UNTIL(claim)                                                                               \
    do {                                                                                           \
        for (int waited = 0; !(claim); waited++) {                                                 \
            cr_assert_lt(waited, PATIENCE_MS, "never: " #claim);                                   \
            house_rest();                                                                          \
        }                                                                                          \
    } while (0)
void house_rest(void); /* one millisecond */

/* A caller's socket, of TCP or unix. */
int caller_open(void);
void caller_send(int fd, const char *text);
/* Reads until `mark` is in what came; returns all that came so far on this caller's account, NUL
 * terminated, until the next call. Fails the test when the peer closes before. */
const char *caller_read_until(int fd, const char *mark);
/* Reads to the end of the connection, FIN or reset. */
const char *caller_read_all(int fd);
/* One request with its own connection, all that comes back until the server closes. */
const char *caller_ask(const char *request);
/* A POST with Content-Length; `lines` are further field lines or "". */
void caller_post(int fd, const char *path, const char *lines, const char *body);

#endif
