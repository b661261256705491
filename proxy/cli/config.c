/* config.c - `hookline config show` and `table`. */
#include "cli/config.h"

#include "base/buf.h"
#include "cli/cli.h"
#include "cli/settings.h"
#include "config/config.h"
#include "config/option.h"
#include "config/option_value.h"

static int show_option(
    const struct hl_cli *cli, const struct hl_config *config, const struct hl_option *option)
{
    const struct hl_config_source *source = &config->sources[option - hl_options];
    struct hl_buf value;
    hl_buf_init(&value, 0);
    enum hl_err err = hl_option_show(option, config, &value);
    if (!err && source->file)
        fprintf(cli->out, "%s_FILE=%s\n", option->name, source->file);
    else if (!err)
        fprintf(cli->out, "%s=%.*s%s\n", option->name, HL_STR_ARG(hl_buf_str(&value)),
            source->text ? "" : "  # default");
    hl_buf_fini(&value);
    return err ? HL_CLI_FAILED : HL_CLI_OK;
}

int hl_cli_config_show(const struct hl_cli *cli)
{
    struct hl_config *config;
    int status = hl_cli_load_config(cli, &config);
    for (size_t i = 0; i < hl_option_count && status == HL_CLI_OK; i++)
        status = show_option(cli, config, &hl_options[i]);
    hl_config_free(config);
    return status;
}

static void print_default(FILE *out, const struct hl_option *option)
{
    if (option->shown)
        fprintf(out, " %s |", option->shown);
    else if (*option->initial)
        fprintf(out, " `%s` |", option->initial);
    else
        fputs(" not set |", out);
}

static enum hl_err print_row(FILE *out, const struct hl_option *option)
{
    struct hl_buf words;
    hl_buf_init(&words, 0);
    enum hl_err err = option->type == HL_OPTION_WORD ? hl_option_describe(option, &words) : HL_OK;
    fprintf(out, "| `%s` |", option->name);
    print_default(out, option);
    fprintf(out, " %s", option->help);
    if (words.n > 0)
        fprintf(out, " (%.*s)", HL_STR_ARG(hl_buf_str(&words)));
    if (option->is_secret)
        fprintf(out, "; or in a file: `%s_FILE`", option->name);
    fputs(" |\n", out);
    hl_buf_fini(&words);
    return err;
}

int hl_cli_config_table(const struct hl_cli *cli)
{
    enum hl_err err = HL_OK;
    fputs("| variable | default | meaning |\n| --- | --- | --- |\n", cli->out);
    for (size_t i = 0; i < hl_option_count && !err; i++)
        err = print_row(cli->out, &hl_options[i]);
    return err ? HL_CLI_FAILED : HL_CLI_OK;
}
