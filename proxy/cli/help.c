/* help.c - `hookline --help` and `--version`: commands and variables, straight from their tables.
 */
#include "cli/help.h"

#include <string.h>

#include "config/option_value.h"

static void print_command(FILE *out, const struct hl_cli_command *command)
{
    fprintf(out, "  %-14s %s\n", command->words, command->help);
    if (command->arguments)
        fprintf(out, "  %-14s   %s\n", "", command->arguments);
}

static void print_commands(const struct hl_cli *cli)
{
    FILE *out = cli->out;
    fputs("hookline " HL_VERSION
          ": a sidecar that gives an app asynchronous, streaming and webhook calls\n"
          "\n"
          "usage: hookline [command]\n"
          "\n",
        out);
    for (size_t i = 0; i < cli->command_count; i++)
        print_command(out, &cli->commands[i]);
    fputs("\nA TIME is 2026-11-22T08:00:00Z, 2026-11-22, or a duration from now: 90d, 12h, 30m.\n",
        out);
}

static void print_default(FILE *out, const struct hl_option *option)
{
    if (option->shown)
        fprintf(out, "      default: %s\n", option->shown);
    else if (*option->initial)
        fprintf(out, "      default: %s\n", option->initial);
    else
        fputs("      default: not set\n", out);
}

static enum hl_err print_option(FILE *out, const struct hl_option *option)
{
    struct hl_buf allowed;
    hl_buf_init(&allowed, 0);
    enum hl_err err = hl_option_describe(option, &allowed);
    fprintf(out, "  %s\n      %s\n", option->name, option->help);
    print_default(out, option);
    fprintf(out, "      allowed: %.*s\n", HL_STR_ARG(hl_buf_str(&allowed)));
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

bool hl_cli_help_of(const struct hl_cli *cli)
{
    size_t n = strlen(cli->argv[0]);
    bool is_any = false;
    for (size_t i = 0; i < cli->command_count; i++) {
        const char *words = cli->commands[i].words;
        if (strncmp(words, cli->argv[0], n) != 0 || (words[n] != ' ' && words[n] != '\0'))
            continue;
        print_command(cli->out, &cli->commands[i]);
        is_any = true;
    }
    return is_any;
}

int hl_cli_version(const struct hl_cli *cli)
{
    fputs("hookline " HL_VERSION "\n", cli->out);
    return HL_CLI_OK;
}
