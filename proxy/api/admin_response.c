/* admin_response.c - an answer in one piece, a file piece by piece, or what a follower reads: written to a connection
 * of the admin listener or the control socket.
 * Owns: the file's reader, and the answer's head while it waits; the follower of the connection's request.
 * Thread: control.
 * Promise: an answer goes out whole, or the connection closes; a file is sent no faster than the peer takes it, and
 * one that turns out to be damaged is refused, or cut off where part of it has gone out.
 * Not here: what is answered (admin_answer.c), reading and checking a file (body/body_reader.c), what is followed
 * (body/follower.c), what others say (admin_pass.c). */
#include "api/admin_response.h"

#include <stdlib.h>

#include "api/admin_connection.h"
#include "api/endpoint.h"
#include "api/rest.h"
#include "base/log.h"
#include "body/body_reader.h"
#include "body/follower.h"
#include "http/problem.h"
#include "store/store.h"
#include "worker/follow.h"

/* ---- an answer that is there in one piece, and the end of any ---- */

#define ANSWER_MAX 4096 /* an answer without its body, or a problem */

void hl_admin_response_end(struct hl_admin_connection *c)
{
    if (c->must_close) {
        c->state = HL_ADMIN_LINGER;
        hl_stream_shutdown(&c->stream);
    } else {
        c->state = HL_ADMIN_HEAD;
    }
    c->has_begun = false;
    c->method = HL_METHOD_OTHER; /* until the next head says */
}

struct hl_taste hl_admin_response_taste(const struct hl_admin_connection *c)
{
    return (struct hl_taste){.is_read = c->method == HL_METHOD_GET || c->method == HL_METHOD_HEAD,
        .accepts_gzip = c->accepts_gzip,
        .refuses_text = c->refuses_text,
        .if_none_match = hl_str_from(c->tags)};
}

static void write_answer(struct hl_admin_connection *c, const struct hl_api_response *response,
    uint16_t status, struct hl_str body, const char *extra_fields)
{
    struct hl_answer fields = {
        .refusal = response->refusal,
        .status = status,
        .content_type = response->content_type,
        .body = body,
        .extra_fields = extra_fields,
        .cache_control = response->cache_control,
        .closes = c->must_close,
        .is_head_request = c->method == HL_METHOD_HEAD,
        .caller_minor = c->minor,
    };
    size_t cap = ANSWER_MAX + body.n;
    char *out = malloc(cap);
    size_t n = out ? hl_answer_write(out, cap, &fields) : 0;
    if (n == 0 || hl_stream_write(&c->stream, out, n) != HL_OK)
        hl_admin_connection_close(c);
    else
        hl_admin_response_end(c);
    free(out);
}

/* Files and the description have tags of their own, and say how long they may be kept. */
static bool may_be_chosen(const struct hl_api_response *response)
{
    return !response->refusal && response->status == 200 && !response->cache_control &&
           hl_str_eq(response->content_type, HL_STR("application/json"));
}

void hl_admin_response_write(struct hl_admin_connection *c, const struct hl_api_response *response)
{
    struct hl_str json = hl_buf_str(&response->body);
    struct hl_taste taste = hl_admin_response_taste(c);
    struct hl_representation r;
    if (!may_be_chosen(response)) {
        write_answer(c, response, response->status, json, response->fields);
        return;
    }
    hl_representation_init(&r, json, &taste);
    if (r.is_known)
        write_answer(c, response, 304, HL_STR(""), r.fields);
    else
        write_answer(c, response, 200, r.is_compressed ? hl_buf_str(&r.gzip) : json, r.fields);
    hl_representation_fini(&r);
}

void hl_admin_response_refuse(struct hl_admin_connection *c, const struct hl_refusal *why)
{
    hl_admin_response_write(c, &(struct hl_api_response){.refusal = why});
}

void hl_admin_response_json(struct hl_admin_connection *c, struct hl_str json)
{
    struct hl_api_response response = {.status = 200, .content_type = HL_STR("application/json")};
    if (hl_buf_append_str(&response.body, json) == HL_OK)
        hl_admin_response_write(c, &response);
    else
        hl_admin_response_refuse(c, hl_refusal_make(HL_REFUSAL_ADMIN_MEMORY));
    hl_buf_fini(&response.body);
}

/* ---- a file, piece by piece, as the peer takes them ---- */

static void on_piece(void *owner, enum hl_err err, struct hl_str piece, bool is_last);

static void read_next(struct hl_admin_connection *c)
{
    struct hl_admin_file *file = &c->answer.file;
    if (file->is_reading || hl_stream_is_blocked(&c->stream))
        return;
    file->is_reading = hl_body_reader_next(file->reader);
    if (!file->is_reading)
        hl_admin_connection_close(c);
}

void hl_admin_file_begin(struct hl_admin_connection *c, struct hl_buf head, struct hl_body *body)
{
    struct hl_admin_file *file = &c->answer.file;
    const char *data_dir = hl_store_data_dir(c->home->view.store);
    file->head = head;
    file->reader = hl_body_reader_new(c->home->loop, data_dir, body, on_piece, c);
    if (file->reader)
        read_next(c);
    else
        hl_admin_connection_close(c);
}

