/* json_line.c - JSON text as a value of a header field.
 * Thread: any; no allocation.
 * Not here: whether it is JSON (http/json_check.h). */
#include "core/json_line.h"

#include <stdbool.h>
#include <stdio.h>

#include "base/str.h"
#include "base/utf8.h"

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
