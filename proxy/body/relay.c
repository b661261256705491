/* relay.c - see relay.h.
 * Owns: the connection and the answer's head. Thread: its follower's loop.
 * Promise: it takes 2 s to connect at most, and holds no more than one read.
 * Not here: who asks, and what comes in its place when it fails (follow_relay.c). */
#include "body/relay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hex.h"
#include "base/list.h"
#include "body/relay_name.h"
#include "http/message.h"
#include "http/url.h"
#include "loop/wheel.h"
#include "net/stream.h"
#include "store/relay_pass.h"

#define CONNECT_MS 2000
#define HEAD_MS    5000
#define HEAD_MAX   16384
#define READ_SIZE  (16 * 1024)

struct hl_relay {
    struct hl_stream stream;
    struct hl_relay_parts parts;
    struct hl_relay_name name;
    struct hl_id run_id;
    struct hl_timer timer;
    uint16_t port;
    bool has_stream, is_over; /* over: its owner hears nothing more */
    bool has_head, is_paused;
    struct hl_message_reader answer;
    struct hl_buf text; /* the request, then an incomplete head */
};

static const struct hl_message_rules rules = {.max_head = HEAD_MAX,
    .max_trailer = HEAD_MAX,
    .no_head = &hl_refusals[HL_REFUSAL_APP_NO_HEAD],
    .head_too_large = &hl_refusals[HL_REFUSAL_APP_HEAD_TOO_LARGE]};

static void relay_free(struct hl_relay *r)
{
    hl_message_reader_fini(&r->answer);
    hl_buf_fini(&r->text);
    free(r);
}

void hl_relay_drop(struct hl_relay *r)
{
    if (!r || r->is_over)
        return;
    r->is_over = true;
    hl_timer_fini(r->parts.wheel, &r->timer);
    hl_relay_name_cut(&r->name);
    if (r->has_stream)
        hl_stream_close(&r->stream);
    else
        relay_free(r);
}

static void end(struct hl_relay *r, bool is_whole)
{
    const struct hl_relay_events *events = r->parts.events;
    void *owner = r->parts.owner;
    hl_relay_drop(r);
    events->end(owner, is_whole);
}

static void on_time(struct hl_timer *timer)
{
    end(HL_CONTAINER_OF(timer, struct hl_relay, timer), false);
}

static void expect(struct hl_relay *r, uint64_t ms)
{
    if (ms > 0)
        hl_timer_arm(r->parts.wheel, &r->timer, ms);
    else
        hl_timer_disarm(&r->timer);
}

/* ---- its answer ---- */

static enum hl_run_state state_of(const struct hl_head *head)
{
    for (size_t i = 0; i < head->field_count; i++) {
        if (!hl_str_eq_nocase(head->fields[i].name, HL_STR("x-run-state")))
            continue;
        for (int s = 0; s <= HL_RUN_CANCELLED; s++)
            if (hl_str_eq(
                    head->fields[i].value, hl_str_from(hl_run_state_text((enum hl_run_state)s))))
                return (enum hl_run_state)s;
    }
    return HL_RUN_RUNNING;
}

static void take_body(struct hl_relay *r, struct hl_str bytes)
{
    struct hl_refusal fault;
    while (!r->is_over) {
        struct hl_str data;
        switch (hl_message_read_body(&r->answer, &bytes, &data, &fault)) {
        case HL_MESSAGE_DATA:
            r->parts.events->bytes(r->parts.owner, data);
            break;
        case HL_MESSAGE_END:
            end(r, true);
            return;
        case HL_MESSAGE_FAULT:
            end(r, false);
            return;
        default:
            return;
        }
    }
}

/* Whether it is hookline that answers, about this run: at that address there may be anything. */
static bool is_about(const struct hl_head *head, const struct hl_id *run_id)
{
    char id[HL_ID_TEXT];
    hl_id_format(run_id, id);
    const struct hl_field *about = hl_head_find(head, HL_STR("x-request-id"));
    return about && hl_str_eq(about->value, (struct hl_str){id, sizeof(id)});
}

/* Interim answers say nothing. */
static void take_head(struct hl_relay *r, struct hl_str bytes)
{
    struct hl_refusal fault;
    struct hl_head *head = malloc(sizeof(*head));
    enum hl_message_event event = HL_MESSAGE_FAULT;
    if (head)
        do
            event =
                hl_message_read_response(&r->answer, &bytes, HL_METHOD_GET, false, head, &fault);
        while (event == HL_MESSAGE_HEAD && head->status < 200);
    uint16_t status = event == HL_MESSAGE_HEAD ? head->status : 0;
    enum hl_run_state state = status ? state_of(head) : HL_RUN_RUNNING;
    if (status && !is_about(head, &r->run_id))
        event = HL_MESSAGE_FAULT;
    free(head);
    if (event == HL_MESSAGE_MORE) {
        hl_buf_drop(&r->text, r->text.n - bytes.n);
        return;
    }
    if (event != HL_MESSAGE_HEAD) {
        end(r, false);
        return;
    }
    r->has_head = true;
    r->parts.events->answer(r->parts.owner, status, state);
    if (!r->is_over)
        take_body(r, bytes);
}

static void take_bytes(struct hl_relay *r, struct hl_str bytes)
{
    if (r->has_head) {
        expect(r, r->parts.silence_ms);
        take_body(r, bytes);
        return;
    }
    if (hl_buf_append_str(&r->text, bytes) != HL_OK) {
        end(r, false);
        return;
    }
    take_head(r, hl_buf_str(&r->text));
    if (!r->is_over && r->has_head) {
        hl_buf_fini(&r->text);
        expect(r, r->parts.silence_ms);
    }
}

