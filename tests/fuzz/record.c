/* record.c - what changed with each step is noted as places in what the peers have sent and got, and
 * written when all is over: only then is it known what has to be replaced in bytes that came in
 * pieces. */
#include "record.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "fuzz.h"
#include "kernel.h"
#include "script.h"
#include "stub_store.h"
#include "world.h"

#define MAX_NOTES 4096
#define MAX_NAMES 64
#define TRACE     32
#define SPAN      16

/* A line, and the bytes below it. */
struct note {
    char text[80];
    const struct hl_buf *of; /* NULL: none */
    size_t from, to;
};

/* What was noted of a wire. */
struct seen {
    size_t sent, got;
    bool has_ended, got_end, is_closed;
};

static struct note notes[MAX_NOTES];
static size_t note_count;
static struct seen seen_callers[WORLD_MAX_CALLERS], seen_apps[WORLD_MAX_APPS];
static size_t caller_count, app_count;

void record_begin(void)
{
    note_count = caller_count = app_count = 0;
    memset(seen_callers, 0, sizeof seen_callers);
    memset(seen_apps, 0, sizeof seen_apps);
}

/* ---- what changed ---- */

__attribute__((format(printf, 1, 2))) static struct note *note(const char *format, ...)
{
    va_list arguments;
    FUZZ_CHECK(note_count < MAX_NOTES, "more happens than can be recorded");
    struct note *n = &notes[note_count++];
    n->of = NULL;
    va_start(arguments, format);
    vsnprintf(n->text, sizeof n->text, format, arguments);
    va_end(arguments);
    return n;
}

static void note_bytes(struct note *n, const struct hl_buf *of, size_t *from)
{
    n->of = of;
    n->from = *from;
    n->to = *from = of->n;
}

/* What its peer did comes first. */
static void note_peer(const char *who, size_t i, const struct world_wire *wire, struct seen *seen)
{
    if (wire->sent.n > seen->sent)
        note_bytes(note("%s %zu sends", who, i + 1), &wire->sent, &seen->sent);
    if (wire->has_ended && !seen->has_ended)
        note("%s %zu ends its side", who, i + 1);
    if (wire->fd < 0 && !seen->is_closed)
        note("%s %zu closes", who, i + 1);
    seen->has_ended = wire->has_ended;
    seen->is_closed = wire->fd < 0;
}

static void note_answer(const char *who, size_t i, const struct world_wire *wire, struct seen *seen)
{
    if (wire->got.n > seen->got)
        note_bytes(note("%s %zu gets", who, i + 1), &wire->got, &seen->got);
    if (wire->got_end && !seen->got_end)
        note("%s %zu is %s", who, i + 1, wire->socket.was_reset ? "reset" : "told the end");
    seen->got_end = wire->got_end;
}

static void note_room(const char *whose, unsigned digit)
{
    if (script_room(digit) == SIZE_MAX)
        note("%s socket takes all", whose);
    else
        note("%s socket takes %zu bytes more", whose, script_room(digit));
}

static void note_store(unsigned digit)
{
    static const char *const does[] = {"accepts", "is busy", "is full", "finds another request",
        "knows the request", "fails", "fails at the next two ends of runs", "holds its answers"};
    note("the store %s", digit < HL_ARRAY_LEN(does) ? does[digit] : "gives its answers");
}

static void note_general(char letter, unsigned digit)
{
    static const char *const stops[] = {"drain", "close", "cut"};
    switch (letter) {
    case 't':
        note("%llu ms pass", (unsigned long long)script_time(digit));
        break;
    case 'd':
        note("the app takes %s", digit % 2 ? "connections" : "no connection");
        break;
    case 's':
        note_store(digit);
        break;
    case 'q':
        note("the worker is told to %s", stops[digit % HL_ARRAY_LEN(stops)]);
        break;
    case 'v':
        note_room("the caller's", digit);
        break;
    case 'w':
        note_room("the app's", digit);
        break;
    case '\0':
        note("all are gone");
        break;
    default:
        break;
    }
}

void record_step(const struct world *world, char letter, unsigned digit)
{
    for (; caller_count < world->caller_count; caller_count++)
        note("caller %zu connects", caller_count + 1);
    note_general(letter, digit);
    for (size_t i = 0; i < caller_count; i++)
        note_peer("caller", i, &world->callers[i], &seen_callers[i]);
    for (size_t i = 0; i < app_count; i++)
        note_peer("app", i, &world->apps[i], &seen_apps[i]);
    for (; app_count < world->app_count; app_count++)
        note("app %zu is connected to", app_count + 1);
    for (size_t i = 0; i < app_count; i++)
        note_answer("app", i, &world->apps[i], &seen_apps[i]);
    for (size_t i = 0; i < caller_count; i++)
        note_answer("caller", i, &world->callers[i], &seen_callers[i]);
}

/* ---- what differs each time ---- */

static char names[MAX_NAMES][HL_ID_TEXT + 1];
static size_t name_count;

/* The number of that id among those of its kind; a new one is added. */
static size_t number_of(const char *id, size_t n)
{
    size_t number = 1, i = 0;
    for (; i < name_count; i++) {
        if (strlen(names[i]) != n)
            continue;
        if (memcmp(names[i], id, n) == 0)
            return number;
        number++;
    }
    FUZZ_CHECK(name_count < MAX_NAMES, "more ids than can be recorded");
    memcpy(names[name_count], id, n);
    names[name_count++][n] = '\0';
    return number;
}

