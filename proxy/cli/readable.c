/* readable.c - where text that came from outside goes out: nothing in it moves a cursor, colours a line, names a
 * window or turns the order of letters round. Bytes that do are shown as \xNN. */
#include "cli/readable.h"

#include <string.h>

#include "base/utf8.h"

/* Controls, C1 controls, and what separates lines or turns their order round, are not. */
static bool is_harmless(uint32_t code)
{
    return code >= ' ' && !(code >= 0x7f && code < 0xa0) && code != 0x200e && code != 0x200f &&
           !(code >= 0x2028 && code <= 0x202e) && !(code >= 0x2066 && code <= 0x2069);
}

/* Letters of any script stay; what is not UTF-8 does not. */
enum hl_err hl_cli_readable(struct hl_buf *out, const char *text)
{
    struct hl_str s = hl_str_from(text);
    enum hl_err err = HL_OK;
    for (size_t n; s.n > 0 && err == HL_OK; s.p += n, s.n -= n) {
        uint32_t code;
        n = hl_utf8_decode(s.p, s.n, &code);
        bool is_shown = n > 0 && is_harmless(code);
        if (is_shown) {
            err = hl_buf_append(out, s.p, n);
            continue;
        }
        n = n > 0 ? n : 1;
        for (size_t i = 0; i < n && err == HL_OK; i++)
            err = hl_buf_printf(out, "\\x%02x", (unsigned char)s.p[i]);
    }
    return err;
}

void hl_cli_print_cell(FILE *out, const char *text, size_t width)
{
    struct hl_buf readable;
    size_t has = 0;
    hl_buf_init(&readable, 0);
    if (hl_cli_readable(&readable, text) == HL_OK && hl_buf_append(&readable, "", 1) == HL_OK) {
        fputs(readable.p, out);
        has = hl_utf8_count(hl_str_from(readable.p));
    }
    hl_buf_fini(&readable);
    fprintf(out, "%*s", has < width ? (int)(width - has) : 0, "");
}

void hl_cli_print(FILE *out, const char *text)
{
    hl_cli_print_cell(out, text, 0);
}

void hl_cli_print_line(FILE *out, const char *text)
{
    hl_cli_print(out, text);
    fputc('\n', out);
}

void hl_cli_print_each_line(FILE *out, struct hl_str lines)
{
    struct hl_buf line;
    hl_buf_init(&line, 0);
    while (lines.n > 0) {
        const char *end = memchr(lines.p, '\n', lines.n);
        size_t n = end ? (size_t)(end - lines.p) : lines.n;
        line.n = 0;
        if (hl_buf_append(&line, lines.p, n) == HL_OK && hl_buf_append(&line, "", 1) == HL_OK)
            hl_cli_print_line(out, line.p);
        n += end ? 1 : 0;
        lines.p += n;
        lines.n -= n;
    }
    hl_buf_fini(&line);
}

bool hl_cli_is_text(struct hl_cli_text_check *check, struct hl_str bytes)
{
    for (size_t i = 0; i < bytes.n; i++) {
        unsigned char c = (unsigned char)bytes.p[i];
        bool is_c1 = check->last == 0xc2 && c >= 0x80 && c < 0xa0;
        if ((c < ' ' && c != '\n' && c != '\t' && c != '\r') || c == 0x7f || is_c1)
            return false;
        check->last = c;
    }
    return true;
}