/* ---- the connection ---- */

static void on_connected(struct hl_relay *r, int error)
{
    if (error != 0 || hl_stream_write(&r->stream, r->text.p, r->text.n) != HL_OK) {
        end(r, false);
        return;
    }
    hl_buf_fini(&r->text);
    hl_buf_init(&r->text, HEAD_MAX + READ_SIZE);
    expect(r, HEAD_MS);
    if (!r->is_paused)
        hl_stream_resume(&r->stream);
}

static void on_event(struct hl_stream *stream, const struct hl_stream_event *event)
{
    struct hl_relay *r = HL_CONTAINER_OF(stream, struct hl_relay, stream);
    if (event->kind == HL_STREAM_CLOSED)
        relay_free(r);
    else if (r->is_over || event->kind == HL_STREAM_DRAINED ||
             event->kind == HL_STREAM_WRITE_FAILED)
        return;
    else if (event->kind == HL_STREAM_CONNECTED)
        on_connected(r, event->error);
    else if (event->kind == HL_STREAM_DATA)
        take_bytes(r, (struct hl_str){event->p, event->n});
    else
        end(r, false);
}

static void on_found(struct hl_relay_name *name, const struct sockaddr_storage *found)
{
    struct hl_relay *r = HL_CONTAINER_OF(name, struct hl_relay, name);
    if (!found || hl_stream_init_tcp(&r->stream, r->parts.loop, r->parts.reader, on_event) != 0) {
        expect(r, 1); /* its owner hears of it after the begin */
        return;
    }
    r->has_stream = true;
    r->stream.read_size = READ_SIZE;
    struct sockaddr_storage address = *found;
    if (address.ss_family == AF_INET)
        ((struct sockaddr_in *)&address)->sin_port = htons(r->port);
    else
        ((struct sockaddr_in6 *)&address)->sin6_port = htons(r->port);
    if (hl_stream_connect_tcp(&r->stream, (const struct sockaddr *)&address) != 0)
        expect(r, 1);
}

/* ---- the request ---- */

/* An id may hold any bytes, and spaces at its ends: escaped, all of them arrive. */
static enum hl_err write_last_event_id(struct hl_buf *text, struct hl_str id)
{
    char digits[2];
    enum hl_err err = id.n > 0 ? hl_buf_append_str(text, HL_STR("&last_event_id=")) : HL_OK;
    for (size_t i = 0; !err && i < id.n; i++) {
        hl_hex_write(digits, (const uint8_t *)id.p + i, 1);
        err = hl_buf_printf(text, "%%%.2s", digits);
    }
    return err;
}

static enum hl_err write_request(
    struct hl_relay *r, const struct hl_relay_request *request, const struct hl_url *url)
{
    char id[HL_ID_TEXT], pass[HL_RELAY_PASS_MAX];
    hl_id_format(&request->run_id, id);
    hl_relay_pass_write(r->parts.store, &request->run_id, hl_clock_wall_ms(), pass);
    enum hl_err err =
        hl_buf_printf(&r->text, "GET /v2/projects/%.*s/apps/%.*s/runs/%.*s/events?progress=%s",
            HL_STR_ARG(request->project), HL_STR_ARG(request->app), HL_ID_TEXT, id,
            request->wants_progress ? "true" : "false");
    if (!err)
        err = write_last_event_id(&r->text, request->last_event_id);
    return err ? err
               : hl_buf_printf(&r->text,
                     " HTTP/1.1\r\n"
                     "Host: %s%.*s%s:%u\r\n"
                     "User-Agent: hookline/" HL_VERSION "\r\n" HL_RELAY_PASS_NAME
                     ": %s\r\nConnection: close\r\n\r\n",
                     url->is_bracketed ? "[" : "", HL_STR_ARG(url->host),
                     url->is_bracketed ? "]" : "", url->port, pass);
}

static bool take_url(struct hl_relay *r, struct hl_str home, struct hl_url *url)
{
    if (!hl_url_parse(home, url) || url->is_https || url->host.n > HL_RELAY_HOST_MAX)
        return false;
    memcpy(r->name.host, url->host.p, url->host.n);
    r->port = url->port;
    return true;
}

struct hl_relay *hl_relay_begin(
    const struct hl_relay_parts *parts, const struct hl_relay_request *request)
{
    struct hl_url url;
    struct hl_relay *r = calloc(1, sizeof(*r));
    if (!r)
        return NULL;
    r->parts = *parts;
    r->run_id = request->run_id;
    hl_buf_init(&r->text, 0);
    hl_message_reader_init(&r->answer, &rules);
    hl_timer_init(&r->timer, on_time);
    hl_list_init(&r->name.node);
    if (!take_url(r, request->home, &url) || write_request(r, request, &url) != HL_OK) {
        relay_free(r);
        return NULL;
    }
    r->name.on_found = on_found;
    expect(r, CONNECT_MS);
    hl_relay_name_find(parts->names, &r->name);
    return r;
}

void hl_relay_pause(struct hl_relay *r)
{
    r->is_paused = true;
    expect(r, 0); /* the follower's own deadline runs */
    if (r->has_stream)
        hl_stream_pause(&r->stream);
}

void hl_relay_resume(struct hl_relay *r)
{
    if (!r->is_paused)
        return;
    r->is_paused = false;
    expect(r, r->parts.silence_ms);
    if (r->has_stream)
        hl_stream_resume(&r->stream);
}
