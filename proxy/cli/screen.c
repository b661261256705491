/* screen.c - terminals: their width, whether they have colours, and times as people say them; and where text that came
 * from outside goes out: nothing in it moves a cursor, colours a line, names a window or turns the order of letters
 * round. Bytes that do are shown as \xNN. */
#include "cli/screen.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/utf8.h"

#define WIDTH_DEFAULT 80 /* of a terminal that does not know its own */

/* https://no-color.org: whatever it says, unless it is empty. */
static bool wants_color(void)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    return !(no_color && *no_color) && !(term && strcmp(term, "dumb") == 0);
}

struct hl_cli_screen hl_cli_screen_of(FILE *out)
{
    struct winsize size = {.ws_col = 0};
    struct hl_cli_screen screen = {.is_terminal = isatty(fileno(out)) == 1};
    if (!screen.is_terminal)
        return screen;
    screen.has_color = wants_color();
    screen.width =
        ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : WIDTH_DEFAULT;
    return screen;
}

const char *hl_cli_color_of(const struct hl_cli_screen *screen, const char *word)
{
    static const struct {
        const char *word, *color;
    } colors[] = {{"failure", "\033[31m"}, {"dead", "\033[31m"}, {"failed", "\033[31m"},
        {"error", "\033[31m"}, {"success", "\033[32m"}, {"delivered", "\033[32m"},
        {"good", "\033[32m"}, {"queued", "\033[33m"}, {"running", "\033[33m"},
        {"pending", "\033[33m"}, {"retry", "\033[33m"}, {"warn", "\033[33m"},
        {"cancelled", "\033[2m"}, {"revoked", "\033[2m"}, {"expired", "\033[2m"}};
    for (size_t i = 0; screen->has_color && i < HL_ARRAY_LEN(colors); i++)
        if (strcmp(word, colors[i].word) == 0)
            return colors[i].color;
    return "";
}

const char *hl_cli_color_faint(const struct hl_cli_screen *screen)
{
    return screen->has_color ? "\033[2m" : "";
}

const char *hl_cli_color_end(const struct hl_cli_screen *screen)
{
    return screen->has_color ? "\033[0m" : "";
}

const char *hl_cli_ago(int64_t wall_ms, int64_t now_ms, char *into)
{
    static const struct {
        int64_t ms;
        const char *name;
    } units[] = {{24 * 3600000, "d"}, {3600000, "h"}, {60000, "min"}, {1000, "s"}};
    int64_t off = now_ms > wall_ms ? now_ms - wall_ms : wall_ms - now_ms;
    size_t i = 0;
    while (i < HL_ARRAY_LEN(units) - 1 && off < units[i].ms)
        i++;
    snprintf(into, HL_CLI_AGO, wall_ms > now_ms ? "in %" PRId64 " %s" : "%" PRId64 " %s ago",
        off / units[i].ms, units[i].name);
    return into;
}

/* ---- text from outside ---- */

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
