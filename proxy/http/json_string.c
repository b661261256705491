/* json_string.c - the escapes of JSON strings, read.
 * Thread: any. Not here: whether the text is JSON (json_check.c); writing (body_check.c). */
#include "http/json_string.h"

#include <string.h>

#define REPLACEMENT 0xfffd

static unsigned read_hex(const char *p)
{
    unsigned code = 0;
    for (int i = 0; i < 4; i++) {
        unsigned c = (unsigned char)p[i] | 0x20;
        code = code << 4 | (c <= '9' ? c - '0' : c - 'a' + 10);
    }
    return code;
}

static char *write_utf8(char *to, unsigned code)
{
    if (code < 0x80) {
        *to++ = (char)code;
    } else if (code < 0x800) {
        *to++ = (char)(0xc0 | code >> 6);
        *to++ = (char)(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        *to++ = (char)(0xe0 | code >> 12);
        *to++ = (char)(0x80 | (code >> 6 & 0x3f));
        *to++ = (char)(0x80 | (code & 0x3f));
    } else {
        *to++ = (char)(0xf0 | code >> 18);
        *to++ = (char)(0x80 | (code >> 12 & 0x3f));
        *to++ = (char)(0x80 | (code >> 6 & 0x3f));
        *to++ = (char)(0x80 | (code & 0x3f));
    }
    return to;
}

/* After "\u". */
static const char *read_code(const char *p, const char *end, char **to, bool *is_odd)
{
    if (end - p < 4)
        return end;
    unsigned code = read_hex(p);
    p += 4;
    if (code >= 0xd800 && code < 0xdc00 && end - p >= 6 && p[0] == '\\' && p[1] == 'u') {
        unsigned low = read_hex(p + 2);
        if (low >= 0xdc00 && low < 0xe000) {
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
            p += 6;
        }
    }
    bool is_half = code >= 0xd800 && code < 0xe000;
    if (is_half || code == 0)
        *is_odd = true;
    *to = write_utf8(*to, is_half ? REPLACEMENT : code);
    return p;
}

const char *hl_json_string_read(const char *p, const char *end, char **to, bool *is_odd)
{
    static const char letters[] = "bfnrt", meant[] = "\b\f\n\r\t";
    while (p < end && *p != '"') {
        if (*p != '\\') {
            *(*to)++ = *p++;
            continue;
        }
        if (end - p < 2)
            return end;
        if (p[1] == 'u') {
            p = read_code(p + 2, end, to, is_odd);
            continue;
        }
        const char *letter = strchr(letters, p[1]);
        *(*to)++ = letter ? meant[letter - letters] : p[1];
        p += 2;
    }
    return p < end ? p + 1 : end;
}
