/* log.c - builds one line in a buffer on the stack and gives it away whole.
 * Owns: the level and the format, set before threads start. Any thread.
 * Promise: never allocates, never more than HL_LOG_LINE_MAX bytes, always a whole line (JSON stays
 * valid when it is cut): a text that does not fit is cut between characters and ends in an ellipsis,
 * a field that does not fit is left out.
 * Not here: where lines go (log_sink.c), and who keeps the last ones (loop/run_log.c). */
#include "base/log.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/base64.h"
#include "base/clock.h"
#include "base/id.h"
#include "base/log_sink.h"
#include "base/utf8.h"

#define ELLIPSIS "\xe2\x80\xa6" /* U+2026: the text is cut here */
#define TAIL_CAP 6 /* kept free for what ends a line: ellipsis, quote, brace, newline */

struct line {
    enum hl_log_format format;
    size_t n;
    char p[HL_LOG_LINE_MAX];
};

static enum hl_log_level least_level = HL_LOG_INFO;
static enum hl_log_format line_format = HL_LOG_JSON;
static hl_log_take_line *_Atomic follower;

static const char *const level_names[][2] = {
    [HL_LOG_DEBUG] = {[HL_LOG_JSON] = "debug", [HL_LOG_PLAIN] = "DEBUG"},
    [HL_LOG_INFO] = {[HL_LOG_JSON] = "info", [HL_LOG_PLAIN] = "INFO"},
    [HL_LOG_WARN] = {[HL_LOG_JSON] = "warn", [HL_LOG_PLAIN] = "WARN"},
    [HL_LOG_ERROR] = {[HL_LOG_JSON] = "error", [HL_LOG_PLAIN] = "ERROR"},
};

void hl_log_setup(enum hl_log_level least, enum hl_log_format format)
{
    least_level = least;
    line_format = format;
}

bool hl_log_is_on(enum hl_log_level level)
{
    return level >= least_level;
}

static size_t room_in(const struct line *line)
{
    size_t end = HL_LOG_LINE_MAX - TAIL_CAP;
    return line->n < end ? end - line->n : 0;
}

/* All of it or nothing. */
static bool put(struct line *line, const char *p, size_t n)
{
    if (n > room_in(line))
        return false;
    memcpy(line->p + line->n, p, n);
    line->n += n;
    return true;
}

static bool put_text(struct line *line, const char *z)
{
    return put(line, z, strlen(z));
}

static bool put_character(struct line *line, const char *p, size_t length, uint32_t code)
{
    char escape[8];
    switch (code) {
    case '"':
        return put_text(line, "\\\"");
    case '\\':
        return put_text(line, "\\\\");
    case '\n':
        return put_text(line, "\\n");
    case '\r':
        return put_text(line, "\\r");
    case '\t':
        return put_text(line, "\\t");
    default:
        if (!hl_utf8_is_unsafe(code))
            return put(line, p, length);
        snprintf(escape, sizeof(escape), "\\u%04x", (unsigned)(code & 0xffff));
        return put_text(line, escape);
    }
}

/* The inside of a JSON string; the plain format uses the same escapes. An invalid byte becomes
 * U+FFFD. */
static void put_escaped(struct line *line, struct hl_str s)
{
    bool fits = true;
    while (s.n > 0 && fits) {
        uint32_t code;
        size_t length = hl_utf8_decode(s.p, s.n, &code);
        if (length > 0) {
            fits = put_character(line, s.p, length, code);
        } else {
            length = 1;
            fits = put_text(line, "\\ufffd");
        }
        s.p += length;
        s.n -= length;
    }
    if (!fits) { /* out of the tail: no field follows */
        memcpy(line->p + line->n, ELLIPSIS, sizeof(ELLIPSIS) - 1);
        line->n += sizeof(ELLIPSIS) - 1;
    }
}

/* Without quotes a value must be a word that no reader can take for two fields. */
static bool is_word(struct hl_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] <= ' ' || s.p[i] > '~' || s.p[i] == '"' || s.p[i] == '\\' || s.p[i] == '=')
            return false;
    }
    return s.n > 0;
}

