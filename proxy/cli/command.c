/* command.c - from words on the command line to a command. Runs on the main thread, before or instead
 * of serving.
 * Not here: which commands there are (catalog.c). */
#include "cli/command.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "cli/catalog.h"
#include "cli/help.h"

#define ALIKE 2 /* letters that a mistyped word differs in */

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

/* ---- what is no command ---- */

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

/* The command whose words are most like these, or NULL. One word is compared with first words: what
 * follows may be missing, or an argument. */
static const char *find_alike(struct hl_str given, bool is_one_word)
{
    static char alike[64];
    unsigned most = given.n > 3 ? ALIKE : 1, least = most + 1;
    for (size_t i = 0; i < hl_cli_command_count; i++) {
        struct hl_str words = hl_str_from(hl_cli_commands[i].words);
        const char *space = memchr(words.p, ' ', words.n);
        if (is_one_word && space)
            words.n = (size_t)(space - words.p);
        unsigned d = hl_distance(given, words);
        if (d < least && given.n > 0) {
            least = d;
            snprintf(alike, sizeof(alike), "%.*s", HL_STR_ARG(words));
        }
    }
    return least <= most ? alike : NULL;
}

static int refuse_words(const struct hl_cli *cli, const char *words, bool is_one_word)
{
    const char *alike = find_alike(hl_str_from(words), is_one_word);
    if (alike)
        return hl_cli_usage_error(
            cli, "there is no command \"%s\"; did you mean \"%s\"?", words, alike);
    return hl_cli_usage_error(cli, "there is no command \"%s\"", words);
}

static int refuse(const struct hl_cli *cli)
{
    char words[128];
    const char *first = cli->argv[0];
    if (!is_first_word(first))
        return refuse_words(cli, first, true);
    if (cli->argc > 1) {
        snprintf(words, sizeof(words), "%s %s", first, cli->argv[1]);
        return refuse_words(cli, words, false);
    }
    int n = snprintf(words, sizeof(words), "\"%s\" needs a subcommand:", first);
    for (size_t i = 0; i < hl_cli_command_count && n < (int)sizeof(words); i++) {
        const char *there = hl_cli_commands[i].words;
        size_t len = strlen(first);
        if (strncmp(there, first, len) == 0 && there[len] == ' ')
            n += snprintf(words + n, sizeof(words) - (size_t)n, "%s%s",
                words[n - 1] == ':' ? " " : ", ", there + len + 1);
    }
    return hl_cli_usage_error(cli, "%s", words);
}

/* ---- help after a command ---- */

/* `--` ends what is hookline's to read. */
static bool asks_for_help(int argc, char **argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    return false;
}

/* Where more is said, once for all that was wrong. */
static void point_to_help(const struct hl_cli *cli)
{
    if (*cli->faults == 0)
        return;
    if (cli->command)
        fprintf(cli->err, "hookline: see hookline %s --help\n", cli->command->words);
    else if (cli->argc > 0 && is_first_word(cli->argv[0]))
        fprintf(cli->err, "hookline: see hookline %s --help\n", cli->argv[0]);
    else
        fputs("hookline: see hookline help\n", cli->err);
}

static int run_command(struct hl_cli *cli, int (*serve)(const struct hl_cli *cli))
{
    const struct hl_cli_command *command = cli->command;
    if (cli->argc > 0 && !command->arguments)
        return hl_cli_usage_error(
            cli, "\"%s\" takes no argument, but got \"%s\"", command->words, cli->argv[0]);
    return command->run ? command->run(cli) : serve(cli);
}

static int find_and_run(struct hl_cli *cli, int (*serve)(const struct hl_cli *cli))
{
    int words;
    if (cli->argc == 0)
        return serve(cli);
    if (strcmp(cli->argv[0], "-h") == 0)
        return hl_cli_help_short(cli);
    if (cli->argc > 1 && asks_for_help(cli->argc - 1, cli->argv + 1) && hl_cli_help_of(cli))
        return HL_CLI_OK;
    cli->command = find(cli->argc, cli->argv, &words);
    if (!cli->command)
        return refuse(cli);
    cli->argc -= words;
    cli->argv += words;
    if (!cli->command->is_remote)
        cli->remote = NULL;
    return run_command(cli, serve);
}

/* A full disk shows when any of the bytes are written, and the last ones may be written nevertheless. Whoever has closed a pipe
 * wants no more, and no word of it. */
static int check_output(const struct hl_cli *cli)
{
    errno = 0;
    if (fflush(cli->out) == 0 && !ferror(cli->out))
        return HL_CLI_OK;
    if (errno == EPIPE)
        return HL_CLI_FAILED;
    return hl_cli_fail(cli, "not all of the output could be written%s%s", errno ? ": " : "",
        errno ? strerror(errno) : "");
}

int hl_cli_run(int argc, char **argv, char *const *environ, int (*serve)(const struct hl_cli *cli))
{
    int skip = argc > 0 ? 1 : 0;
    unsigned faults = 0;
    struct hl_cli_remote remote = {.url = NULL};
    struct hl_cli cli = {.argc = argc - skip,
        .argv = argv + skip,
        .environ = environ,
        .out = stdout,
        .err = stderr,
        .commands = hl_cli_commands,
        .command_count = hl_cli_command_count,
        .remote = &remote,
        .faults = &faults};
    int status = find_and_run(&cli, serve);
    point_to_help(&cli);
    return status == HL_CLI_OK ? check_output(&cli) : status;
}
