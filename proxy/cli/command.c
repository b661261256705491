/* command.c - from words on the command line to a command. Runs on the main thread, before or instead
 * of serving. */
#include "cli/command.h"

#include <stdbool.h>
#include <string.h>

#include "base/str.h"
#include "cli/check.h"
#include "cli/config.h"
#include "cli/dashboard.h"
#include "cli/dev.h"
#include "cli/health.h"
#include "cli/help.h"
#include "cli/key.h"
#include "cli/runs.h"
#include "cli/sign.h"
#include "cli/store.h"
#include "cli/story.h"
#include "cli/token.h"

const struct hl_cli_command hl_cli_commands[] = {
    {"serve", NULL, NULL, "run the sidecar; also what happens without a command"},
    {"dev", hl_cli_dev, "[--fail-hooks LIST] PYTHON_FILE | URL | -- COMMAND …",
        "run an app under work with hookline in front, no settings; again when its files change"},
    {"token create", hl_cli_token_create,
        "--name NAME --expires TIME [--project P] [--role invoke|admin] [--rate 100/s|m|h|d] "
        "[--max-running N] [--max-queued N] [--max-priority high|normal|low]",
        "make a service account and print its token, this once"},
    {"token list", hl_cli_token_list, "[--project P] [--json]",
        "list service accounts, revoked and expired ones too"},
    {"token revoke", hl_cli_token_revoke, "ID", "refuse a service account's token from now on"},
    {"runs list", hl_cli_runs_list,
        "[--project P] [--app A] [--state S] [--async|--sync] [--since TIME] [--until TIME] "
        "[--limit N] [--json]",
        "list runs, newest first"},
    {"runs show", hl_cli_runs_show, "RUN_ID [--json]",
        "say what became of a run, with every attempt of its webhook"},
    {"runs logs", hl_cli_runs_logs, "RUN_ID", "what was logged about a run, a line of JSON each"},
    {"runs cancel", hl_cli_runs_cancel, "RUN_ID", "end a run: a queued one never starts"},
    {"runs rerun", hl_cli_runs_rerun, "RUN_ID",
        "a new run with the kept request of one that has ended"},
    {"runs redeliver", hl_cli_runs_redeliver,
        "RUN_ID | --since TIME [--state dead|delivered] [--project P]",
        "send a run's webhook again, or all dead ones since a time"},
    {"sign", hl_cli_sign, "--id RUN_ID [--timestamp SECONDS] [--secret-file FILE] [FILE]",
        "print the fields that sign a webhook's body, from FILE or stdin"},
    {"verify", hl_cli_verify,
        "--id RUN_ID --timestamp SECONDS --signature TEXT [--secret-file FILE] [FILE]",
        "exit with 0 if the signature is that of the body, from FILE or stdin"},
    {"key create", hl_cli_key_create, NULL,
        "print a new key: HOOKLINE_KEY of all replicas on one database"},
    {"store migrate", hl_cli_store_migrate, "[--role ROLE]",
        "make or update the schema in PostgreSQL, and let replicas connect as that role"},
    {"store status", hl_cli_store_status, "[--json]",
        "with PostgreSQL: the replicas, what they have and what waits"},
    {"store import", hl_cli_store_import, "DATA_DIR",
        "bring into PostgreSQL what the data directory of a stopped hookline holds"},
    {"store rekey", hl_cli_store_rekey, NULL,
        "with PostgreSQL: seal anew, with HOOKLINE_KEY, what HOOKLINE_PREVIOUS_KEY opens"},
    {"dashboard", hl_cli_dashboard, "[--project P]",
        "print a link to the dashboard that signs in for an hour"},
    {"health", hl_cli_health, NULL,
        "exit with 0 if the sidecar is ready: for container health checks"},
    {"config check", hl_cli_config_check, NULL,
        "say whether hookline could start with these settings; changes nothing"},
    {"config show", hl_cli_config_show, NULL, "print the settings in effect, secrets masked"},
    {"config table", hl_cli_config_table, NULL, "print all settings as a Markdown table"},
    {"--help", hl_cli_help, NULL, "print this"},
    {"--version", hl_cli_version, NULL, "print the version"},
};

const size_t hl_cli_command_count = HL_ARRAY_LEN(hl_cli_commands);

/* How many of `argv` are the command's words; 0: it is another one. */
static int count_words(const char *words, int argc, char **argv)
{
    struct hl_str rest = hl_str_from(words);
    int n = 0;
    for (;;) {
        const char *space = memchr(rest.p, ' ', rest.n);
        struct hl_str word = {rest.p, space ? (size_t)(space - rest.p) : rest.n};
        if (n == argc || !hl_str_eq(word, hl_str_from(argv[n])))
            return 0;
        n++;
        if (!space)
            return n;
        rest = (struct hl_str){space + 1, rest.n - word.n - 1};
    }
}

static const struct hl_cli_command *find(int argc, char **argv, int *words)
{
    for (size_t i = 0; i < hl_cli_command_count; i++) {
        *words = count_words(hl_cli_commands[i].words, argc, argv);
        if (*words > 0)
            return &hl_cli_commands[i];
    }
    return NULL;
}

/* "config" alone: the words that may follow it are worth more than "there is no command". */
static bool is_first_word(const char *word)
{
    size_t n = strlen(word);
    for (size_t i = 0; i < hl_cli_command_count && n > 0; i++) {
        const char *words = hl_cli_commands[i].words;
        if (strncmp(words, word, n) == 0 && words[n] == ' ')
            return true;
    }
    return false;
}

static int refuse(const struct hl_cli *cli)
{
    if (!is_first_word(cli->argv[0]))
        return hl_cli_usage_error(cli, "there is no command \"%s\"", cli->argv[0]);
    if (cli->argc == 1)
        return hl_cli_usage_error(cli, "\"%s\" needs another word", cli->argv[0]);
    return hl_cli_usage_error(cli, "there is no command \"%s %s\"", cli->argv[0], cli->argv[1]);
}

int hl_cli_run(int argc, char **argv, char *const *environ, int (*serve)(const struct hl_cli *cli))
{
    int words, skip = argc > 0 ? 1 : 0;
    struct hl_cli cli = {.argc = argc - skip,
        .argv = argv + skip,
        .environ = environ,
        .out = stdout,
        .err = stderr,
        .commands = hl_cli_commands,
        .command_count = hl_cli_command_count};
    if (cli.argc == 0)
        return serve(&cli);
    if (cli.argc > 1 && strcmp(cli.argv[cli.argc - 1], "--help") == 0 && hl_cli_help_of(&cli))
        return fflush(cli.out) == 0 ? HL_CLI_OK : HL_CLI_FAILED;
    const struct hl_cli_command *command = find(cli.argc, cli.argv, &words);
    if (!command)
        return refuse(&cli);
    cli.argc -= words;
    cli.argv += words;
    if (cli.argc > 0 && !command->arguments)
        return hl_cli_usage_error(
            &cli, "\"%s\" takes no argument, but got \"%s\"", command->words, cli.argv[0]);
    if (!command->run)
        return serve(&cli);

    int status = command->run(&cli);
    /* A full disk or a closed pipe shows when the last bytes are written. */
    if (fflush(cli.out) != 0 && status == HL_CLI_OK)
        status = HL_CLI_FAILED;
    return status;
}