void hl_admin_file_drained(struct hl_admin_connection *c)
{
    if (!c->answer.file.reader)
        return;
    read_next(c);
    hl_admin_connection_go_on(c); /* a deadline runs for what waits for the socket */
}

/* Nothing was sent yet: what is wrong can be said. */
static void refuse(struct hl_admin_connection *c, enum hl_err err)
{
    hl_admin_file_drop(c);
    hl_admin_response_refuse(
        c, hl_refusal_make(
               err == HL_ERR_NOT_FOUND ? HL_REFUSAL_RESULT_REMOVED : HL_REFUSAL_RESULT_UNREADABLE));
    hl_admin_connection_go_on(c);
}

static void on_piece(void *owner, enum hl_err err, struct hl_str piece, bool is_last)
{
    struct hl_admin_connection *c = owner;
    struct hl_admin_file *file = &c->answer.file;
    file->is_reading = false;
    if (err != HL_OK)
        HL_LOG(ERROR, "a kept response cannot be read", HL_LOG_ID("run_id", &c->answer.call.id),
            HL_LOG_TEXT("error", hl_err_text(err)));
    if (err != HL_OK && file->head.n > 0) {
        refuse(c, err);
        return;
    }
    if (err == HL_OK)
        err = file->head.n > 0 ? hl_stream_write2(&c->stream, hl_buf_str(&file->head), piece)
                               : hl_stream_write(&c->stream, piece.p, piece.n);
    hl_buf_fini(&file->head);
    if (err != HL_OK) {
        hl_admin_connection_close(c);
        return;
    }
    if (is_last) {
        hl_admin_file_drop(c);
        hl_admin_response_end(c);
    } else {
        read_next(c);
    }
    hl_admin_connection_go_on(c);
}

void hl_admin_file_drop(struct hl_admin_connection *c)
{
    struct hl_admin_file *file = &c->answer.file;
    hl_body_reader_free(file->reader);
    file->reader = NULL;
    file->is_reading = false;
    hl_buf_fini(&file->head);
}

/* ---- somebody who follows a run's events ---- */

/* Both say false where the connection closes: it abandons its answer then. */
static bool write_head(
    struct hl_admin_connection *c, enum hl_follow_answer what, enum hl_run_state state)
{
    struct hl_answer answer;
    char fields[HL_FOLLOW_FIELDS], text[4096];
    hl_follow_answer_init(&answer, what, state, fields);
    c->must_close = c->must_close || (answer.is_stream && c->minor == 0);
    answer.run_id = &c->answer.followed;
    answer.caller_minor = c->minor;
    answer.closes = c->must_close;
    answer.is_head_request = c->method == HL_METHOD_HEAD;
    size_t n = hl_answer_write(text, sizeof(text), &answer);
    if (n > 0 && hl_stream_write(&c->stream, text, n) == HL_OK)
        return true;
    hl_admin_connection_close(c);
    return false;
}

static void end_answer(struct hl_admin_connection *c)
{
    hl_admin_follow_drop(c);
    hl_admin_response_end(c);
    hl_admin_connection_go_on(c);
}

static bool on_answer(void *owner, enum hl_follow_answer what, enum hl_run_state state)
{
    struct hl_admin_connection *c = owner;
    if (!write_head(c, what, state))
        return false;
    if (what == HL_FOLLOW_OK && c->method != HL_METHOD_HEAD)
        return true;
    end_answer(c);
    return false;
}

static bool is_blocked(void *owner)
{
    struct hl_admin_connection *c = owner;
    return hl_stream_is_blocked(&c->stream);
}

static bool on_write(void *owner, struct hl_str bytes)
{
    struct hl_admin_connection *c = owner;
    if (hl_stream_write(&c->stream, bytes.p, bytes.n) != HL_OK) {
        hl_admin_connection_close(c);
        return false;
    }
    if (hl_stream_is_blocked(&c->stream))
        hl_admin_connection_go_on(c); /* a deadline runs for what waits for the socket */
    return true;
}

static void on_end(void *owner, bool is_whole)
{
    struct hl_admin_connection *c = owner;
    bool is_chunked = c->minor > 0;
    bool is_good =
        is_whole && (!is_chunked || hl_stream_write(&c->stream, "0\r\n\r\n", 5) == HL_OK);
    if (is_good)
        end_answer(c);
    else
        hl_admin_connection_close(c);
}

static const struct hl_follower_events events = {
    .answer = on_answer, .is_blocked = is_blocked, .write = on_write, .end = on_end};

void hl_admin_follow_begin(struct hl_admin_connection *c, struct hl_follow *grant)
{
    c->answer.followed = grant->run_id;
    c->answer.follower =
        hl_follower_new(hl_rest_desk(c->home->view.rest), grant, c->minor > 0, &events, c);
    if (!c->answer.follower) {
        hl_follow_free(grant);
        hl_admin_connection_close(c);
        return;
    }
    hl_follower_start(c->answer.follower);
}

void hl_admin_follow_drained(struct hl_admin_connection *c)
{
    if (c->answer.follower)
        hl_follower_go_on(c->answer.follower);
}

void hl_admin_follow_drop(struct hl_admin_connection *c)
{
    hl_follower_free(c->answer.follower);
    c->answer.follower = NULL;
}
