/* call.c - one call of a function: what was asked, and whether anybody still waits for the answer.
 * Owns: struct hl_call. Thread: see core/call_inside.h.
 * Not here: answers (answer.c), what comes before them (progress.c), where calls come from
 * (connection.c). */
#include "core/call.h"
#include "core/call_inside.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "core/desk.h"
#include "core/server.h"
#include "core/triage.h"
#include "core/upload.h"
#include "http/field.h"
#include "http/head.h"
#include "http/url.h"

/* A slice of `from` as one of `to`. */
static struct hl_str moved(struct hl_str s, const char *from, const char *to)
{
    return s.p ? (struct hl_str){to + (s.p - from), s.n} : s;
}

static void copy_head(struct hl_call *call, const struct hl_head *head,
    const struct hl_target *target, const char *p, size_t n)
{
    char *bytes = (char *)&call->fields[head->field_count];
    memcpy(bytes, p, n);
    call->method = moved(head->method, p, bytes);
    call->path = target->is_pathless ? target->path : moved(target->path, p, bytes);
    call->query = target->has_query ? moved(target->query, p, bytes) : HL_STR("");
    call->field_count = head->field_count;
    for (size_t i = 0; i < head->field_count; i++) {
        struct hl_call_field *field = &call->fields[i];
        field->name = moved(head->fields[i].name, p, bytes);
        field->value = moved(head->fields[i].value, p, bytes);
        bytes[field->value.p - bytes + (ptrdiff_t)field->value.n] =
            '\0'; /* was white space or CR */
    }
}

/* The whole number of a field; 0 when there is none, or it is not a number up to `max`. */
static uint64_t read_number(const struct hl_call *call, struct hl_str name, uint64_t max)
{
    uint64_t number;
    struct hl_str text = hl_call_find_field(call, name);
    return hl_str_to_u64(text, &number) && number <= max ? number : 0;
}

static void read_fields(struct hl_call *call)
{
    call->attempt = (uint32_t)read_number(call, HL_STR("x-run-attempt"), UINT32_MAX);
    if (call->attempt == 0)
        call->attempt = 1;
    call->deadline_ms = (int64_t)read_number(call, HL_STR("x-run-deadline"), UINT32_MAX) * 1000;
    if (call->is_head_request)
        return; /* an answer's head alone: there is nothing to stream */
    for (size_t i = 0; i < call->field_count && !call->wants_events; i++)
        if (hl_str_eq_nocase(call->fields[i].name, HL_STR("accept")))
            call->wants_events = hl_media_wants_events(call->fields[i].value);
    if (call->wants_events && call->minor == 0)
        call->must_close = true; /* nothing else ends a stream there */
}

struct hl_call *hl_call_new(struct hl_desk *desk, size_t callee, const struct hl_head *head,
    const struct hl_target *target, const char *p, size_t n)
{
    struct hl_call *call =
        calloc(1, sizeof(*call) + head->field_count * sizeof(call->fields[0]) + n);
    if (!call)
        return NULL;
    if (pthread_mutex_init(&call->lock, NULL) != 0) {
        free(call);
        return NULL;
    }
    pthread_cond_init(&call->changed, NULL); /* on Linux it cannot fail */
    atomic_init(&call->is_gone, false);
    call->released.type = HL_DESK_RELEASED;
    hl_list_init(&call->entry.node);
    call->entry.is_async = desk->directory.callees[callee].is_async;
    hl_buf_init(&call->body, desk->settings.max_body);
    hl_buf_init(&call->values, desk->settings.max_body);
    call->desk = desk;
    call->callee = callee;
    call->minor = head->minor;
    call->must_close = !head->is_persistent;
    call->is_head_request = head->method_id == HL_METHOD_HEAD;
    copy_head(call, head, target, p, n);
    read_fields(call);
    return call;
}

void hl_call_free(struct hl_call *call)
{
    if (!call)
        return;
    pthread_cond_destroy(&call->changed);
    pthread_mutex_destroy(&call->lock);
    hl_buf_fini(&call->body);
    hl_upload_free(call->upload);
    hl_buf_fini(&call->values);
    free(call->last);
    free(call->progress);
    free(call);
}

/* ---- what was asked ---- */

size_t hl_call_callee(const struct hl_call *call)
{
    return call->callee;
}

struct hl_str hl_call_method(const struct hl_call *call)
{
    return call->method;
}

struct hl_str hl_call_path(const struct hl_call *call)
{
    return call->path;
}

struct hl_str hl_call_query(const struct hl_call *call)
{
    return call->query;
}

size_t hl_call_field_count(const struct hl_call *call)
{
    return call->field_count;
}

void hl_call_field_at(
    const struct hl_call *call, size_t i, struct hl_str *name, struct hl_str *value)
{
    *name = call->fields[i].name;
    *value = call->fields[i].value;
}

struct hl_str hl_call_find_field(const struct hl_call *call, struct hl_str name)
{
    for (size_t i = 0; i < call->field_count; i++)
        if (hl_str_eq_nocase(call->fields[i].name, name))
            return call->fields[i].value;
    return (struct hl_str){NULL, 0};
}

struct hl_str hl_call_body(const struct hl_call *call)
{
    return call->body.p ? hl_buf_str(&call->body) : HL_STR("");
}

int hl_call_upload(const struct hl_call *call)
{
    return call->upload ? call->upload->fd : HL_UPLOAD_NONE;
}

const struct hl_id *hl_call_run_id(const struct hl_call *call)
{
    return &call->run_id;
}

uint32_t hl_call_attempt(const struct hl_call *call)
{
    return call->attempt;
}

int64_t hl_call_deadline_ms(const struct hl_call *call)
{
    return call->deadline_ms;
}

bool hl_call_wants_events(const struct hl_call *call)
{
    return call->wants_events;
}

/* ---- whether anybody still waits ---- */

bool hl_call_is_gone(const struct hl_call *call)
{
    return atomic_load_explicit(&call->is_gone, memory_order_relaxed);
}

bool hl_call_has_room(struct hl_call *call)
{
    pthread_mutex_lock(&call->lock);
    bool has_room = call->unsent <= HL_CALL_WINDOW;
    pthread_mutex_unlock(&call->lock);
    return has_room;
}

void hl_call_wait(struct hl_call *call)
{
    pthread_mutex_lock(&call->lock);
    while (!hl_call_is_gone(call))
        pthread_cond_wait(&call->changed, &call->lock);
    pthread_mutex_unlock(&call->lock);
}

void hl_call_credit(struct hl_call *call, size_t n)
{
    pthread_mutex_lock(&call->lock);
    bool was_full = call->unsent > HL_CALL_WINDOW;
    call->unsent -= n;
    bool has_room = was_full && call->unsent <= HL_CALL_WINDOW;
    pthread_cond_broadcast(&call->changed);
    pthread_mutex_unlock(&call->lock);
    if (has_room && call->entry.is_async)
        hl_queue_tell(&call->desk->queue);
}

void hl_call_leave(struct hl_call *call)
{
    pthread_mutex_lock(&call->lock);
    atomic_store_explicit(&call->is_gone, true, memory_order_relaxed);
    pthread_cond_broadcast(&call->changed);
    pthread_mutex_unlock(&call->lock);
    if (call->entry.is_async)
        hl_queue_tell(&call->desk->queue);
}
