/* man.c - the manual page in roff's man macros (man(7)): commands, options and examples from their table,
 * settings by name. */
#include "cli/catalog.h"

#include "base/compiler.h"
#include "base/utf8.h"
#include "cli/cli.h"
#include "cli/synopsis.h"
#include "config/option.h"

/* Text of ours in a line of its own: what roff would take for its own is escaped. */
static void print_text(FILE *out, struct hl_str text)
{
    if (text.n > 0 && (*text.p == '.' || *text.p == '\''))
        fputs("\\&", out);
    for (size_t n; text.n > 0; text.p += n, text.n -= n) {
        uint32_t code;
        n = hl_utf8_decode(text.p, text.n, &code);
        if (n == 0)
            return;
        if (code >= 0x80)
            fprintf(out, "\\[u%04X]", (unsigned)code);
        else if (code == '\\')
            fputs("\\e", out);
        else if (code == '-')
            fputs("\\-", out);
        else if (code == '\'')
            fputs("\\(aq", out);
        else
            fputc((int)code, out);
    }
}

static void print(FILE *out, const char *text)
{
    print_text(out, hl_str_from(text));
}

static void print_option(FILE *out, const struct hl_cli_synopsis_option *option)
{
    fputs(".RS\n.TP\n\\fB", out);
    print_text(out, option->name);
    fputs(option->value.n > 0 ? "\\fR \\fI" : "", out);
    print_text(out, option->value);
    fputs("\\fR\n", out);
    print(out, option->help ? option->help : "");
    fputs("\n.RE\n", out);
}

static void print_command(FILE *out, const struct hl_cli_command *command)
{
    const char *at = NULL;
    struct hl_cli_synopsis_option option;
    fputs(".TP\n\\fBhookline ", out);
    print(out, command->words);
    fputs("\\fR ", out);
    print(out, command->arguments ? command->arguments : "");
    fputc('\n', out);
    print(out, command->help);
    fputc('\n', out);
    while (hl_cli_synopsis_next(command, &at, &option))
        print_option(out, &option);
    fputs(".RS\n.nf\n", out);
    for (size_t i = 0; i < HL_ARRAY_LEN(command->examples) && command->examples[i]; i++) {
        fputs("$ hookline ", out);
        print(out, command->examples[i]);
        fputc('\n', out);
    }
    fputs(".fi\n.RE\n", out);
}

static void print_settings(FILE *out)
{
    fputs(".SH ENVIRONMENT\nSettings are environment variables; an empty one counts as not set.\n",
        out);
    for (size_t i = 0; i < hl_option_count; i++) {
        fprintf(out, ".TP\n.B ");
        print(out, hl_options[i].name);
        fputc('\n', out);
        print(out, hl_options[i].help);
        fputc('\n', out);
    }
    fputs(".TP\n.B NO_COLOR\nno colours on a terminal\n", out);
}

int hl_cli_man(const struct hl_cli *cli)
{
    FILE *out = cli->out;
    fputs(
        ".TH HOOKLINE 1 \"\" \"hookline " HL_VERSION "\"\n.SH NAME\n"
        "hookline \\- a sidecar that gives an app asynchronous, streaming and webhook calls\n"
        ".SH SYNOPSIS\n.B hookline\n[\\fIcommand\\fR]\n.SH DESCRIPTION\n"
        "Without a command it serves. The others ask the hookline that runs on the data directory "
        "(\\fBHOOKLINE_DATA_DIR\\fR), or one elsewhere (\\fB\\-\\-url\\fR). The id of a run, a "
        "webhook or an account may be shortened to a beginning that is unique; for a run its last "
        "8 characters will do as well. A \\fITIME\\fR is 2026\\-11\\-22T08:00:00Z, 2026\\-11\\-22, "
        "or a duration from now: 90d, 12h, 30m.\n"
        ".SH COMMANDS\n",
        out);
    for (size_t i = 0; i < cli->command_count; i++)
        print_command(out, &cli->commands[i]);
    print_settings(out);
    fputs(
        ".SH EXIT STATUS\n0: done. 1: it could not be done. 2: wrong words, options or settings.\n"
        "3: serve: HOOKLINE_DRAIN_TIMEOUT has ended calls or runs.\n",
        out);
    return HL_CLI_OK;
}
