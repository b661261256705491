/* backup.c - `hookline store backup` and `store check`: a data directory copied, or looked through, beside
 * the sidecar that runs on it or without one.
 * Not here: how (store/sqlite/backup.c). */
#include "cli/backup.h"

#include <stdio.h>

#include "cli/argument.h"
#include "cli/cli.h"
#include "cli/settings.h"
#include "config/value.h"
#include "store/sqlite/backup.h"

#define WHY_MAX      512
#define DEFAULT_RATE (UINT64_C(64) << 20)
#define LEAST_RATE   (UINT64_C(64) << 10)

/* Of settings for another store nothing is a data directory's. */
static int load(const struct hl_cli *cli, struct hl_config **config)
{
    int status = hl_cli_load_config(cli, config);
    if (status != HL_CLI_OK || (*config)->store == HL_STORE_SQLITE)
        return status;
    hl_config_free(*config);
    *config = NULL;
    hl_cli_fail(cli, "it is for the store of a data directory (HOOKLINE_STORE=sqlite)");
    return HL_CLI_USAGE;
}

static int read_rate(const struct hl_cli *cli, const char *text, uint64_t *rate)
{
    *rate = DEFAULT_RATE;
    if (!text || (hl_value_parse_size(hl_str_from(text), rate) && *rate >= LEAST_RATE))
        return HL_CLI_OK;
    return hl_cli_usage_error(
        cli, "--rate takes a size of 64KiB or more: so many bytes in a second");
}

static int print_backup(const struct hl_cli *cli, const struct hl_config *config, const char *to,
    const struct hl_backed_up *done)
{
    fprintf(cli->out,
        "%s: a database of %llu bytes, checked; %llu bodies of %llu bytes, and %llu that were "
        "there\n",
        to, (unsigned long long)done->database_bytes, (unsigned long long)done->bodies,
        (unsigned long long)done->body_bytes, (unsigned long long)done->kept);
    if (config->key_file.n > 0)
        fprintf(cli->out, "the key is not in it: keep %.*s, too\n", HL_STR_ARG(config->key_file));
    if (done->missing == 0)
        return HL_CLI_OK;
    return hl_cli_fail(cli, "%llu bodies are not in it: their files are missing in the store",
        (unsigned long long)done->missing);
}

int hl_cli_store_backup(const struct hl_cli *cli)
{
    const char *to, *rate_text = NULL;
    const struct hl_cli_option options[] = {{"--rate", &rate_text, NULL}};
    char why[WHY_MAX] = "";
    uint64_t rate;
    struct hl_config *config;
    struct hl_backed_up done;
    int status = hl_cli_read_word(
        cli, options, HL_ARRAY_LEN(options), &to, "the directory that the backup is made in");
    if (status == HL_CLI_OK)
        status = read_rate(cli, rate_text, &rate);
    if (status == HL_CLI_OK)
        status = load(cli, &config);
    if (status != HL_CLI_OK)
        return status;
    if (hl_backup(config, to, rate, &done, why, sizeof(why)) != HL_OK)
        status = hl_cli_fail(cli, "%s", why);
    else
        status = print_backup(cli, config, to, &done);
    hl_config_free(config);
    return status;
}

int hl_cli_store_check(const struct hl_cli *cli)
{
    const char *words[1] = {NULL};
    char why[WHY_MAX] = "";
    size_t count;
    struct hl_config *config;
    struct hl_looked_through done;
    struct hl_buf problems;
    int status = hl_cli_read_arguments(cli, NULL, 0, words, 1, &count);
    if (status == HL_CLI_OK)
        status = load(cli, &config);
    if (status != HL_CLI_OK)
        return status;
    const char *dir = count > 0 ? words[0] : config->data_dir.p;
    hl_buf_init(&problems, 0);
    if (hl_look_through(dir, &done, &problems, why, sizeof(why)) != HL_OK) {
        status = hl_cli_fail(cli, "%s", why[0] ? why : hl_err_text(HL_ERR_NOMEM));
    } else if (problems.n > 0) {
        hl_cli_print_lines(cli, "", (struct hl_str){problems.p, problems.n});
        status = hl_cli_fail(cli, "the store in %s is damaged", dir);
    } else {
        fprintf(cli->out, "%s: whole; %llu runs, %llu bodies in files\n", dir,
            (unsigned long long)done.runs, (unsigned long long)done.bodies);
    }
    hl_buf_fini(&problems);
    hl_config_free(config);
    return status;
}
