/* paragraph.c - text of help in lines of at most 80 characters. A word that is longer has a line of its own. */
#include "cli/paragraph.h"

#include <string.h>

#include "base/str.h"
#include "base/utf8.h"

struct paragraph {
    FILE *out;
    size_t at, indent;
    const char *open, *close; /* what is between them is one word; "": nothing is */
    const char *joint;        /* at the end of a line that goes on */
};

/* Up to the next blank that is not in a group. */
static struct hl_str take_word(const struct paragraph *p, const char *text)
{
    bool is_within = false;
    size_t n = 0;
    for (; text[n] && (is_within || text[n] != ' '); n++) {
        if (is_within ? text[n] == *p->close : text[n] == *p->open)
            is_within = !is_within;
    }
    return (struct hl_str){text, n};
}

static void print(struct paragraph *p, const char *text)
{
    bool is_first = true;
    while (*text) {
        struct hl_str word = take_word(p, text);
        size_t width = hl_utf8_count(word), joint = text[word.n] ? strlen(p->joint) : 0;
        if (!is_first && p->at + 1 + width + joint > HL_CLI_LINE) {
            fprintf(p->out, "%s\n%*s", p->joint, (int)p->indent, "");
            p->at = p->indent;
        } else if (!is_first) {
            fputc(' ', p->out);
            p->at++;
        }
        fprintf(p->out, "%.*s", HL_STR_ARG(word));
        p->at += width;
        text += word.n + (text[word.n] == ' ');
        is_first = false;
    }
    fputc('\n', p->out);
}

void hl_cli_print_text(FILE *out, size_t at, size_t indent, const char *text)
{
    print(&(struct paragraph){out, at, indent, "", "", ""}, text);
}

void hl_cli_print_usage(FILE *out, size_t at, size_t indent, const char *usage)
{
    print(&(struct paragraph){out, at, indent, "[", "]", ""}, usage);
}

void hl_cli_print_typed(FILE *out, size_t at, size_t indent, const char *typed)
{
    print(&(struct paragraph){out, at, indent, "'", "'", " \\"}, typed);
}
