/* probe.c - functions that show what a function sees, and that do what functions do wrong. */
#include <hookline/function.h>
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

static atomic_int opened, waiting, cancelled, gone, poured, setups;

static void rest(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static int setup(const struct hl_fn_host *host)
{
    host->log(NULL, HL_FN_INFO, "setting up");
    setups++;
    return getenv("PROBE_SETUP") ? atoi(getenv("PROBE_SETUP")) : 0;
}

static void teardown(void)
{
    puts("torn down");
    fflush(stdout);
}

/* What it sees of the call. */
static int run(struct hl_fn_call *call)
{
    hl_fn_log(call, HL_FN_INFO, "seen: %s", hl_fn_get_text(call, "text", "nothing"));
    hl_fn_open(call, '{');
    hl_fn_key(call, "function");
    hl_fn_put_text(call, call->function);
    hl_fn_key(call, "run_id");
    hl_fn_put_text(call, call->run_id);
    hl_fn_key(call, "attempt");
    hl_fn_put_integer(call, call->attempt);
    hl_fn_key(call, "has_deadline");
    hl_fn_put_boolean(call, call->deadline_ms > 0);
    hl_fn_key(call, "wants_events");
    hl_fn_put_boolean(call, call->wants_events);
    hl_fn_key(call, "field");
    const char *field = hl_fn_field(call, "x-probe");
    if (field)
        hl_fn_put_text(call, field);
    else
        hl_fn_put_null(call);
    hl_fn_key(call, "body");
    hl_fn_put_text(call, call->body);
    hl_fn_key(call, "input");
    hl_fn_put_value(call, call->input);
    hl_fn_close(call);
    return hl_fn_result(call);
}

/* The members' names and types, and their values read back. */
static int kinds(struct hl_fn_call *call)
{
    static const char *const names[] = {
        "absent", "null", "boolean", "integer", "real", "string", "array", "object"};
    const struct hl_fn_value *value;
    hl_fn_open(call, '{');
    for (const char *name = NULL; (value = call->host->next(call->input, &name));) {
        enum hl_fn_type type = call->host->type(value);
        hl_fn_key(call, name);
        hl_fn_open(call, '[');
        hl_fn_put_text(call, names[type]);
        if (type == HL_FN_BOOLEAN)
            hl_fn_put_boolean(call, call->host->boolean(value));
        if (type == HL_FN_INTEGER)
            hl_fn_put_integer(call, call->host->integer(value));
        if (type == HL_FN_REAL)
            hl_fn_put_real(call, call->host->real(value));
        if (type == HL_FN_STRING) {
            size_t length;
            const char *text = call->host->text(value, &length);
            call->host->put_text(call, text, length);
        }
        if (type == HL_FN_ARRAY || type == HL_FN_OBJECT)
            hl_fn_put_integer(call, (int64_t)call->host->count(value));
        if (type == HL_FN_ARRAY)
            hl_fn_put_value(call, call->host->element(value, 0));
        hl_fn_close(call);
    }
    hl_fn_close(call);
    return hl_fn_result(call);
}

/* Emits "values": strings as texts, all else as JSON. */
static int stream(struct hl_fn_call *call)
{
    const struct hl_fn_value *values = hl_fn_get(call, "values");
    for (size_t i = 0; i < call->host->count(values); i++) {
        const struct hl_fn_value *value = call->host->element(values, i);
        int rc;
        if (call->host->type(value) == HL_FN_STRING) {
            rc = hl_fn_emit_text(call, call->host->text(value, NULL));
        } else {
            hl_fn_put_value(call, value);
            rc = hl_fn_emit(call);
        }
        if (rc)
            return rc;
    }
    if (hl_fn_get_boolean(call, "fails", false))
        return hl_fn_fail(call, 500, "broke after %zu", call->host->count(values));
    return hl_fn_begin_events(call);
}

/* A value for each time that somebody calls `open`. */
static int gated(struct hl_fn_call *call)
{
    int64_t n = hl_fn_get_integer(call, "n", 1);
    for (int64_t i = 0; i < n; i++) {
        while (opened <= i && !hl_fn_is_cancelled(call))
            rest();
        hl_fn_put_integer(call, i);
        if (hl_fn_emit(call) == HL_FN_GONE) {
            gone++;
            return 0;
        }
    }
    return 0;
}

static int open_gate(struct hl_fn_call *call)
{
    (void)call;
    opened++;
    return 0;
}

/* Holds on until somebody calls `open`, or nobody waits any more. */
static int hold(struct hl_fn_call *call)
{
    int before = opened;
    waiting++;
    hl_fn_log(call, HL_FN_INFO, "holding");
    while (opened == before && !hl_fn_is_cancelled(call))
        rest();
    cancelled += hl_fn_is_cancelled(call);
    return hl_fn_result_text(call, "held");
}

static int pour(struct hl_fn_call *call)
{
    static char text[64 * 1024 + 1];
    memset(text, 'x', sizeof(text) - 1);
    while (hl_fn_emit_text(call, text) == HL_FN_OK)
        poured++;
    gone++;
    return 0;
}

static int counts(struct hl_fn_call *call)
{
    char json[256];
    snprintf(json, sizeof(json),
        "{\"opened\":%d,\"waiting\":%d,\"cancelled\":%d,\"gone\":%d,\"poured\":%d,\"setups\":%d}",
        opened, waiting, cancelled, gone, poured, setups);
    return hl_fn_result_json(call, json);
}

/* What "how" says. */
static int wrong(struct hl_fn_call *call)
{
    const char *how = hl_fn_get_text(call, "how", "");
    if (strcmp(how, "segv") == 0)
        raise(SIGSEGV);
    if (strcmp(how, "null") == 0)
        return *(volatile int *)(uintptr_t)hl_fn_get_integer(call, "address", 0);
    if (strcmp(how, "abort") == 0)
        abort();
    if (strcmp(how, "exit") == 0)
        exit(3);
    if (strcmp(how, "returns") == 0)
        return 7;
    if (strcmp(how, "teapot") == 0)
        return hl_fn_fail(call, 418, "short and \"stout\"\n%s", "\xff");
    if (strcmp(how, "status") == 0)
        return hl_fn_fail(call, 200, "not a failure's status");
    if (strcmp(how, "not json") == 0)
        return hl_fn_result_json(call, "{\"a\":");
    if (strcmp(how, "deep") == 0) {
        char brackets[514];
        memset(brackets, '[', sizeof(brackets) - 1);
        brackets[513] = '\0';
        return hl_fn_result_json(call, brackets);
    }
    if (strcmp(how, "type") == 0)
        return hl_fn_result_bytes(call, "two\nlines", "", 0);
    if (strcmp(how, "not utf-8") == 0)
        return hl_fn_result_text(call, "\xff");
    if (strcmp(how, "order") == 0) {
        hl_fn_open(call, '{');
        hl_fn_put_integer(call, 1);
        hl_fn_close(call);
        return hl_fn_result(call);
    }
    if (strcmp(how, "twice") == 0) {
        hl_fn_result_text(call, "first");
        hl_fn_result_text(call, "second");
    }
    if (strcmp(how, "after") == 0) {
        hl_fn_result_text(call, "done");
        return hl_fn_fail(call, 503, "it was not done");
    }
    if (strcmp(how, "nan") == 0) {
        hl_fn_put_real(call, NAN);
        return hl_fn_result(call);
    }
    return 0;
}

static int bytes(struct hl_fn_call *call)
{
    hl_fn_set_status(call, (int)hl_fn_get_integer(call, "status", 200));
    return hl_fn_result_bytes(call, hl_fn_get_text(call, "type", "image/png"), "\x89PNG\0\r\n", 7);
}

static const struct hl_fn_parameter typed_takes[] = {{"s", HL_FN_STRING, HL_FN_REQUIRED},
    {"i", HL_FN_INTEGER, HL_FN_OPTIONAL}, {"r", HL_FN_REAL, HL_FN_OPTIONAL},
    {"b", HL_FN_BOOLEAN, HL_FN_OPTIONAL}, {"a", HL_FN_ARRAY, HL_FN_OPTIONAL},
    {"o", HL_FN_OBJECT, HL_FN_OPTIONAL}, {"any", HL_FN_ABSENT, HL_FN_OPTIONAL}, {0}};

static const struct hl_fn_function functions[] = {{"run", run, NULL}, {"kinds", kinds, NULL},
    {"typed", run, typed_takes}, {"stream", stream, NULL}, {"gated", gated, NULL},
    {"open", open_gate, NULL}, {"hold", hold, NULL}, {"pour", pour, NULL}, {"counts", counts, NULL},
    {"wrong", wrong, NULL}, {"bytes", bytes, NULL}, {"x", run, NULL}, {0}};
HL_FN_MODULE(functions, setup, teardown);
