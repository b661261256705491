/* probe.c - one question to the app at one address.
 * Owns: its connection and the answer's head. Thread: control.
 * Not here: when to ask, what an answer changes, how long to wait for it (readiness.c). */
#include "app/probe.h"

#include <stdlib.h>

#include "config/choice.h"
#include "config/config.h"
#include "http/message.h"
#include "net/stream.h"

#define HEAD_MAX 16384

struct hl_probe {
    struct hl_stream stream;
    struct hl_probe_asker asker;
    bool is_dropped; /* nobody waits for the answer */
    bool is_connected;
    struct hl_message_reader answer;
    struct hl_buf head; /* an incomplete one */
};

static const struct hl_message_rules rules = {.max_head = HEAD_MAX,
    .max_trailer = HEAD_MAX,
    .no_head = &hl_refusals[HL_REFUSAL_APP_NO_HEAD],
    .head_too_large = &hl_refusals[HL_REFUSAL_APP_HEAD_TOO_LARGE]};
static const struct hl_cause no_http = {.kind = HL_CAUSE_HEALTH_NO_HTTP};

void hl_probe_drop(struct hl_probe *probe)
{
    if (!probe || probe->is_dropped)
        return;
    probe->is_dropped = true;
    hl_stream_close(&probe->stream);
}

bool hl_probe_is_answered(const struct hl_probe *probe)
{
    return probe->is_connected && !hl_stream_is_quiet(&probe->stream);
}

struct hl_cause hl_probe_late(const struct hl_probe *probe)
{
    return probe->is_connected ? (struct hl_cause){.kind = HL_CAUSE_HEALTH_TIMEOUT}
                               : hl_cause_of(UV_ETIMEDOUT);
}

static void end(struct hl_probe *probe, struct hl_cause cause)
{
    hl_probe_drop(probe);
    probe->asker.on_end(probe->asker.owner, cause);
}

static enum hl_err write_request(struct hl_probe *probe)
{
    const struct hl_config *config = probe->asker.config;
    const char *host = config->app_url.is_unix ? "localhost" : config->app_url.host;
    struct hl_buf request;
    hl_buf_init(&request, 0);
    enum hl_err err = hl_buf_printf(&request,
        "GET %.*s HTTP/1.1\r\nHost: %s\r\nUser-Agent: hookline/" HL_VERSION
        "\r\nConnection: close\r\n\r\n",
        HL_STR_ARG(config->app_health_path), host);
    if (!err)
        err = hl_stream_write(&probe->stream, request.p, request.n);
    hl_buf_fini(&request);
    return err;
}

static void on_connected(struct hl_probe *probe, int error)
{
    probe->is_connected = error == 0;
    if (error != 0)
        end(probe, hl_cause_of(error));
    else if (probe->asker.config->app_health_path.n == 0)
        end(probe, (struct hl_cause){.kind = HL_CAUSE_NONE});
    else if (write_request(probe) != HL_OK)
        end(probe, hl_cause_of(UV_ENOMEM));
    else
        hl_stream_resume(&probe->stream);
}

static struct hl_cause judge(uint16_t status)
{
    if (status >= 200 && status < 300)
        return (struct hl_cause){.kind = HL_CAUSE_NONE};
    return (struct hl_cause){.kind = HL_CAUSE_HEALTH_STATUS, .status = status};
}

/* The status in the answer's head decides. */
static void on_bytes(struct hl_probe *probe, const char *p, size_t n)
{
    struct hl_refusal fault;
    struct hl_head *head = malloc(sizeof(*head));
    if (!head || hl_buf_append(&probe->head, p, n) != HL_OK) {
        free(head);
        end(probe, hl_cause_of(UV_ENOMEM));
        return;
    }
    struct hl_str bytes = hl_buf_str(&probe->head);
    enum hl_message_event event =
        hl_message_read_response(&probe->answer, &bytes, HL_METHOD_GET, false, head, &fault);
    uint16_t status = head->status;
    free(head);
    if (event != HL_MESSAGE_MORE)
        end(probe, event == HL_MESSAGE_HEAD ? judge(status) : no_http);
}

static void on_event(struct hl_stream *stream, const struct hl_stream_event *event)
{
    struct hl_probe *probe = HL_CONTAINER_OF(stream, struct hl_probe, stream);
    if (event->kind == HL_STREAM_CLOSED) {
        hl_message_reader_fini(&probe->answer);
        hl_buf_fini(&probe->head);
        free(probe);
        return;
    }
    if (probe->is_dropped)
        return;
    if (event->kind == HL_STREAM_CONNECTED)
        on_connected(probe, event->error);
    else if (event->kind == HL_STREAM_DATA)
        on_bytes(probe, event->p, event->n);
    else if (event->kind != HL_STREAM_DRAINED && event->kind != HL_STREAM_WRITE_FAILED)
        end(probe, (struct hl_cause){.kind = HL_CAUSE_HEALTH_CLOSED});
}

struct hl_probe *hl_probe_begin(
    const struct hl_probe_asker *asker, const struct sockaddr *address, struct hl_cause *cause)
{
    struct hl_probe *probe = calloc(1, sizeof(*probe));
    if (!probe) {
        *cause = hl_cause_of(UV_ENOMEM);
        return NULL;
    }
    probe->asker = *asker;
    hl_buf_init(&probe->head, 0);
    hl_message_reader_init(&probe->answer, &rules);
    int rc = address ? hl_stream_init_tcp(&probe->stream, asker->loop, asker->reader, on_event)
                     : hl_stream_init_unix(&probe->stream, asker->loop, asker->reader, on_event);
    if (rc != 0) {
        free(probe);
        *cause = hl_cause_of(rc);
        return NULL;
    }
    if (!address)
        rc = hl_stream_connect_unix(&probe->stream, asker->config->app_url.path);
    else
        rc = hl_stream_connect_tcp(&probe->stream, address);
    if (rc == 0)
        return probe;
    hl_probe_drop(probe);
    *cause = hl_cause_of(rc);
    return NULL;
}
