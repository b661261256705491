/* hookline/function.h - functions in C that hookline calls. Version 2 of the interface.
 *
 * A function takes a JSON object, its parameters, and gives a result, or values one by one. It is
 * compiled into a shared object, which `hookline-function` loads and serves over HTTP, each function
 * at POST /{name}:
 *
 *     #include <hookline/function.h>
 *
 *     static int run(struct hl_fn_call *call)
 *     {
 *         hl_fn_result_text(call, hl_fn_get_text(call, "prompt", ""));
 *         return 0;
 *     }
 *
 *     static const struct hl_fn_parameter run_takes[] = {{"prompt", HL_FN_STRING, HL_FN_REQUIRED}, {0}};
 *     static const struct hl_fn_function functions[] = {{"run", run, run_takes}, {0}};
 *     HL_FN_MODULE(functions, NULL, NULL);
 *
 *     cc -shared -fPIC -o demo.so demo.c  &&  hookline-function demo.so
 *
 * It needs no library of hookline's: all calls go through a table that the host hands over.
 *
 * Rules
 *   - A function belongs to one thread: that which runs it. It may block. With
 *     HOOKLINE_FUNCTION_CONCURRENCY above 1 several calls run at once, each on a thread of its own.
 *   - What a call gives out (values, texts) is valid until the function returns.
 *   - Texts are UTF-8. Where a length is asked for, a text may hold NUL; all texts that come from the
 *     host end with a NUL that is not counted.
 *   - A function gives a result, or emits values, or fails; nothing at all is the result null. The
 *     answer leaves when the function returns; what is emitted leaves at once if the caller asked for
 *     a stream (Accept: text/event-stream), else all values are sent as one array at the end.
 *   - A crash takes the host down and nobody else: hookline lives, reports the runs that were in
 *     it as failed, and (HOOKLINE_APP_COMMAND) starts the host again.
 *
 * Versions: the tables below only grow at their ends. A host serves modules of its own version and
 * of all before it, and refuses later ones with a message that says both numbers. */
#ifndef HOOKLINE_FUNCTION_H
#define HOOKLINE_FUNCTION_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HL_FN_VERSION 2 /* 2: progress */

/* A JSON value of the input. NULL is one that is not there: everything below takes it. */
struct hl_fn_value;

enum hl_fn_type {
    HL_FN_ABSENT, /* as the type of a parameter: any */
    HL_FN_NULL,
    HL_FN_BOOLEAN,
    HL_FN_INTEGER, /* fits in 64 bits */
    HL_FN_REAL,    /* as the type of a parameter: integers too */
    HL_FN_STRING,
    HL_FN_ARRAY,
    HL_FN_OBJECT,
};

/* What most functions return. In a process that the function forked, the return ends that process: with
 * status 0, or 1 unless it is HL_FN_OK. */
enum hl_fn_status {
    HL_FN_OK = 0,
    HL_FN_GONE = -1,    /* the caller has gone: nobody reads what is written, so stop */
    HL_FN_REFUSED = -2, /* it cannot be sent: not JSON, not UTF-8, or the call has its answer */
    HL_FN_NOMEM = -3,   /* or longer than HOOKLINE_FUNCTION_MAX_BODY in all */
};

enum hl_fn_level { HL_FN_DEBUG, HL_FN_INFO, HL_FN_WARN, HL_FN_ERROR };

/* One call. Made by the host; read its members, change none. */
struct hl_fn_call {
    const struct hl_fn_host *host;
    const struct hl_fn_value *input; /* the parameters: an object */
    const char *body;                /* the same as text, as it came */
    size_t body_length;              /* 0: no body, an empty object */
    const char *function;            /* the name that was called */
    const char *run_id;              /* a UUID; X-Request-Id */
    uint32_t attempt;                /* from 1; above 1: this run was interrupted before */
    bool wants_events;               /* the caller reads a stream of events */
    int64_t deadline_ms;             /* when the run is cut off, since the epoch; 0: never */
};

