/* settings.c - the settings, for a command: what is wrong with them goes to stderr.
 * Not here: what is a setting (config/option.c), `hookline config` (config.c). */
#include "cli/settings.h"

#include "base/buf.h"
#include "cli/cli.h"
#include "config/config.h"

void hl_cli_print_lines(const struct hl_cli *cli, const char *before, struct hl_str lines)
{
    while (lines.n > 0) {
        const char *end = memchr(lines.p, '\n', lines.n);
        size_t n = end ? (size_t)(end - lines.p) : lines.n;
        fprintf(cli->err, "hookline: %s%.*s\n", before, (int)n, lines.p);
        n += end ? 1 : 0;
        lines.p += n;
        lines.n -= n;
    }
}

int hl_cli_load_config(const struct hl_cli *cli, struct hl_config **out)
{
    struct hl_buf problems, warnings;
    hl_buf_init(&problems, 0);
    hl_buf_init(&warnings, 0);
    enum hl_err err = hl_config_load(out, cli->environ, &problems, &warnings);
    hl_cli_print_lines(cli, "warning: ", hl_buf_str(&warnings));
    hl_cli_print_lines(cli, "", hl_buf_str(&problems));
    hl_buf_fini(&problems);
    hl_buf_fini(&warnings);
    if (err == HL_ERR_NOMEM)
        fprintf(cli->err, "hookline: %s\n", hl_err_text(err));
    return err == HL_OK ? HL_CLI_OK : err == HL_ERR_INVALID ? HL_CLI_USAGE : HL_CLI_FAILED;
}
