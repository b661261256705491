/* task.c - one call of a C function, and the table through which it asks and answers.
 * Owns: struct task, on the stack of the thread that runs the call.
 * Promise: whatever the function does or leaves out, the call has one answer.
 * Not here: reading values (input.c), the answer's way (core/). */
#include "c/task.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/id.h"
#include "base/log.h"
#include "base/utf8.h"
#include "c/crash.h"
#include "c/input.h"
#include "c/json_writer.h"
#include "core/call.h"
#include "core/fork.h"
#include "http/refusal.h"

struct task {
    struct hl_fn_call face; /* what the function sees; first */
    struct hl_call *call;
    struct hl_json_writer writer;
    int status;
    bool has_result, has_emitted, has_failed;
    const char *refused; /* why its last value was not taken; NULL: none was refused */
    char run_id[HL_ID_TEXT + 1];
};

static struct task *task_of(const struct hl_fn_call *face)
{
    return (struct task *)(uintptr_t)face; /* made here, and not const */
}

/* ---- one call ---- */

static void init(struct task *task, struct hl_call *call, const struct hl_fn_function *function,
    struct hl_fn_value *input, size_t max_result)
{
    struct hl_str body = hl_call_body(call);
    hl_id_format(hl_call_run_id(call), task->run_id);
    task->run_id[HL_ID_TEXT] = '\0';
    task->call = call;
    task->status = 200;
    task->has_result = task->has_emitted = task->has_failed = false;
    task->refused = NULL;
    hl_json_writer_init(&task->writer, max_result);
    task->face = (struct hl_fn_call){
        .host = &hl_task_host,
        .input = input,
        .body = body.p,
        .body_length = body.n,
        .function = function->name,
        .run_id = task->run_id,
        .attempt = hl_call_attempt(call),
        .wants_events = hl_call_wants_events(call),
        .deadline_ms = hl_call_deadline_ms(call),
    };
}

/* It returned an error of its own, or what the host answered when a value was refused. */
static void fail_with(struct task *task, int rc)
{
    char detail[256], number[16];
    bool is_refused = task->refused && (rc == HL_FN_REFUSED || rc == HL_FN_NOMEM);
    snprintf(number, sizeof(number), "%d", rc);
    struct hl_refusal why = hl_refusal_say(detail, sizeof(detail),
        is_refused ? HL_REFUSAL_FUNCTION_VALUE : HL_REFUSAL_FUNCTION_FAILED,
        is_refused ? task->refused : number, NULL);
    if (!hl_fn_is_cancelled(&task->face))
        hl_fn_log(&task->face, HL_FN_ERROR,
            "function failed: it returned %d; hl_fn_fail gives a failure a text and a status", rc);
    hl_call_refuse(task->call, &why);
}

/* What the function left to do. */
static void settle(struct task *task, int rc)
{
    if (task->has_failed)
        return;
    if (rc != 0) {
        fail_with(task, rc);
    } else if (task->has_emitted) {
        hl_call_end(task->call);
    } else if (!task->has_result) {
        hl_call_answer_json(task->call, (uint16_t)task->status, HL_STR("null"));
    }
}

