/* help.c - `hookline help`, `--help` and `--version`: commands and settings, straight from their
 * tables, in lines of at most 80 characters. A word that is longer has a line of its own. */
#include "cli/help.h"

#include <string.h>

#include "base/buf.h"
#include "base/str.h"
#include "base/utf8.h"
#include "cli/catalog.h"
#include "cli/cli.h"
#include "cli/synopsis.h"
#include "config/option.h"
#include "config/option_value.h"

/* ---- lines ---- */

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

static void print_words(struct paragraph *p, const char *text)
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
    print_words(&(struct paragraph){out, at, indent, "", "", ""}, text);
}

void hl_cli_print_usage(FILE *out, size_t at, size_t indent, const char *usage)
{
    print_words(&(struct paragraph){out, at, indent, "[", "]", ""}, usage);
}

void hl_cli_print_typed(FILE *out, size_t at, size_t indent, const char *typed)
{
    print_words(&(struct paragraph){out, at, indent, "'", "'", " \\"}, typed);
}

#define COMMAND_WIDTH 24
#define OPTION_WIDTH  26

/* ---- all commands ---- */

static void print_command(FILE *out, const struct hl_cli_command *command)
{
    size_t at = 2 + COMMAND_WIDTH + 1;
    fprintf(out, "  %-*s ", COMMAND_WIDTH, command->words);
    hl_cli_print_text(out, at, at, command->help);
}

static void print_commands(const struct hl_cli *cli)
{
    FILE *out = cli->out;
    fputs("hookline " HL_VERSION ": gives an app asynchronous, streaming and webhook calls\n"
          "\n"
          "usage: hookline [command]\n"
          "\n",
        out);
    for (size_t i = 0; i < cli->command_count; i++)
        print_command(out, &cli->commands[i]);
    fputs("\nhookline COMMAND --help says more about it, with examples.\n", out);
    hl_cli_print_text(out, 0, 0,
        "The id of a run, a webhook or an account may be shortened to a beginning that is unique; "
        "for a run its last 8 characters will do as well.");
    hl_cli_print_text(out, 0, 0,
        "A TIME is 2026-11-22T08:00:00Z, 2026-11-22, or a duration from now: 90d, 12h, 30m.");
}

int hl_cli_help_short(const struct hl_cli *cli)
{
    print_commands(cli);
    fputs("hookline --help shows the settings as well.\n", cli->out);
    return HL_CLI_OK;
}

/* ---- the settings ---- */

static void print_default(FILE *out, const struct hl_option *option)
{
    fputs("      default: ", out);
    hl_cli_print_text(out, 15, 15,
        option->shown      ? option->shown
        : *option->initial ? option->initial
                           : "not set");
}

static enum hl_err print_option(FILE *out, const struct hl_option *option)
{
    struct hl_buf allowed;
    hl_buf_init(&allowed, 0);
    enum hl_err err = hl_option_describe(option, &allowed);
    if (!err)
        err = hl_buf_append(&allowed, "", 1);
    fprintf(out, "  %s\n      ", option->name);
    hl_cli_print_text(out, 6, 6, option->help);
    print_default(out, option);
    fputs("      allowed: ", out);
    hl_cli_print_text(out, 15, 15, err ? "" : allowed.p);
    if (option->is_secret)
        fprintf(out, "      or in a file: %s_FILE\n", option->name);
    hl_buf_fini(&allowed);
    return err;
}

int hl_cli_help(const struct hl_cli *cli)
{
    print_commands(cli);
    fputs("\nSettings are environment variables; an empty one counts as not set.\n\n", cli->out);
    enum hl_err err = HL_OK;
    for (size_t i = 0; i < hl_option_count && !err; i++)
        err = print_option(cli->out, &hl_options[i]);
    return err ? HL_CLI_FAILED : HL_CLI_OK;
}

/* ---- one command ---- */

static void print_options(FILE *out, const struct hl_cli_command *command)
{
    const char *at = NULL;
    struct hl_cli_synopsis_option option;
    for (bool is_first = true; hl_cli_synopsis_next(command, &at, &option); is_first = false) {
        if (is_first)
            fputs("\noptions:\n", out);
        int n = fprintf(out, "  %.*s%s%.*s", HL_STR_ARG(option.name), option.value.n > 0 ? " " : "",
            HL_STR_ARG(option.value));
        if (n >= OPTION_WIDTH)
            n = fprintf(out, "\n") - 1;
        fprintf(out, "%*s ", OPTION_WIDTH - n, "");
        hl_cli_print_text(out, OPTION_WIDTH + 1, OPTION_WIDTH + 1, option.help ? option.help : "");
    }
}

static void print_example(FILE *out, const char *example)
{
    fputs("  hookline ", out);
    hl_cli_print_typed(out, strlen("  hookline "), 6, example);
}

static void print_whole(FILE *out, const struct hl_cli_command *command)
{
    size_t words = strlen(command->words);
    fprintf(out, "hookline %s: ", command->words);
    hl_cli_print_text(out, strlen("hookline : ") + words, 4, command->help);
    fprintf(out, "\nusage: hookline %s%s", command->words, command->arguments ? " " : "");
    hl_cli_print_usage(
        out, strlen("usage: hookline  ") + words, 4, command->arguments ? command->arguments : "");
    print_options(out, command);
    fputs("\nexamples:\n", out);
    for (size_t i = 0; i < HL_ARRAY_LEN(command->examples) && command->examples[i]; i++)
        print_example(out, command->examples[i]);
}

/* How many of the words that `argv` begins with are the command's; `*is_whole`: all of its. */
static int count_common(const struct hl_cli_command *command, int argc, char **argv, bool *is_whole)
{
    const char *at = command->words;
    int n = 0;
    while (n < argc && *at) {
        size_t len = strlen(argv[n]);
        if (len == 0 || strncmp(at, argv[n], len) != 0 || (at[len] != ' ' && at[len] != '\0'))
            break;
        at += len + (at[len] == ' ');
        n++;
    }
    *is_whole = *at == '\0';
    return n;
}

bool hl_cli_help_of(const struct hl_cli *cli)
{
    int given = 0, most = 0;
    bool is_whole;
    while (given < cli->argc && cli->argv[given][0] != '-')
        given++;
    for (size_t i = 0; i < cli->command_count; i++) {
        int n = count_common(&cli->commands[i], given, cli->argv, &is_whole);
        most = n > most ? n : most;
        if (n > 0 && is_whole) {
            print_whole(cli->out, &cli->commands[i]);
            return true;
        }
    }
    if (most == 0 || most < given)
        return false;
    for (size_t i = 0; i < cli->command_count; i++)
        if (count_common(&cli->commands[i], given, cli->argv, &is_whole) == most)
            print_command(cli->out, &cli->commands[i]);
    fprintf(cli->out, "\nhookline %s COMMAND --help says more about it, with examples.\n",
        cli->argv[0]);
    return true;
}

int hl_cli_help_words(const struct hl_cli *cli)
{
    if (cli->argc == 0)
        return hl_cli_help_short(cli);
    if (hl_cli_help_of(cli))
        return HL_CLI_OK;
    return hl_cli_usage_error(cli, "there is no command \"%s%s%s\"", cli->argv[0],
        cli->argc > 1 ? " " : "", cli->argc > 1 ? cli->argv[1] : "");
}

int hl_cli_version(const struct hl_cli *cli)
{
    fputs("hookline " HL_VERSION "\n", cli->out);
    return HL_CLI_OK;
}
