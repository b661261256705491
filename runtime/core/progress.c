/* progress.c - how far a call is, on its way to the caller as an interim response.
 * Owns: the newest value that has not gone out. Thread: hl_call_progress any, the rest the loop's.
 * Promise: of a call's values one waits at most and one is on its way, so a caller who reads slowly
 * costs no memory, holds up no function and gets the newest one next; none follows the answer's head,
 * where none could stand (RFC 9112 4).
 * Not here: when an answer begins (answer.c), its way to the socket (output.c). */
#include "core/progress.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/utf8.h"
#include "core/call_inside.h"
#include "core/connection.h"
#include "core/desk.h"
#include "core/fork.h"

/* ---- JSON text as a value of a header field ---- */

#define ESCAPE_MAX  sizeof("\\ud83d\\ude00")
#define REPLACEMENT 0xFFFD /* for what is not UTF-8 */

static size_t write_escape(char out[ESCAPE_MAX], uint32_t code)
{
    if (code <= 0xFFFF)
        return (size_t)snprintf(out, ESCAPE_MAX, "\\u%04x", (unsigned)code);
    code -= 0x10000;
    return (size_t)snprintf(out, ESCAPE_MAX, "\\u%04x\\u%04x", 0xD800 | (unsigned)(code >> 10),
        0xDC00 | (unsigned)(code & 0x3FF));
}

/* The next character of *rest, as it is or escaped. */
static size_t write_next(char out[ESCAPE_MAX], struct hl_str *rest)
{
    uint32_t code;
    char b = rest->p[0];
    size_t n = hl_utf8_decode(rest->p, rest->n, &code);
    if (n == 0) {
        n = 1;
        code = REPLACEMENT;
    }
    rest->p += n;
    rest->n -= n;
    if (code < ' ' || code > '~')
        return write_escape(out, code);
    out[0] = b;
    return 1;
}

static bool is_space(char b)
{
    return b == ' ' || b == '\t' || b == '\r' || b == '\n';
}

size_t hl_json_line_write(char *out, size_t cap, struct hl_str json)
{
    bool is_string = false, is_escaped = false;
    size_t n = 0;
    while (json.n > 0) {
        char next[ESCAPE_MAX], b = json.p[0];
        bool is_left_out = !is_string && is_space(b);
        size_t len = write_next(next, &json);
        if (is_left_out)
            continue;
        if (len > cap - n)
            return 0;
        memcpy(out + n, next, len);
        n += len;
        is_string ^= b == '"' && !is_escaped;
        is_escaped = b == '\\' && !is_escaped;
    }
    return n;
}

/* ---- the function's thread ---- */

static struct hl_progress *new_progress(struct hl_slot_name connection)
{
    struct hl_progress *progress = malloc(sizeof(*progress));
    if (!progress)
        return NULL;
    progress->told.type = HL_DESK_PROGRESS;
    progress->connection = connection;
    progress->is_told = false;
    progress->n = 0;
    return progress;
}

/* Under the call's lock, and so before the head of an answer that another thread is about to send. */
static void keep(struct hl_call *call, const char *line, size_t n)
{
    struct hl_progress *progress = call->progress;
    bool is_known = progress->is_told || progress->n > 0;
    memcpy(progress->line, line, n);
    progress->n = n;
    if (is_known)
        return;
    progress->is_told = true;
    hl_mailbox_post(&call->desk->mail.box, &progress->told);
}

enum hl_err hl_call_progress(struct hl_call *call, struct hl_str json)
{
    char line[HL_CALL_PROGRESS_MAX];
    size_t n = hl_json_line_write(line, sizeof(line), json);
    enum hl_err err = HL_OK;
    if (n == 0)
        return HL_ERR_TOO_LARGE;
    if (hl_fork_is_child() || hl_call_is_gone(call))
        return HL_ERR_CANCELLED;
    if (call->minor == 0)
        return HL_OK; /* HTTP/1.0 has no interim responses (RFC 9110 15.2) */
    pthread_mutex_lock(&call->lock);
    if (!call->has_begun) {
        if (!call->progress)
            call->progress = new_progress(call->connection);
        if (call->progress)
            keep(call, line, n);
        else
            err = HL_ERR_NOMEM;
    }
    pthread_mutex_unlock(&call->lock);
    return err;
}

/* ---- the loop's thread ---- */

static bool has_line(struct hl_call *call)
{
    pthread_mutex_lock(&call->lock);
    bool has_line = call->progress && call->progress->n > 0;
    pthread_mutex_unlock(&call->lock);
    return has_line;
}

/* False: the peer has gone. */
static bool send_line(struct hl_connection *c)
{
    static const char head[] = "HTTP/1.1 103 Early Hints\r\nX-Run-Progress: ";
    char out[sizeof(head) + HL_CALL_PROGRESS_MAX + sizeof("\r\n\r\n")];
    size_t n = sizeof(head) - 1;
    memcpy(out, head, n);
    pthread_mutex_lock(&c->call->lock);
    struct hl_progress *progress = c->call->progress;
    memcpy(out + n, progress->line, progress->n);
    n += progress->n;
    progress->n = 0;
    pthread_mutex_unlock(&c->call->lock);
    memcpy(out + n, "\r\n\r\n", 4);
    if (hl_stream_write(&c->stream, out, n + 4) != HL_OK)
        return false;
    c->interim_end = c->stream.written;
    return true;
}

/* What the peer has not taken of the last one would only grow old before the next one. */
static bool may_send(const struct hl_connection *c)
{
    return !hl_stream_is_blocked(&c->stream) && hl_stream_taken(&c->stream) >= c->interim_end;
}

bool hl_progress_pump(struct hl_connection *c)
{
    if (hl_timer_is_armed(&c->pace) || !has_line(c->call))
        return true;
    hl_timer_arm(c->home->wheel, &c->pace, HL_PROGRESS_EVERY_MS);
    return !may_send(c) || send_line(c);
}

bool hl_progress_hear(struct hl_connection *c, struct hl_progress *progress)
{
    pthread_mutex_lock(&c->call->lock);
    progress->is_told = false;
    pthread_mutex_unlock(&c->call->lock);
    return hl_progress_pump(c);
}

void hl_progress_flush(struct hl_connection *c)
{
    hl_timer_disarm(&c->pace);
    if (has_line(c->call))
        send_line(c); /* if that fails, so does what follows it */
}
