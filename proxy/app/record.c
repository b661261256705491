/* record.c - log records of the app, read from its output.
 * Thread: any. Promise: bounded by one line of the log; nothing of a record takes the place of what is
 * ours (the time, the message, that it is the app's).
 * Not here: escaping (base/log.c writes all values so). */
#include "app/record.h"

#include <string.h>

#include "base/compiler.h"
#include "http/json_check.h"
#include "http/json_text.h"

#define NAME_MAX_BYTES 64
#define DIGITS_MAX     18 /* of a number that surely fits */

enum { FIELD_STREAM, FIELD_LINE, FIELD_COUNT }; /* those that are always there */

/* A member: its name, and its value as text. */
struct member {
    struct hl_str name, value;
    bool is_string;
};

struct scan {
    const char *p, *end;
};

static const struct {
    const char *name;
    enum hl_log_level level;
} levels[] = {{"trace", HL_LOG_DEBUG}, {"debug", HL_LOG_DEBUG}, {"info", HL_LOG_INFO},
    {"notice", HL_LOG_INFO}, {"warn", HL_LOG_WARN}, {"warning", HL_LOG_WARN},
    {"error", HL_LOG_ERROR}, {"critical", HL_LOG_ERROR}, {"fatal", HL_LOG_ERROR},
    {"panic", HL_LOG_ERROR}};

static void skip_space(struct scan *s)
{
    while (s->p < s->end && memchr(" \t\r\n", *s->p, 4))
        s->p++;
}

/* The text is JSON as far as it goes: whole, or it goes on behind what we read. */
static bool is_json_object(struct hl_str line, bool is_cut)
{
    struct hl_json_check check;
    hl_json_check_init(&check);
    return line.n > 0 && line.p[0] == '{' && hl_json_check_feed(&check, line.p, line.n) &&
           (is_cut || hl_json_check_end(&check));
}

/* ---- members, in a text that is JSON ---- */

static struct hl_str read_string(struct hl_record *record, struct scan *s)
{
    char *to = record->text + record->text_n;
    struct hl_str text = {to, 0};
    bool is_odd = false;
    s->p = hl_json_string_read(s->p + 1, s->end, &to, &is_odd);
    text.n = (size_t)(to - text.p);
    *to = '\0'; /* in the place of its first quote */
    record->text_n += text.n + 1;
    return text;
}

/* A number, a word, or all of an array or object. */
static struct hl_str read_other(struct scan *s)
{
    const char *begin = s->p;
    size_t depth = 0;
    bool is_in_string = false;
    for (; s->p < s->end; s->p++) {
        char c = *s->p;
        if (is_in_string) {
            s->p += c == '\\' && s->p + 1 < s->end;
            is_in_string = c != '"';
        } else if (c == '"') {
            is_in_string = true;
        } else if (c == '{' || c == '[') {
            depth++;
        } else if (depth == 0 && (c == ',' || c == '}')) {
            break;
        } else if (c == '}' || c == ']') {
            depth--;
        }
    }
    return hl_str_trim((struct hl_str){begin, (size_t)(s->p - begin)});
}

/* The next one; false at the end of the object, or of what we have of it. */
static bool next_member(struct hl_record *record, struct scan *s, struct member *m)
{
    s->p += s->p < s->end; /* the brace or comma before it */
    skip_space(s);
    if (s->p == s->end || *s->p != '"')
        return false;
    m->name = read_string(record, s);
    skip_space(s);
    s->p += s->p < s->end; /* the colon */
    skip_space(s);
    if (s->p == s->end)
        return false;
    m->is_string = *s->p == '"';
    m->value = m->is_string ? read_string(record, s) : read_other(s);
    skip_space(s);
    return true;
}

/* ---- fields ---- */

static bool is_name(struct hl_str name)
{
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                memchr("_.-", c, 3)))
            return false;
    }
    return name.n > 0 && name.n <= NAME_MAX_BYTES;
}

/* What our line has already, or says in its own way. */
static bool is_taken(const struct hl_record *record, struct hl_str name)
{
    const char *const ours[] = {"time", "level", "msg", "run_id", record->message_name};
    for (size_t i = 0; i < HL_ARRAY_LEN(ours); i++)
        if (hl_str_eq(name, hl_str_from(ours[i])))
            return true;
    for (size_t i = 0; i < record->count; i++)
        if (hl_str_eq(name, hl_str_from(record->fields[i].name)))
            return true;
    return false;
}

static bool is_integer(const struct member *m)
{
    struct hl_str digits = m->value;
    if (digits.n > 0 && digits.p[0] == '-') {
        digits.p++;
        digits.n--;
    }
    uint64_t number;
    return !m->is_string && digits.n <= DIGITS_MAX && hl_str_to_u64(digits, &number);
}

static int64_t read_integer(struct hl_str s)
{
    uint64_t number = 0;
    bool is_negative = s.p[0] == '-';
    hl_str_to_u64((struct hl_str){s.p + is_negative, s.n - is_negative}, &number);
    return is_negative ? -(int64_t)number : (int64_t)number;
}

static void add(struct hl_record *record, const struct member *m)
{
    if (record->count == HL_RECORD_FIELDS || !is_name(m->name) || is_taken(record, m->name))
        return;
    const char *name = m->name.p;
    record->fields[record->count++] =
        is_integer(m) ? HL_LOG_INT(name, read_integer(m->value)) : HL_LOG_STR(name, m->value);
}

static bool read_level(const struct member *m, enum hl_log_level *level)
{
    for (size_t i = 0; m->is_string && i < HL_ARRAY_LEN(levels); i++) {
        if (hl_str_eq_nocase(m->value, hl_str_from(levels[i].name))) {
            *level = levels[i].level;
            return true;
        }
    }
    return false;
}

static bool is_called(const struct member *m, const char *name)
{
    return m->is_string && hl_str_eq(m->name, hl_str_from(name));
}

/* First what every line of the app has, and the run: the rest may be cut. */
static bool read_main(struct hl_record *record, const char *stream, struct scan s)
{
    struct hl_str message = {NULL, 0};
    bool has_level = false, has_run = false;
    for (struct member m; next_member(record, &s, &m);) {
        if (is_called(&m, "level")) {
            has_level = read_level(&m, &record->level);
        } else if (is_called(&m, "msg") || (is_called(&m, "message") && !message.p)) {
            message = m.value;
            record->message_name = m.name.p;
        } else if (is_called(&m, "run_id")) {
            has_run = hl_id_parse(m.value, &record->run_id);
        } else if (is_called(&m, "stream") && hl_str_eq(m.value, HL_STR("stdout"))) {
            stream = "stdout"; /* a function host writes it all to one pipe */
        }
    }
    record->fields[FIELD_STREAM] = HL_LOG_TEXT("stream", stream);
    record->fields[FIELD_LINE] = HL_LOG_STR("line", message);
    record->count = FIELD_COUNT;
    if (has_run)
        record->fields[record->count++] = HL_LOG_ID("run_id", &record->run_id);
    return has_level && message.p;
}

bool hl_record_read(struct hl_record *record, const char *stream, struct hl_str line)
{
    bool is_cut = line.n >= HL_LOG_LINE_MAX;
    line = hl_str_trim((struct hl_str){line.p, is_cut ? HL_LOG_LINE_MAX : line.n});
    if (!is_json_object(line, is_cut))
        return false;
    struct scan s = {line.p, line.p + line.n};
    record->text_n = record->count = 0;
    if (!read_main(record, stream, s))
        return false;
    for (struct member m; next_member(record, &s, &m);)
        add(record, &m);
    record->fields[record->count].name = NULL;
    return true;
}
