/* command.c - a command's text as words.
 * Owns: the words, in one allocation with their array. Runs at start.
 * Not here: where the program is and how it is run (app/child.c). */
#include "config/command.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "http/body_check.h"

/* Room for as many words as the text could have, and for their bytes: no escape is shorter than what
 * it stands for. */
static enum hl_err make_room(struct hl_command *out, size_t words, size_t bytes, char **space)
{
    out->argv = calloc(1, (words + 1) * sizeof(char *) + bytes);
    if (!out->argv)
        return HL_ERR_NOMEM;
    *space = (char *)(out->argv + words + 1);
    return HL_OK;
}

static bool is_plain(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           memchr("_./+-:,@%", c, 9) != NULL;
}

/* A word without quotes or expansions, such as a program's path; `*equals` is where it has its first
 * '=', or 0. Returns its length; 0: it is no such word. */
static size_t read_plain_word(struct hl_str text, size_t *equals)
{
    size_t n = 0;
    *equals = 0;
    for (; n < text.n && text.p[n] != ' '; n++) {
        if (text.p[n] == '=' && *equals == 0)
            *equals = n;
        else if (text.p[n] != '=' && !is_plain(text.p[n]))
            return 0;
    }
    return n;
}

/* Where the one program's name stands in a line that runs one, behind VARIABLE=value; or text.n. A
 * shell would stay as its parent, and what is sent to the app (signals) would end with the shell. */
static size_t find_program(struct hl_str text)
{
    static const char *const of_the_shell[] = {"exec", "eval", "command", ".", "source", "cd",
        "exit", "export", "set", "unset", "ulimit", "umask", "trap", "read", "wait", ":"};
    for (size_t i = 0; i < text.n; i++)
        if (memchr(";&|<>()`\n\\", text.p[i], 9))
            return text.n;
    for (size_t at = 0; at < text.n;) {
        size_t equals, n = read_plain_word((struct hl_str){text.p + at, text.n - at}, &equals);
        struct hl_str word = {text.p + at, n};
        if (n == 0)
            return text.n;
        if (equals > 0) {
            for (at += n; at < text.n && text.p[at] == ' ';)
                at++;
            continue;
        }
        for (size_t i = 0; i < HL_ARRAY_LEN(of_the_shell); i++)
            if (hl_str_eq(word, hl_str_from(of_the_shell[i])))
                return text.n;
        return at;
    }
    return text.n;
}

static enum hl_err parse_line(struct hl_str text, struct hl_command *out)
{
    static char shell[] = "/bin/sh", option[] = "-c";
    static const char take_place[] = "exec ";
    char *space;
    size_t at = find_program(text), more = at < text.n ? sizeof(take_place) - 1 : 0;
    enum hl_err err = make_room(out, 3, text.n + more + 1, &space);
    if (err)
        return err;
    memcpy(space, text.p, at);
    if (at < text.n) {
        memcpy(space + at, take_place, more);
        memcpy(space + at + more, text.p + at, text.n - at);
    }
    out->argv[0] = shell;
    out->argv[1] = option;
    out->argv[2] = space;
    out->is_shell = true;
    return HL_OK;
}

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

/* After "\u". NULL: a lone surrogate, or NUL, which no argument can hold. */
static const char *read_code(const char *p, char **to)
{
    unsigned code = read_hex(p);
    p += 4;
    if (code >= 0xd800 && code < 0xdc00 && p[0] == '\\' && p[1] == 'u') {
        unsigned low = read_hex(p + 2);
        if (low >= 0xdc00 && low < 0xe000) {
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
            p += 6;
        }
    }
    if (code == 0 || (code >= 0xd800 && code < 0xe000))
        return NULL;
    *to = write_utf8(*to, code);
    return p;
}

/* `p` is behind a string's first quote; the text is valid JSON. Returns what follows its last one,
 * or NULL. */
static const char *read_string(const char *p, char **to)
{
    static const char letters[] = "bfnrt", meant[] = "\b\f\n\r\t";
    for (; *p != '"';) {
        if (*p != '\\') {
            *(*to)++ = *p++;
            continue;
        }
        const char *letter = strchr(letters, p[1]);
        if (p[1] == 'u') {
            p = read_code(p + 2, to);
            if (!p)
                return NULL;
            continue;
        }
        *(*to)++ = letter ? meant[letter - letters] : p[1];
        p += 2;
    }
    *(*to)++ = '\0';
    return p + 1;
}

static bool is_json(struct hl_str text)
{
    struct hl_json_check check;
    hl_json_check_init(&check);
    return hl_json_check_feed(&check, text.p, text.n) && hl_json_check_end(&check);
}

static enum hl_err parse_array(struct hl_str text, struct hl_command *out)
{
    size_t commas = 0, n = 0;
    char *space;
    if (!is_json(text))
        return HL_ERR_INVALID;
    for (size_t i = 0; i < text.n; i++)
        commas += text.p[i] == ',';
    enum hl_err err = make_room(out, commas + 1, text.n, &space);
    if (err)
        return err;
    const char *p = text.p + 1;
    while (p && *p != ']') {
        if (*p == '"') {
            out->argv[n++] = space;
            p = read_string(p + 1, &space);
        } else {
            p = memchr(" \t\r\n,", *p, 5) ? p + 1 : NULL; /* only strings may stand in it */
        }
    }
    if (p && n > 0 && out->argv[0][0] != '\0')
        return HL_OK;
    hl_command_fini(out);
    return HL_ERR_INVALID;
}

enum hl_err hl_command_parse(struct hl_str text, struct hl_command *out)
{
    *out = (struct hl_command){0};
    text = hl_str_trim(text);
    if (text.n == 0 || memchr(text.p, '\0', text.n))
        return HL_ERR_INVALID;
    return text.p[0] == '[' ? parse_array(text, out) : parse_line(text, out);
}

void hl_command_fini(struct hl_command *command)
{
    free(command->argv);
    *command = (struct hl_command){0};
}