/* `room` is what must be free so that the name, and a value that cannot be cut, fit together. */
static bool put_name(struct line *line, const char *name, size_t room)
{
    bool is_json = line->format == HL_LOG_JSON;
    if (strlen(name) + room + sizeof(",\"\":\"\"") > room_in(line))
        return false;
    put_text(line, is_json ? ",\"" : " ");
    put_text(line, name);
    put_text(line, is_json ? "\":" : "=");
    return true;
}

static void put_str(struct line *line, const char *name, struct hl_str value)
{
    bool is_bare = line->format == HL_LOG_PLAIN && is_word(value);
    if (!put_name(line, name, 0))
        return;
    if (!is_bare)
        put_text(line, "\"");
    put_escaped(line, value);
    if (!is_bare)
        line->p[line->n++] = '"'; /* out of the tail when the value was cut */
}

static void put_int(struct line *line, const char *name, int64_t value)
{
    char digits[24];
    int n = snprintf(digits, sizeof(digits), "%" PRId64, value);
    if (put_name(line, name, (size_t)n))
        put_text(line, digits);
}

static void put_id(struct line *line, const char *name, const struct hl_id *id)
{
    char text[HL_ID_TEXT];
    hl_id_format(id, text);
    if (strlen(name) + 2 * sizeof(text) < room_in(line))
        put_str(line, name, (struct hl_str){text, sizeof(text)});
}

static void put_hex(struct line *line, const char *name, const struct hl_id *id)
{
    char text[2 * sizeof(id->b)];
    hl_hex_write(text, id->b, sizeof(id->b));
    put_str(line, name, (struct hl_str){text, sizeof(text)});
}

static void put_field(struct line *line, const struct hl_log_field *field)
{
    switch (field->kind) {
    case HL_LOG_KIND_STR:
        put_str(line, field->name, field->str);
        break;
    case HL_LOG_KIND_INT:
        put_int(line, field->name, field->num);
        break;
    case HL_LOG_KIND_ID:
        put_id(line, field->name, field->id);
        break;
    case HL_LOG_KIND_HEX:
        if (field->id)
            put_hex(line, field->name, field->id);
        break;
    }
}

static void put_beginning(struct line *line, enum hl_log_level level, const char *message)
{
    char time[HL_CLOCK_TEXT];
    bool is_json = line->format == HL_LOG_JSON;
    hl_clock_format(hl_clock_machine_ms(), time);
    put_text(line, is_json ? "{\"time\":\"" : "");
    put_text(line, time);
    put_text(line, is_json ? "\",\"level\":\"" : " ");
    put_text(line, level_names[level][line->format]);
    put_text(line, is_json ? "\",\"msg\":\"" : " ");
    put_escaped(line, hl_str_from(message));
    if (is_json)
        line->p[line->n++] = '"';
}

static void build(struct line *line, enum hl_log_format format, enum hl_log_level level,
    const char *message, const struct hl_log_field *fields)
{
    line->format = format;
    line->n = 0;
    put_beginning(line, level, message);
    for (; fields->name; fields++)
        put_field(line, fields);
    if (format == HL_LOG_JSON)
        line->p[line->n++] = '}';
    line->p[line->n++] = '\n';
}

static const struct hl_id *find_run(const struct hl_log_field *fields)
{
    for (; fields->name; fields++)
        if (fields->kind == HL_LOG_KIND_ID && strcmp(fields->name, "run_id") == 0)
            return fields->id;
    return NULL;
}

void hl_log_write_of(const struct hl_id *run_id, enum hl_log_level level, const char *message,
    const struct hl_log_field *fields)
{
    struct line line;
    hl_log_take_line *take = atomic_load(&follower);
    build(&line, line_format, level, message, fields);
    hl_log_sink_put(line.p, line.n);
    if (take && line_format != HL_LOG_JSON)
        build(&line, HL_LOG_JSON, level, message, fields);
    if (take)
        take(run_id, level, message, line.p, line.n);
}

void hl_log_write(enum hl_log_level level, const char *message, const struct hl_log_field *fields)
{
    hl_log_write_of(find_run(fields), level, message, fields);
}

void hl_log_follow(hl_log_take_line *take)
{
    atomic_store(&follower, take);
}

size_t hl_log_build(char out[HL_LOG_LINE_MAX], enum hl_log_level level, const char *message,
    const struct hl_log_field *fields)
{
    struct line line;
    build(&line, line_format, level, message, fields);
    memcpy(out, line.p, line.n);
    return line.n;
}
