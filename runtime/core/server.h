/* server.h - a function host's HTTP/1.1 server: one loop on a thread of its own, and a queue of
 * calls that the host's threads take (core/call.h). It knows the names of the functions, and nothing
 * of the language they are written in.
 *
 * Which thread does what. The loop's thread accepts, reads whole requests, answers what needs no
 * function (health, unknown names, bad requests), writes what calls write, and keeps all deadlines.
 * It never runs code of the host: there are no callbacks. The host starts as many threads as it
 * wants calls at once; each takes a call with hl_call_take, runs the function, answers, releases the
 * call, takes the next one. All that blocks (hl_call_take, hl_call_emit_*, hl_call_wait,
 * hl_server_free) may be called without an interpreter's lock.
 *
 *   hl_settings_read(&settings, &options, why);
 *   hl_server_start(&server, &settings, callees, callee_count, why);  // from here on: ready
 *   on each of settings.concurrency threads:
 *       while ((call = hl_call_take(server)) != NULL) {
 *           ... hl_call_answer_json(call, 200, text) or hl_call_emit_json(call, text) ...
 *           hl_call_release(call);
 *       }
 *   join them; hl_server_free(server);
 *
 * A host with an event loop of its own waits there until hl_server_bell can be read, calls
 * hl_server_hear, and then hl_call_take_async until it gives NULL. Calls of both kinds share one
 * queue, and settings.concurrency bounds both together: who has taken a call has a place until the
 * release. After hl_server_hear said true, a caller of a call that was taken so may have gone
 * (hl_call_is_gone), or take more (hl_call_has_room).
 *
 * SIGTERM or SIGINT, or hl_server_stop: nothing more is accepted, idle connections close, requests
 * that have begun to arrive and calls that wait or run are finished; then hl_call_take returns NULL
 * everywhere. A second signal ends the process at once. */
#ifndef HL_RUNTIME_SERVER_H
#define HL_RUNTIME_SERVER_H

#include "base/compiler.h"
#include "core/settings.h"

struct hl_server;

/* A function as callers know it: POST /{name}. */
struct hl_callee {
    /* [A-Za-z_][A-Za-z0-9_]*, at most 128 bytes, not beginning with '_', not "healthz" */
    const char *name;
    /* It takes any method and any content type, and reads the body itself. Otherwise a call that
     * reaches the host is a POST whose body is one JSON object, or empty. */
    bool is_raw;
    /* Its calls are taken by hl_call_take_async and no other way: for a host whose own event loop
     * runs them. */
    bool is_async;
    /* It takes a form as well as JSON (hl_call_upload). */
    bool takes_forms;
    /* What it takes: the JSON Schema of a body, as JSON text. NULL: the host does not know. */
    const char *input;
};

/* Listens and starts the loop's thread. Borrows `callees` until hl_server_free; copies the rest.
 * HL_ERR_INVALID: a name that cannot be a function's; HL_ERR_IO: cannot listen; HL_ERR_NOMEM. `why`
 * is one line for people. With `takes_signals` SIGTERM and SIGINT stop the server (SIGPIPE is
 * ignored in any case). */
HL_MUST_CHECK enum hl_err hl_server_start(struct hl_server **out,
    const struct hl_settings *settings, const struct hl_callee *callees, size_t callee_count,
    bool takes_signals, char why[HL_SETTINGS_WHY]);

/* The port that it listens on; 0 with a unix socket. */
uint16_t hl_server_port(const struct hl_server *server);

/* A descriptor for poll: it can be read once there is something to take or to look at. */
int hl_server_bell(const struct hl_server *server);
/* Silences the bell. True: look at the calls that were taken, too. */
bool hl_server_hear(struct hl_server *server);

/* As SIGTERM does. Any thread; harmless twice. */
void hl_server_stop(struct hl_server *server);
bool hl_server_is_stopping(const struct hl_server *server);

/* Stops, waits until all callers have their answers and the loop has ended. Every call must have
 * been released, and no thread may be inside hl_call_take. NULL-safe. Removes a unix socket's
 * file. */
void hl_server_free(struct hl_server *server);

#endif