/* The host's side. Use the functions at the end of this file: they are the same in shorter words. */
struct hl_fn_host {
    uint32_t version;

    /* reading */
    enum hl_fn_type (*type)(const struct hl_fn_value *value);
    size_t (*count)(const struct hl_fn_value *value); /* of elements or members; else 0 */
    const struct hl_fn_value *(*member)(const struct hl_fn_value *object, const char *name);
    /* The member after the one called *name, and its name; from NULL on. NULL: no more. In no
     * promised order. */
    const struct hl_fn_value *(*next)(const struct hl_fn_value *object, const char **name);
    const struct hl_fn_value *(*element)(const struct hl_fn_value *array, size_t i);
    const char *(*text)(const struct hl_fn_value *string, size_t *length); /* else NULL */
    int64_t (*integer)(const struct hl_fn_value *value);                   /* else 0 */
    double (*real)(const struct hl_fn_value *value);                       /* else 0 */
    bool (*boolean)(const struct hl_fn_value *value);                      /* else false */
    const char *(*field)(const struct hl_fn_call *call, const char *name); /* else NULL */
    bool (*is_gone)(const struct hl_fn_call *call);

    /* writing JSON, piece by piece, into the call's own buffer */
    void (*open)(struct hl_fn_call *call, char bracket);
    void (*close)(struct hl_fn_call *call);
    void (*key)(struct hl_fn_call *call, const char *name);
    void (*put_text)(struct hl_fn_call *call, const char *text, size_t length);
    void (*put_integer)(struct hl_fn_call *call, int64_t number);
    void (*put_real)(struct hl_fn_call *call, double number);
    void (*put_boolean)(struct hl_fn_call *call, bool is_true);
    void (*put_null)(struct hl_fn_call *call);
    void (*put_value)(struct hl_fn_call *call, const struct hl_fn_value *value);

    /* answering; NULL for `json`: what was written into the buffer */
    void (*set_status)(struct hl_fn_call *call, int status);
    int (*result_json)(struct hl_fn_call *call, const char *json, size_t length);
    int (*result_text)(struct hl_fn_call *call, const char *text, size_t length);
    int (*result_bytes)(
        struct hl_fn_call *call, const char *content_type, const void *bytes, size_t length);
    int (*emit_json)(struct hl_fn_call *call, const char *json, size_t length);
    int (*emit_text)(struct hl_fn_call *call, const char *text, size_t length);
    int (*begin_events)(struct hl_fn_call *call);
    int (*fail)(struct hl_fn_call *call, int status, const char *detail);

    /* `call` may be NULL: a line about no run */
    void (*log)(const struct hl_fn_call *call, enum hl_fn_level level, const char *message);

    /* since version 2; NULL for `json`: what was written into the buffer */
    int (*progress)(struct hl_fn_call *call, const char *json, size_t length);
};

/* ---- what a module is ---- */

#define HL_FN_REQUIRED false
#define HL_FN_OPTIONAL true

struct hl_fn_parameter {
    const char *name; /* NULL ends the list */
    enum hl_fn_type type;
    bool is_optional; /* it may be missing, or null */
};

struct hl_fn_function {
    const char *name; /* NULL ends the list. Letters, digits, '_'; a letter first; not "healthz" */
    /* 0: done. Anything else: the call has failed; hl_fn_fail has said how, or the number is
     * named. */
    int (*run)(struct hl_fn_call *call);
    /* The host checks them and answers 422 with the names of what is missing, surplus or of another
     * type. NULL: the function looks itself. */
    const struct hl_fn_parameter *parameters;
};

struct hl_fn_module {
    uint32_t version;
    const struct hl_fn_function *functions;
    /* Runs once before the host listens; anything but 0 ends it. May be NULL. */
    int (*setup)(const struct hl_fn_host *host);
    /* Runs when the last call has ended. May be NULL. */
    void (*teardown)(void);
};

