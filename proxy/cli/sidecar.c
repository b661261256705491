/* sidecar.c - one question to the sidecar that runs on a data directory.
 * Promise: of an answer no more than a piece is held where it goes to a sink, and no more than hookline ever
 * answers where it does not. */
#include "cli/sidecar.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "api/control_path.h"
#include "base/buf.h"
#include "base/clock.h"
#include "cli/remote.h"
#include "cli/socket.h"
#include "config/config.h"
#include "http/message.h"

#define DEADLINE_MS 30000 /* of an answer, or of a piece of one that is written as it comes */
#define HEAD_MAX    (64 * 1024)

static int connect_socket(const struct hl_config *config, struct hl_cli_socket *s)
{
    struct hl_control_path path;
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    s->fd = -1;
    if (!hl_control_path_init(&path, config->data_dir.p))
        return errno;
    memcpy(un.sun_path, path.text, sizeof(un.sun_path));
    int error = hl_cli_socket_connect(s, (struct sockaddr *)&un, sizeof(un), DEADLINE_MS);
    hl_control_path_fini(&path);
    return error;
}

int hl_cli_sidecar_find(const struct hl_config *config)
{
    struct hl_cli_socket s;
    int error = connect_socket(config, &s);
    hl_cli_socket_close(&s);
    return error;
}

bool hl_cli_sidecar_runs(const struct hl_config *config)
{
    return hl_cli_sidecar_find(config) == 0;
}

static int send_request(
    struct hl_cli_socket *s, const char *method, const char *target, struct hl_str text)
{
    struct hl_buf request;
    hl_buf_init(&request, 0);
    enum hl_err err = hl_buf_printf(&request,
        "%s %s HTTP/1.1\r\nHost: localhost\r\nUser-Agent: hookline/" HL_VERSION
        "\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n",
        method, target, text.n);
    if (err == HL_OK)
        err = hl_buf_append_str(&request, text);
    int error = err ? ENOMEM : hl_cli_socket_send(s, hl_buf_str(&request));
    hl_buf_fini(&request);
    return error;
}

/* ---- the answer ---- */

struct reading {
    struct hl_cli_socket *s;
    struct hl_message_reader reader;
    struct hl_buf bytes; /* that came and were not used */
    struct hl_head head;
    struct hl_cli_sink *sink;
    struct hl_buf *body;
};

/* An answer that breaks off is none. */
static int read_more(struct reading *r)
{
    size_t had = r->bytes.n;
    int error = hl_cli_socket_read_some(r->s, &r->bytes);
    return !error && r->bytes.n == had ? EPROTO : error;
}

static int read_head(struct reading *r)
{
    struct hl_refusal fault;
    enum hl_message_event event;
    for (;;) {
        struct hl_str rest = hl_buf_str(&r->bytes);
        event = hl_message_read_response(&r->reader, &rest, HL_METHOD_GET, false, &r->head, &fault);
        if (event == HL_MESSAGE_HEAD) {
            hl_buf_drop(&r->bytes, r->bytes.n - rest.n);
            return 0;
        }
        int error = event == HL_MESSAGE_MORE ? read_more(r) : EPROTO;
        if (error)
            return error;
    }
}

static int take(struct reading *r, struct hl_str data)
{
    if (r->sink && r->head.status >= 200 && r->head.status <= 299) {
        bool goes_on = r->sink->on_bytes(r->sink, data);
        r->s->deadline = hl_clock_mono_ms() + DEADLINE_MS;
        return goes_on ? 0 : ECANCELED;
    }
    if (r->body->n + data.n > HL_CLI_ANSWER_MAX)
        return EFBIG;
    return hl_buf_append_str(r->body, data) == HL_OK ? 0 : ENOMEM;
}

static int read_body(struct reading *r)
{
    struct hl_refusal fault;
    struct hl_str data;
    int error = 0;
    while (!error) {
        struct hl_str rest = hl_buf_str(&r->bytes);
        enum hl_message_event event = hl_message_read_body(&r->reader, &rest, &data, &fault);
        if (event == HL_MESSAGE_END)
            return 0;
        if (event == HL_MESSAGE_DATA)
            error = take(r, data);
        else if (event == HL_MESSAGE_FAULT)
            error = EPROTO;
        hl_buf_drop(&r->bytes, r->bytes.n - rest.n);
        if (event == HL_MESSAGE_MORE)
            error = read_more(r);
    }
    return error;
}

static int read_answer(
    struct hl_cli_socket *s, struct hl_cli_sink *sink, unsigned *status, struct hl_buf *body)
{
    static const struct hl_message_rules rules = {.max_head = HEAD_MAX,
        .no_head = &hl_refusals[HL_REFUSAL_APP_NO_HEAD],
        .head_too_large = &hl_refusals[HL_REFUSAL_APP_HEAD_TOO_LARGE]};
    struct reading *r = calloc(1, sizeof(*r));
    if (!r)
        return ENOMEM;
    r->s = s;
    r->sink = sink;
    r->body = body;
    hl_buf_init(&r->bytes, 0);
    hl_message_reader_init(&r->reader, &rules);
    int error = read_head(r);
    if (!error)
        *status = r->head.status;
    if (!error)
        error = read_body(r);
    hl_message_reader_fini(&r->reader);
    hl_buf_fini(&r->bytes);
    free(r);
    return error;
}

int hl_cli_sidecar_ask(const struct hl_config *config, const char *method, const char *target,
    struct hl_str text, struct hl_cli_sink *sink, unsigned *status, struct hl_buf *body)
{
    struct hl_cli_socket s;
    int error = connect_socket(config, &s);
    if (!error)
        error = send_request(&s, method, target, text);
    if (!error)
        error = read_answer(&s, sink, status, body);
    hl_cli_socket_close(&s);
    return error;
}