void hl_task_end_child(int rc)
{
    if (hl_fork_is_child())
        _exit(rc == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
}

void hl_task_run(struct hl_call *call, const struct hl_fn_function *function, size_t max_result)
{
    char detail[512];
    struct task task;
    struct hl_fn_value *input = hl_input_read(hl_call_body(call), detail, sizeof(detail));
    if (!input && !*detail) {
        hl_call_refuse(call, hl_refusal_make(HL_REFUSAL_NO_MEMORY));
    } else if (!input || !hl_input_check(input, function, detail, sizeof(detail))) {
        struct hl_refusal why = *hl_refusal_make(HL_REFUSAL_FUNCTION_INPUT);
        why.detail = detail;
        hl_call_refuse(call, &why);
    } else {
        init(&task, call, function, input, max_result);
        hl_crash_watch(function->name, task.run_id);
        int rc = function->run(&task.face);
        hl_crash_watch(NULL, NULL);
        hl_task_end_child(rc);
        settle(&task, rc);
        hl_json_writer_fini(&task.writer);
    }
    hl_input_free(input);
    hl_call_release(call);
}

/* ---- the table: asking ---- */

static const char *field(const struct hl_fn_call *face, const char *name)
{
    return hl_call_find_field(task_of(face)->call, hl_str_from(name)).p;
}

static bool is_gone(const struct hl_fn_call *face)
{
    return hl_call_is_gone(task_of(face)->call);
}

/* ---- the table: writing ---- */

static void open_bracket(struct hl_fn_call *face, char bracket)
{
    hl_json_writer_open(&task_of(face)->writer, bracket);
}

static void close_bracket(struct hl_fn_call *face)
{
    hl_json_writer_close(&task_of(face)->writer);
}

static void key(struct hl_fn_call *face, const char *name)
{
    hl_json_writer_key(&task_of(face)->writer, hl_str_from(name));
}

static void put_text(struct hl_fn_call *face, const char *text, size_t length)
{
    hl_json_writer_put_text(&task_of(face)->writer, (struct hl_str){text, length});
}

static void put_integer(struct hl_fn_call *face, int64_t number)
{
    hl_json_writer_put_integer(&task_of(face)->writer, number);
}

static void put_real(struct hl_fn_call *face, double number)
{
    hl_json_writer_put_real(&task_of(face)->writer, number);
}

static void put_boolean(struct hl_fn_call *face, bool is_true)
{
    hl_json_writer_put_boolean(&task_of(face)->writer, is_true);
}

static void put_null(struct hl_fn_call *face)
{
    hl_json_writer_put_null(&task_of(face)->writer);
}

static void put_value(struct hl_fn_call *face, const struct hl_fn_value *value)
{
    hl_input_write(value, &task_of(face)->writer);
}

/* ---- the table: answering ---- */

/* The text that the function gave, if it is JSON, or what it wrote piece by piece. Returns NULL, or
 * what is wrong with it. */
static const char *find_json(struct task *task, const char *json, size_t length, struct hl_str *out)
{
    struct hl_json_check check;
    if (!json)
        return hl_json_writer_take(&task->writer, out);
    *out = (struct hl_str){json, length};
    hl_json_check_init(&check);
    if (hl_json_check_feed(&check, json, length) && hl_json_check_end(&check))
        return NULL;
    return check.is_too_deep ? "it is nested deeper than 512 levels" : "it is not one JSON value";
}

/* A refusal that a function overlooks would be a result that nobody gets: it is said in the log. */
static int refuse(struct task *task, const char *why)
{
    task->refused = why;
    HL_LOG(WARN, "the function's value was refused", HL_LOG_TEXT("run_id", task->run_id),
        HL_LOG_TEXT("function", task->face.function), HL_LOG_TEXT("why", why));
    return HL_FN_REFUSED;
}

static int status_of(struct task *task, enum hl_err err)
{
    switch (err) {
    case HL_OK:
        return HL_FN_OK;
    case HL_ERR_CANCELLED:
        return HL_FN_GONE;
    case HL_ERR_TOO_LARGE:
        refuse(task, "the values are together longer than HOOKLINE_FUNCTION_MAX_BODY allows");
        return HL_FN_NOMEM;
    case HL_ERR_NOMEM:
        refuse(task, "there is no memory for it");
        return HL_FN_NOMEM;
    default:
        return refuse(task, "the call has already been answered");
    }
}

static void set_status(struct hl_fn_call *face, int status)
{
    struct task *task = task_of(face);
    if (status >= 200 && status <= 599 && status != 205 && status != 304)
        task->status = status;
    else
        refuse(task, "a result cannot have this status");
}

static int finish(struct task *task, enum hl_err err)
{
    task->has_result |= err == HL_OK || err == HL_ERR_CANCELLED;
    return status_of(task, err);
}

static int result_json(struct hl_fn_call *face, const char *json, size_t length)
{
    struct task *task = task_of(face);
    struct hl_str text;
    const char *fault = find_json(task, json, length, &text);
    if (fault)
        return refuse(task, fault);
    return finish(task, hl_call_answer_json(task->call, (uint16_t)task->status, text));
}

static int result_text(struct hl_fn_call *face, const char *text, size_t length)
{
    struct task *task = task_of(face);
    struct hl_str json;
    hl_json_writer_take(&task->writer, &json); /* what was begun is dropped */
    hl_json_writer_put_text(&task->writer, (struct hl_str){text, length});
    const char *fault = hl_json_writer_take(&task->writer, &json);
    if (fault)
        return refuse(task, fault);
    return finish(task, hl_call_answer_json(task->call, (uint16_t)task->status, json));
}

static int result_bytes(
    struct hl_fn_call *face, const char *content_type, const void *bytes, size_t length)
{
    struct task *task = task_of(face);
    enum hl_err err = hl_call_answer_bytes(task->call, (uint16_t)task->status,
        hl_str_from(content_type), (struct hl_str){bytes, length});
    if (err == HL_ERR_INVALID && !task->has_result && !task->has_emitted && !task->has_failed)
        return refuse(task, "its content type is not valid");
    return finish(task, err);
}

static int emit_json(struct hl_fn_call *face, const char *json, size_t length)
{
    struct task *task = task_of(face);
    struct hl_str text;
    const char *fault = find_json(task, json, length, &text);
    if (fault)
        return refuse(task, fault);
    task->has_emitted = true;
    return status_of(task, hl_call_emit_json(task->call, text));
}

static int emit_text(struct hl_fn_call *face, const char *text, size_t length)
{
    struct task *task = task_of(face);
    struct hl_str value = {text, length};
    task->has_emitted = true;
    enum hl_err err = hl_call_emit_text(task->call, value);
    if (err == HL_ERR_INVALID && !hl_utf8_is_valid(value))
        return refuse(task, "it is not UTF-8");
    return status_of(task, err);
}

static int begin_events(struct hl_fn_call *face)
{
    struct task *task = task_of(face);
    task->has_emitted = true;
    return status_of(task, hl_call_begin(task->call));
}

static int fail(struct hl_fn_call *face, int status, const char *detail)
{
    struct task *task = task_of(face);
    if (status < 400 || status > 599)
        status = 500;
    task->has_failed = true;
    return status_of(task, hl_call_fail(task->call, (uint16_t)status, hl_str_from(detail)));
}

static void write_log(const struct hl_fn_call *face, enum hl_fn_level level, const char *message)
{
    static const enum hl_log_level levels[] = {[HL_FN_DEBUG] = HL_LOG_DEBUG,
        [HL_FN_INFO] = HL_LOG_INFO,
        [HL_FN_WARN] = HL_LOG_WARN,
        [HL_FN_ERROR] = HL_LOG_ERROR};
    enum hl_log_level at = (size_t)level < HL_ARRAY_LEN(levels) ? levels[level] : HL_LOG_INFO;
    if (!hl_log_is_on(at))
        return;
    struct hl_log_field fields[3] = {0};
    if (face) {
        fields[0] = HL_LOG_TEXT("run_id", face->run_id);
        fields[1] = HL_LOG_TEXT("function", face->function);
    }
    hl_log_write(at, message, fields);
}

/* ---- the table: how far it is ---- */

static int progress(struct hl_fn_call *face, const char *json, size_t length)
{
    struct task *task = task_of(face);
    struct hl_str text;
    const char *fault = find_json(task, json, length, &text);
    if (fault)
        return refuse(task, fault);
    enum hl_err err = hl_call_progress(task->call, text);
    if (err == HL_ERR_TOO_LARGE)
        return refuse(task, "it is longer than the 1,024 bytes that progress may have");
    return status_of(task, err);
}

const struct hl_fn_host hl_task_host = {
    .version = HL_FN_VERSION,
    .type = hl_input_type,
    .count = hl_input_count,
    .member = hl_input_member,
    .next = hl_input_next,
    .element = hl_input_element,
    .text = hl_input_text,
    .integer = hl_input_integer,
    .real = hl_input_real,
    .boolean = hl_input_boolean,
    .field = field,
    .is_gone = is_gone,
    .open = open_bracket,
    .close = close_bracket,
    .key = key,
    .put_text = put_text,
    .put_integer = put_integer,
    .put_real = put_real,
    .put_boolean = put_boolean,
    .put_null = put_null,
    .put_value = put_value,
    .set_status = set_status,
    .result_json = result_json,
    .result_text = result_text,
    .result_bytes = result_bytes,
    .emit_json = emit_json,
    .emit_text = emit_text,
    .begin_events = begin_events,
    .fail = fail,
    .log = write_log,
    .progress = progress,
};