#define HL_FN_SYMBOL "hl_fn_module"

/* At the end of the one file that makes the module. */
#define HL_FN_MODULE(functions, setup, teardown)                                                   \
    __attribute__((visibility("default"))) extern const struct hl_fn_module hl_fn_module;          \
    const struct hl_fn_module hl_fn_module = {HL_FN_VERSION, (functions), (setup), (teardown)}

/* ---- parameters ---- */

/* The parameter of that name, or NULL. */
static inline const struct hl_fn_value *hl_fn_get(const struct hl_fn_call *call, const char *name)
{
    return call->host->member(call->input, name);
}

/* The parameter as what it is called, or `otherwise` when it is missing or something else. */
static inline const char *hl_fn_get_text(
    const struct hl_fn_call *call, const char *name, const char *otherwise)
{
    const char *text = call->host->text(hl_fn_get(call, name), NULL);
    return text ? text : otherwise;
}

static inline int64_t hl_fn_get_integer(
    const struct hl_fn_call *call, const char *name, int64_t otherwise)
{
    const struct hl_fn_value *value = hl_fn_get(call, name);
    return call->host->type(value) == HL_FN_INTEGER ? call->host->integer(value) : otherwise;
}

static inline double hl_fn_get_real(
    const struct hl_fn_call *call, const char *name, double otherwise)
{
    const struct hl_fn_value *value = hl_fn_get(call, name);
    enum hl_fn_type type = call->host->type(value);
    return type == HL_FN_INTEGER || type == HL_FN_REAL ? call->host->real(value) : otherwise;
}

static inline bool hl_fn_get_boolean(
    const struct hl_fn_call *call, const char *name, bool otherwise)
{
    const struct hl_fn_value *value = hl_fn_get(call, name);
    return call->host->type(value) == HL_FN_BOOLEAN ? call->host->boolean(value) : otherwise;
}

/* A field of the request's head, in any case ("Content-Language"), or NULL. */
static inline const char *hl_fn_field(const struct hl_fn_call *call, const char *name)
{
    return call->host->field(call, name);
}

/* Nobody waits for the result any more. Look now and then in a long computation. */
static inline bool hl_fn_is_cancelled(const struct hl_fn_call *call)
{
    return call->host->is_gone(call);
}

/* ---- how far it is ---- */

#define HL_FN_PROGRESS 1024 /* bytes of JSON, without white space and in ASCII */

/* Tells whoever follows the run how far it is, by any JSON value. Call it as often as is convenient: it
 * never waits, about two values a second go out, and a newer one takes the place of one that still
 * waits. Dropped (HL_FN_OK) once the first value of a stream was emitted, for then the answer has begun
 * and its events can say the same; and for callers of HTTP/1.0. HL_FN_REFUSED: it is not JSON, or
 * longer than HL_FN_PROGRESS. HL_FN_GONE: nobody waits any more. */
static inline int hl_fn_progress_json(struct hl_fn_call *call, const char *json)
{
    return call->host->progress(call, json, strlen(json));
}

/* What was written with hl_fn_open … hl_fn_put_…; the buffer is empty again. */
static inline int hl_fn_progress(struct hl_fn_call *call)
{
    return call->host->progress(call, NULL, 0);
}

/* ---- results ---- */

/* The status of the result: 200 to 599, but for 205 and 304, which are refused as a value is; 200
 * without it. */
static inline void hl_fn_set_status(struct hl_fn_call *call, int status)
{
    call->host->set_status(call, status);
}

/* A string as the result. */
static inline int hl_fn_result_text(struct hl_fn_call *call, const char *text)
{
    return call->host->result_text(call, text, strlen(text));
}

/* JSON text as the result. */
static inline int hl_fn_result_json(struct hl_fn_call *call, const char *json)
{
    return call->host->result_json(call, json, strlen(json));
}