static void name(char *id, size_t n, const char *kind)
{
    char text[32];
    int used = snprintf(text, sizeof text, "%s-%zu", kind, number_of(id, n));
    memset(id, '.', n);
    memcpy(id, text, (size_t)used);
}

/* `pattern`: "h" any hex digit, "w" a letter, "0" a digit, others themselves. */
static bool has_form(const char *p, const char *end, const char *pattern)
{
    for (; *pattern; p++, pattern++) {
        unsigned char c = (unsigned char)(p < end ? *p : '\0');
        bool is_right = *pattern == 'h'   ? isxdigit(c)
                        : *pattern == 'w' ? isalpha(c)
                        : *pattern == '0' ? isdigit(c)
                                          : c == (unsigned char)*pattern;
        if (!is_right)
            return false;
    }
    return true;
}

static bool begins(const char *p, const char *end, const char *with)
{
    return (size_t)(end - p) >= strlen(with) && strncasecmp(p, with, strlen(with)) == 0;
}

static void zero_digits(char *p, const char *end)
{
    for (; p < end && *p != '\r' && *p != '\n'; p++)
        if (isdigit((unsigned char)*p))
            *p = '0';
}

static void replace(struct hl_buf *buf)
{
    char *end = buf->p + buf->n;
    for (char *p = buf->p; p < end; p++) {
        if (has_form(p, end, "hhhhhhhh-hhhh-7hhh-hhhh-hhhhhhhhhhhh")) {
            name(p, HL_ID_TEXT, "run");
        } else if (begins(p, end, "traceparent: 00-") && end - p >= 16 + TRACE + 1 + SPAN) {
            name(p + 16, TRACE, "trace");
            name(p + 16 + TRACE + 1, SPAN, "span");
        } else if (begins(p, end, "x-run-deadline: ")) {
            zero_digits(p, end);
        } else if (has_form(p, end, "Date: www, 00 www 0000 00:00:00 GMT")) {
            memcpy(p, "Date: Thu, 01 Jan 1970 00:00:00 GMT", 35);
        }
    }
}

/* ---- writing ---- */

static void put(struct hl_buf *out, const char *p, size_t n)
{
    FUZZ_CHECK(hl_buf_append(out, p, n) == HL_OK, "out of memory");
}

static void put_text(struct hl_buf *out, const char *text)
{
    put(out, text, strlen(text));
}

static void put_byte(struct hl_buf *out, unsigned char c)
{
    char text[8];
    if (c == '\\')
        put_text(out, "\\\\");
    else if (c == '\r')
        put_text(out, "\\r");
    else if (c < ' ' || c > '~')
        put(out, text, (size_t)snprintf(text, sizeof text, "\\x%02x", c));
    else
        put(out, (const char *)&c, 1);
}

static void put_line(struct hl_buf *out, struct hl_str line, const char *end)
{
    put_text(out, line.n > 0 || *end ? "  | " : "  |");
    for (size_t i = 0; i < line.n; i++)
        put_byte(out, (unsigned char)line.p[i]);
    put_text(out, end);
    put_text(out, "\n");
}

static void put_bytes(struct hl_buf *out, struct hl_str bytes)
{
    while (bytes.n > 0) {
        const char *lf = memchr(bytes.p, '\n', bytes.n);
        size_t n = lf ? (size_t)(lf - bytes.p) : bytes.n;
        bool is_crlf = lf && n > 0 && lf[-1] == '\r';
        put_line(out, (struct hl_str){bytes.p, n - is_crlf}, is_crlf ? "" : lf ? "\\n" : "\\");
        bytes.p += n + (lf != NULL);
        bytes.n -= n + (lf != NULL);
    }
}

static void put_run(struct hl_buf *out, const struct stub_run *run)
{
    char text[160], id[HL_ID_TEXT];
    hl_id_format(&run->id, id);
    const struct hl_outcome *o = &run->outcome;
    int n = run->finishes == 0
                ? snprintf(text, sizeof text, "run-%zu has not ended\n", number_of(id, HL_ID_TEXT))
                : snprintf(text, sizeof text, "run-%zu: %s %s, %u, %llu bytes kept\n",
                      number_of(id, HL_ID_TEXT), hl_run_state_text(o->state),
                      o->reason ? hl_run_reason_text(o->reason) : "-", o->http_status,
                      (unsigned long long)o->body.size);
    put(out, text, (size_t)n);
}

void record_write(struct world *world, struct hl_buf *out)
{
    name_count = 0;
    for (size_t i = 0; i < world->caller_count; i++)
        replace(&world->callers[i].got);
    for (size_t i = 0; i < world->app_count; i++)
        replace(&world->apps[i].got);
    for (size_t i = 0; i < note_count; i++) {
        put_text(out, notes[i].text);
        put_text(out, "\n");
        if (notes[i].of)
            put_bytes(
                out, (struct hl_str){notes[i].of->p + notes[i].from, notes[i].to - notes[i].from});
    }
    for (size_t i = 0; i < stub_run_count(world->store); i++)
        put_run(out, stub_run_at(world->store, i));
}
