/* request.h - a request of our own to the app: a health check, a warm-up, a call to sleep or to wake (contract 10). What all
 * of them say and how the app is reached stands here once. It is no run. The control thread. */
#ifndef HL_APP_REQUEST_H
#define HL_APP_REQUEST_H

#include <uv.h>

#include "app/exchange.h"
#include "base/str.h"

struct hl_config;

/* Borrowed for the call, but `config`, `tls` and what they point to. */
struct hl_app_request {
    const struct hl_config *config;
    uv_loop_t *loop;
    struct hl_wheel *wheel;
    struct hl_reader *reader;
    struct hl_tls_seat *tls; /* NULL: the app speaks none */
    enum hl_method method;
    const char *verb;     /* "GET "; "": `what` has it */
    struct hl_str what;   /* "POST /sleep"; empty: nothing is asked, the app is connected to */
    struct hl_str fields; /* beside Host, User-Agent and Connection; each ends with CRLF */
    struct hl_str body;
    size_t max_head; /* of the answer */
    bool is_decoded; /* hl_exchange_order has these five, too */
    uint64_t connect_ms, head_ms, silence_ms;
    const struct hl_exchange_events *events;
    void *owner;
};

/* `address`: NULL is the unix: path. NULL: it cannot be asked; `*error` is libuv's. */
struct hl_exchange *hl_app_request_begin(
    const struct hl_app_request *request, const struct sockaddr *address, int *error);

#endif