/* What was written with hl_fn_open … hl_fn_put_… as the result. */
static inline int hl_fn_result(struct hl_fn_call *call)
{
    return call->host->result_json(call, NULL, 0);
}

/* Any bytes as the result, with their Content-Type. */
static inline int hl_fn_result_bytes(
    struct hl_fn_call *call, const char *content_type, const void *bytes, size_t length)
{
    return call->host->result_bytes(call, content_type, bytes, length);
}

/* ---- values one by one ---- */

/* Each may wait while the caller is slow to read. HL_FN_GONE: stop. */
static inline int hl_fn_emit_text(struct hl_fn_call *call, const char *text)
{
    return call->host->emit_text(call, text, strlen(text));
}

static inline int hl_fn_emit_json(struct hl_fn_call *call, const char *json)
{
    return call->host->emit_json(call, json, strlen(json));
}

/* What was written with hl_fn_open … hl_fn_put_… as a value; the buffer is empty again. */
static inline int hl_fn_emit(struct hl_fn_call *call)
{
    return call->host->emit_json(call, NULL, 0);
}

/* Answers 200 before there is a value, so that the caller knows that it has begun. From then on the
 * call cannot fail with a status of its own. Nothing for callers that want no stream. */
static inline int hl_fn_begin_events(struct hl_fn_call *call)
{
    return call->host->begin_events(call);
}

/* ---- writing JSON ---- */

/*     hl_fn_open(call, '{');
 *     hl_fn_key(call, "words");
 *     hl_fn_put_integer(call, 3);
 *     hl_fn_close(call);
 *     return hl_fn_result(call);
 *
 * Commas are the host's. What is not in order (a value without a key, a bracket that stays open)
 * shows when it is sent: HL_FN_REFUSED. */

/* '{' or '['. */
static inline void hl_fn_open(struct hl_fn_call *call, char bracket)
{
    call->host->open(call, bracket);
}

static inline void hl_fn_close(struct hl_fn_call *call)
{
    call->host->close(call);
}

static inline void hl_fn_key(struct hl_fn_call *call, const char *name)
{
    call->host->key(call, name);
}

static inline void hl_fn_put_text(struct hl_fn_call *call, const char *text)
{
    call->host->put_text(call, text, strlen(text));
}

static inline void hl_fn_put_integer(struct hl_fn_call *call, int64_t number)
{
    call->host->put_integer(call, number);
}

/* What is not a number (NaN) or is infinite is written as null. */
static inline void hl_fn_put_real(struct hl_fn_call *call, double number)
{
    call->host->put_real(call, number);
}

static inline void hl_fn_put_boolean(struct hl_fn_call *call, bool is_true)
{
    call->host->put_boolean(call, is_true);
}

static inline void hl_fn_put_null(struct hl_fn_call *call)
{
    call->host->put_null(call);
}

/* A value of the input. */
static inline void hl_fn_put_value(struct hl_fn_call *call, const struct hl_fn_value *value)
{
    call->host->put_value(call, value);
}

/* ---- failing, logging ---- */

#define HL_FN_MESSAGE 1024 /* longer messages are cut */

/* Answers with a problem of that status, 400 to 599. For `return hl_fn_fail(call, 422, "…")`. */
__attribute__((format(printf, 3, 4))) static inline int hl_fn_fail(
    struct hl_fn_call *call, int status, const char *format, ...)
{
    char detail[HL_FN_MESSAGE];
    va_list args;
    va_start(args, format);
    vsnprintf(detail, sizeof(detail), format, args);
    va_end(args);
    call->host->fail(call, status, detail);
    return 1;
}

/* A line in the log with the run's id. */
__attribute__((format(printf, 3, 4))) static inline void hl_fn_log(
    const struct hl_fn_call *call, enum hl_fn_level level, const char *format, ...)
{
    char message[HL_FN_MESSAGE];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    call->host->log(call, level, message);
}

#ifdef __cplusplus
}
#endif

#endif
