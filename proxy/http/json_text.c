/* json_text.c - the escapes of JSON strings, read; numbers and escapes that JSON allows and its readers do not.
 * Thread: any; no state. One pass; a string is looked at twice, to know whether it is a name.
 * Not here: whether the text is JSON (json_check.c); writing (body_check.c); the reader (jansson). */
#include "http/json_text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- strings ---- */

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

/* ---- numbers and strings narrowed ---- */

struct pass {
    const char *p, *end;
    struct hl_buf *out;
};

static bool is_of_number(char c)
{
    return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

static const char *skip_digits(const char *z)
{
    return z + strspn(z, "0123456789");
}

/* RFC 8259 6, all of it. */
static bool is_number(const char *z)
{
    z += *z == '-';
    const char *after = skip_digits(z);
    if (after == z || (*z == '0' && after > z + 1))
        return false;
    if (*after == '.') {
        const char *fraction = after + 1;
        after = skip_digits(fraction);
        if (after == fraction)
            return false;
    }
    if (*after == 'e' || *after == 'E') {
        const char *exponent = after + (after[1] == '+' || after[1] == '-' ? 2 : 1);
        after = skip_digits(exponent);
        if (after == exponent)
            return false;
    }
    return *after == '\0';
}

/* How the number would be written that a reader can take; false: it can take this one, or it is none. */
static bool replace_number(const char *z, char text[32])
{
    bool is_integer = z[strcspn(z, ".eE")] == '\0';
    if (!is_number(z))
        return false;
    double value = strtod(z, NULL);
    errno = 0;
    if (is_integer && (strtoll(z, NULL, 10), errno != ERANGE))
        return false;
    if (!is_integer && !isinf(value))
        return false;
    if (isinf(value))
        value = value > 0 ? 1e308 : -1e308;
    snprintf(text, 32, "%.17e", value);
    return true;
}

/* What of the text is a number goes out first, to be read with an end of its own. */
static enum hl_err pass_number(struct pass *pass)
{
    const char *begin = pass->p;
    size_t at = pass->out->n;
    char text[32];
    while (pass->p < pass->end && is_of_number(*pass->p))
        pass->p++;
    enum hl_err err = hl_buf_append(pass->out, begin, (size_t)(pass->p - begin));
    if (!err)
        err = hl_buf_append(pass->out, "", 1);
    if (err)
        return err;
    pass->out->n--;
    if (!replace_number(pass->out->p + at, text))
        return HL_OK;
    pass->out->n = at;
    return hl_buf_append_str(pass->out, hl_str_from(text));
}

/* The last quote of the string that begins at `p`, or the end. */
static const char *end_of_string(const char *p, const char *end)
{
    for (p++; p < end && *p != '"'; p++)
        if (*p == '\\' && p + 1 < end)
            p++;
    return p;
}

static bool is_name(const char *quote, const char *end)
{
    const char *p = quote + 1;
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r'))
        p++;
    return p < end && *p == ':';
}

/* The code unit of the escape at `p`, or -1: there is none. */
static int read_unit(const char *p, const char *end)
{
    int unit = 0;
    if (end - p < 6 || p[0] != '\\' || p[1] != 'u')
        return -1;
    for (int i = 2; i < 6; i++) {
        int c = (unsigned char)p[i] | 0x20;
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
            return -1;
        unit = unit * 16 + (c <= '9' ? c - '0' : c - 'a' + 10);
    }
    return unit;
}

/* The length of the escape or byte at `p`; `*is_odd`: no reader's text can hold it. */
static size_t look(const char *p, const char *end, bool *is_odd)
{
    int unit = read_unit(p, end);
    *is_odd = unit == 0 || (unit >= 0xd800 && unit <= 0xdfff);
    if (unit >= 0xd800 && unit <= 0xdbff) {
        int low = read_unit(p + 6, end);
        *is_odd = low < 0xdc00 || low > 0xdfff;
        return *is_odd ? 6 : 12;
    }
    if (unit >= 0)
        return 6;
    return *p == '\\' && end - p >= 2 ? 2 : 1;
}

static enum hl_err pass_string(struct pass *pass)
{
    const char *quote = end_of_string(pass->p, pass->end);
    const struct hl_str odd = is_name(quote, pass->end) ? HL_STR("\\ufffd") : HL_STR("\\u0000");
    enum hl_err err = hl_buf_append(pass->out, pass->p++, 1);
    while (!err && pass->p < quote) {
        bool is_odd;
        size_t n = look(pass->p, quote, &is_odd);
        err = hl_buf_append_str(pass->out, is_odd ? odd : (struct hl_str){pass->p, n});
        pass->p += n;
    }
    if (!err && quote < pass->end)
        err = hl_buf_append(pass->out, pass->p++, 1);
    return err;
}

enum hl_err hl_json_narrow(struct hl_str text, struct hl_buf *out)
{
    struct pass pass = {.p = text.p, .end = text.p + text.n, .out = out};
    enum hl_err err = hl_buf_reserve(out, text.n + 1);
    while (!err && pass.p < pass.end) {
        if (*pass.p == '"')
            err = pass_string(&pass);
        else if (is_of_number(*pass.p) && *pass.p != 'e' && *pass.p != 'E')
            err = pass_number(&pass);
        else
            err = hl_buf_append(out, pass.p++, 1);
    }
    return err;
}
