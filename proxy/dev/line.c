/* line.c - see line.h. Thread: main.
 * Promise: what peers sent cannot drive a terminal; what a function itself printed is its author's own.
 * Not here: whose line it is, and how it is marked (process.c). */
#include "dev/line.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/utf8.h"

/* Lines that begin so say what follows from dev's own choices, or what it has said in its own words. */
static const char *const unsaid[] = {"store: in memory", "HOOKLINE_AUTH=none", "listening",
    "health and metrics", "the app is not ready", "the app is ready", "queued runs are",
    "no control socket", NULL};
static const char *const host_unsaid[] = {"stopping:", "stopped", NULL};

static bool is_unsaid(enum hl_dev_speaker speaker, const char *text)
{
    const char *const *items = speaker == HL_DEV_HOOKLINE ? unsaid : host_unsaid;
    for (; *items; items++)
        if (strncmp(text, *items, strlen(*items)) == 0)
            return true;
    return false;
}

static const char *text_of(const json_t *line, const char *name)
{
    const char *text = json_string_value(json_object_get(line, name));
    return text ? text : "";
}

/* The bytes of what is unsafe as \xNN, all of them: the last of two may be a control character alone. Line ends stay
 * where `has_lines`. */
static void add_safe(struct hl_buf *out, const char *text, bool has_lines)
{
    enum hl_err err = HL_OK;
    struct hl_str rest = hl_str_from(text);
    while (rest.n > 0 && !err) {
        uint32_t code;
        size_t n = hl_utf8_decode(rest.p, rest.n, &code);
        bool is_plain = n > 0 && (!hl_utf8_is_unsafe(code) || (code == '\n' && has_lines));
        n = n > 0 ? n : 1;
        if (is_plain)
            err = hl_buf_append(out, rest.p, n);
        for (size_t i = 0; i < n && !is_plain && !err; i++)
            err = hl_buf_printf(out, "\\x%02x", (unsigned char)rest.p[i]);
        rest.p += n;
        rest.n -= n;
    }
    (void)err; /* out of memory: the line is shorter */
}

static void add_field(struct hl_buf *out, const char *name, const json_t *value)
{
    char *text = json_is_string(value) ? NULL : json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    if (hl_buf_printf(out, " %s=", name) == HL_OK)
        add_safe(out, text ? text : json_string_value(value), false);
    free(text);
}

static void end_line(struct hl_buf *out)
{
    if (hl_buf_append(out, "\n", 1) != HL_OK)
        return; /* the next one goes on here */
}

/* ---- the kinds of lines ---- */

static void read_call(const json_t *line, struct hl_buf *out)
{
    char clock[16] = "";
    time_t now = time(NULL);
    struct tm local;
    if (localtime_r(&now, &local))
        strftime(clock, sizeof(clock), "%H:%M:%S", &local);
    if (hl_buf_printf(out, "%s %s ", clock, text_of(line, "method")) != HL_OK)
        return;
    add_safe(out, text_of(line, "path"), false);
    const char *end = text_of(line, "end"), *reason = text_of(line, "reason");
    if (hl_buf_printf(out, " %lld %lld ms %s %s",
            json_integer_value(json_object_get(line, "status")),
            json_integer_value(json_object_get(line, "ms")), text_of(line, "run_id"),
            text_of(line, "mode")) != HL_OK)
        return;
    if (reason[0] && hl_buf_printf(out, " (%s)", reason) != HL_OK)
        return;
    if (end[0] && hl_buf_printf(out, " (%s)", end) != HL_OK)
        return;
    end_line(out);
}

static void read_failure(const json_t *line, struct hl_buf *out)
{
    const char *run = text_of(line, "run_id");
    add_safe(out, text_of(line, "msg"), false);
    if (run[0] && hl_buf_printf(out, " (run %s)", run) != HL_OK)
        return;
    end_line(out);
    add_safe(out, text_of(line, "traceback"), true);
    end_line(out);
}

static void read_other(json_t *line, struct hl_buf *out)
{
    const char *level = text_of(line, "level"), *name;
    json_t *value;
    if (strcmp(level, "warn") == 0 || strcmp(level, "error") == 0)
        if (hl_buf_printf(out, "%s: ", strcmp(level, "warn") == 0 ? "warning" : level) != HL_OK)
            return;
    add_safe(out, text_of(line, "msg"), false);
    json_object_foreach(
        line, name, value) if (strcmp(name, "time") != 0 && strcmp(name, "level") != 0 &&
                               strcmp(name, "msg") != 0) add_field(out, name, value);
    end_line(out);
}

static void read_ours(enum hl_dev_speaker speaker, json_t *line, struct hl_buf *out)
{
    const char *text = text_of(line, "msg");
    bool is_host = speaker == HL_DEV_HOST;
    if (is_host && json_object_get(line, "stream")) {
        if (hl_buf_append_str(out, hl_str_from(text)) == HL_OK)
            end_line(out);
    } else if (is_host && json_object_get(line, "traceback")) {
        read_failure(line, out);
    } else if (!is_host && strcmp(text, HL_LOG_CALL) == 0) {
        read_call(line, out);
    } else if (!is_unsaid(speaker, text)) {
        read_other(line, out);
    }
}

void hl_dev_line_read(enum hl_dev_speaker speaker, struct hl_str line, struct hl_buf *out)
{
    bool may_be = speaker != HL_DEV_STRANGER && line.n > 0 && line.p[0] == '{';
    json_t *read = may_be ? json_loadb(line.p, line.n, 0, NULL) : NULL;
    if (json_is_string(json_object_get(read, "msg")) && json_object_get(read, "level"))
        read_ours(speaker, read, out);
    else if (hl_buf_append_str(out, line) == HL_OK)
        end_line(out);
    json_decref(read);
}
