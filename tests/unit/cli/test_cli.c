#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/str.h"
#include "cli/catalog.h"
#include "cli/command.h"
#include "cli/synopsis.h"

static char output[65536], errors[4096];
static int served;

static int serve(const struct hl_cli *cli)
{
    (void)cli;
    served++;
    return 42;
}

static void keep(FILE *file, char *into, size_t cap)
{
    rewind(file);
    into[fread(into, 1, cap - 1, file)] = '\0';
    fclose(file);
}

/* Runs the words as main would, with stdout and stderr caught. Each test is a process of its own.
 */
static int run(char **argv, char *const *variables)
{
    FILE *out = tmpfile(), *err = tmpfile();
    int argc = 0;
    while (argv[argc])
        argc++;
    fflush(stdout);
    dup2(fileno(out), STDOUT_FILENO);
    dup2(fileno(err), STDERR_FILENO);
    int status = hl_cli_run(argc, argv, variables, serve);
    fflush(stdout);
    keep(out, output, sizeof(output));
    keep(err, errors, sizeof(errors));
    return status;
}

#define RUN(...)     run((char *[]){"hookline", ##__VA_ARGS__, NULL}, (char *[]){NULL})
#define ENVIRON(...) ((char *[]){__VA_ARGS__, NULL})
#define WORDS(...)   ((char *[]){"hookline", __VA_ARGS__, NULL})

Test(cli, serves_without_a_word_and_on_serve)
{
    cr_assert_eq(RUN(), 42);
    cr_assert_eq(RUN("serve"), 42);
    cr_assert_eq(served, 2);
}

Test(cli, refuses_wrong_words_and_says_what_may_be_meant_and_where_help_is)
{
    static const struct {
        const char *words[3];
        const char *error;
    } cases[] = {
        {{"srve"}, "hookline: there is no command \"srve\"; did you mean \"serve\"?\n"
                   "hookline: see hookline help\n"},
        {{"nonsense"}, "hookline: there is no command \"nonsense\"\nhookline: see hookline help\n"},
        {{""}, "hookline: there is no command \"\"\nhookline: see hookline help\n"},
        {{"config"}, "hookline: \"config\" needs a subcommand: check, show, table\n"
                     "hookline: see hookline config --help\n"},
        {{"config", "shw"},
            "hookline: there is no command \"config shw\"; did you mean \"config show\"?\n"
            "hookline: see hookline config --help\n"},
        {{"con", "show"}, "hookline: there is no command \"con\"\nhookline: see hookline help\n"},
        {{"serve", "8080"}, "hookline serve: \"serve\" takes no argument, but got \"8080\"\n"
                            "hookline: see hookline serve --help\n"},
        {{"config", "show", "-v"},
            "hookline config show: \"config show\" takes no argument, but got \"-v\"\n"
            "hookline: see hookline config show --help\n"},
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        char *argv[5] = {"hookline"};
        for (int j = 0; j < 3; j++)
            argv[j + 1] = (char *)cases[i].words[j];
        cr_assert_eq(run(argv, (char *[]){NULL}), HL_CLI_USAGE);
        cr_assert_str_eq(errors, cases[i].error, "%s", errors);
        cr_assert_str_empty(output);
    }
    cr_assert_eq(served, 0);
}

Test(cli, says_all_that_is_wrong_with_a_call_at_once)
{
    cr_assert_eq(
        RUN("runs", "list", "--stat", "dead", "--limit=0", "--since", "soon", "--async", "--sync"),
        HL_CLI_USAGE);
    cr_assert(strstr(errors, "runs list: there is no option \"--stat\"; did you mean --state?\n"));
    cr_assert(strstr(errors, "runs list: --limit takes a number from 1 to 1000000, not \"0\"\n"));
    cr_assert(strstr(errors, "runs list: --since is a time"));
    cr_assert(strstr(errors, "runs list: --async and --sync are mutually exclusive\n"));
    cr_assert_not(strstr(errors, "unexpected argument"), "%s", errors);
    char *see = strstr(errors, "hookline: see hookline runs list --help\n");
    cr_assert(see && see[strlen("hookline: see hookline runs list --help\n")] == '\0');
}

/* In characters. */
static size_t width_of(const char *line)
{
    size_t n = 0;
    for (; *line; line++)
        n += ((unsigned char)*line & 0xc0) != 0x80;
    return n;
}

static void expect_narrow(const char *words)
{
    for (char *line = strtok(output, "\n"); line; line = strtok(NULL, "\n"))
        cr_assert_leq(width_of(line), 80u, "%s: %s", words, line);
}

Test(cli, says_in_no_help_a_line_of_more_than_80_characters)
{
    for (size_t i = 0; i < hl_cli_command_count; i++) {
        char words[64], *argv[5] = {"hookline"};
        int n = 1;
        if (*hl_cli_commands[i].words == '-')
            continue;
        snprintf(words, sizeof(words), "%s", hl_cli_commands[i].words);
        for (char *word = strtok(words, " "); word; word = strtok(NULL, " "))
            argv[n++] = word;
        argv[n] = "--help";
        cr_assert_eq(run(argv, (char *[]){NULL}), HL_CLI_OK);
        expect_narrow(hl_cli_commands[i].words);
    }
    cr_assert_eq(RUN("help"), HL_CLI_OK);
    expect_narrow("help");
    cr_assert_eq(RUN("runs", "--help"), HL_CLI_OK);
    expect_narrow("runs");
    cr_assert_eq(RUN("--help"), HL_CLI_OK);
    expect_narrow("--help");
}

Test(cli, has_two_examples_of_every_command_and_a_meaning_for_every_option)
{
    for (size_t i = 0; i < hl_cli_command_count; i++) {
        const struct hl_cli_command *command = &hl_cli_commands[i];
        const char *at = NULL;
        struct hl_cli_synopsis_option option;
        cr_assert(command->examples[0] && command->examples[1], "%s", command->words);
        while (hl_cli_synopsis_next(command, &at, &option))
            cr_assert(option.help, "%s %.*s", command->words, HL_STR_ARG(option.name));
    }
}

Test(cli, says_of_each_command_what_its_own_options_mean)
{
    cr_assert_eq(RUN("help", "call"), HL_CLI_OK);
    cr_assert(strstr(output, "--async                  the answer is its id"), "%s", output);
    cr_assert_eq(RUN("help", "runs", "list"), HL_CLI_OK);
    cr_assert(strstr(output, "--async                  only asynchronous ones\n"), "%s", output);
    cr_assert_eq(RUN("help", "runs", "send"), HL_CLI_OK);
    cr_assert(
        strstr(output, "--wait                   wait for its end, and print the response\n"));
}

Test(cli, helps_with_one_command_wherever_that_is_asked_for)
{
    char *const forms[][6] = {{"hookline", "help", "token", "create", NULL},
        {"hookline", "token", "create", "--help", NULL},
        {"hookline", "token", "create", "-h", NULL},
        {"hookline", "token", "create", "--name", "-h", NULL}};
    for (size_t i = 0; i < HL_ARRAY_LEN(forms); i++) {
        cr_assert_eq(run((char **)forms[i], (char *[]){NULL}), HL_CLI_OK);
        cr_assert(strstr(output, "\nusage: hookline token create --name NAME --expires TIME "));
        cr_assert(strstr(output, "\n  --rate 100/s|m|h|d "));
        cr_assert(strstr(output, "\n  --token-file FILE "));
        cr_assert(strstr(output, "\nexamples:\n  hookline token create --project demo "));
    }
    cr_assert_eq(RUN("help"), HL_CLI_OK);
    cr_assert_not(strstr(output, "HOOKLINE_MAX_HEAD"), "the short one has no settings");
    cr_assert_eq(RUN("-h"), HL_CLI_OK);
    cr_assert_eq(RUN("help", "nothing"), HL_CLI_USAGE);
}

/* Wherever its lines end. */
static bool has_text(const char *in, const char *text)
{
    for (; *in; in++) {
        const char *a = in, *b = text;
        while (*b && (*a == *b || (*a == '\n' && *b == ' '))) {
            a += *a == '\n' ? 1 + strspn(a + 1, " ") : 1;
            b++;
        }
        if (!*b)
            return true;
    }
    return false;
}

Test(cli, helps_with_every_command_and_variable)
{
    cr_assert_eq(RUN("--help"), HL_CLI_OK);
    for (size_t i = 0; i < hl_cli_command_count; i++)
        cr_assert(has_text(output, hl_cli_commands[i].help), "%s", hl_cli_commands[i].help);
    cr_assert(strstr(output, "\n  HOOKLINE_MAX_HEAD\n"));
    cr_assert(strstr(output, "\n      default: 64KiB\n"));
    cr_assert(strstr(output, "\n      allowed: a size from 4KiB to 1MiB"));
    cr_assert(strstr(output, "\n      or in a file: HOOKLINE_WEBHOOK_SECRET_FILE\n"));
}

Test(cli, helps_with_the_commands_of_a_word)
{
    cr_assert_eq(RUN("store", "--help"), HL_CLI_OK);
    cr_assert(strstr(output, "\n  store import "), "%s", output);
    cr_assert_not(strstr(output, "runs list"), "%s", output);
    cr_assert_eq(RUN("store", "import", "--help"), HL_CLI_OK);
    cr_assert_eq(RUN("nothing", "--help"), HL_CLI_USAGE);
}

Test(cli, knows_its_version)
{
    cr_assert_eq(RUN("--version"), HL_CLI_OK);
    cr_assert_str_eq(output, "hookline " HL_VERSION "\n");
    cr_assert_eq(RUN("version"), HL_CLI_OK);
    cr_assert_str_eq(output, "hookline " HL_VERSION "\n");
}

Test(cli, fails_when_its_output_cannot_be_written)
{
    int full = open("/dev/full", O_WRONLY);
    cr_assert_geq(full, 0);
    fflush(stdout);
    dup2(full, STDOUT_FILENO);
    char *argv[] = {"hookline", "--version", NULL};
    cr_assert_eq(hl_cli_run(2, argv, (char *[]){NULL}, serve), HL_CLI_FAILED);
}

/* More than a buffer: what is left of it at the end may be nothing. */
Test(cli, fails_when_the_beginning_of_its_output_could_not_be_written)
{
    int full = open("/dev/full", O_WRONLY);
    cr_assert_geq(full, 0);
    fflush(stdout);
    dup2(full, STDOUT_FILENO);
    char *argv[] = {"hookline", "completion", "bash", NULL};
    cr_assert_eq(hl_cli_run(3, argv, (char *[]){NULL}, serve), HL_CLI_FAILED);
}

Test(cli, checks_settings)
{
    cr_assert_eq(run(WORDS("config", "check"), ENVIRON("HOOKLINE_WORKERS=2")), HL_CLI_OK);
    cr_assert_str_eq(output, "all settings are valid\n");
    cr_assert_str_empty(errors);
    cr_assert_eq(run(WORDS("config", "check"),
                     ENVIRON("HOOKLINE_WORKERS=x", "HOOKLINE_STORE=x", "HOOKLINE_WORKRS=1")),
        HL_CLI_USAGE);
    cr_assert_str_empty(output);
    cr_assert_str_eq(errors,
        "hookline: warning: HOOKLINE_WORKRS is unknown and has no effect; the nearest name is "
        "HOOKLINE_WORKERS\n"
        "hookline: HOOKLINE_STORE: \"x\" is not allowed; allowed: sqlite, memory or postgres\n"
        "hookline: HOOKLINE_WORKERS: \"x\" is not allowed; allowed: a whole number from 0 to "
        "256\n");
}

Test(cli, shows_the_settings_that_hold)
{
    cr_assert_eq(run(WORDS("config", "show"),
                     ENVIRON("HOOKLINE_RESPONSE_GRACE_PERIOD=90s", "HOOKLINE_STORE=memory",
                         "HOOKLINE_MAX_HEAD=8192", "HOOKLINE_WEBHOOK_ALLOW=10.0.0.0/8",
                         "HOOKLINE_DATA_DIR=/a\x1b")),
        HL_CLI_OK);
    cr_assert(strstr(output, "HOOKLINE_RESPONSE_GRACE_PERIOD=90s\n"));
    cr_assert(strstr(output, "HOOKLINE_STORE=memory\n"));
    cr_assert(strstr(output, "HOOKLINE_MAX_HEAD=8KiB\n"));
    cr_assert(strstr(output, "HOOKLINE_WEBHOOK_ALLOW=10.0.0.0/8\n"));
    cr_assert(strstr(output, "HOOKLINE_DATA_DIR=/a\\x1b\n"));
    cr_assert(strstr(output, "HOOKLINE_LISTEN=0.0.0.0:8080  # default\n"));
    cr_assert(strstr(output, "HOOKLINE_APP_HEAD_TIMEOUT=90s  # default\n"));
    cr_assert(strstr(output, "HOOKLINE_PASSTHROUGH=on  # default\n"));
    cr_assert(strstr(output, "HOOKLINE_STORE_MAX_BYTES=80%  # default\n"));
    cr_assert(strstr(output, "HOOKLINE_WEBHOOK_SECRET=  # default\n"));
}

Test(cli, shows_which_settings_a_preset_has_made)
{
    cr_assert_eq(run(WORDS("config", "show"), ENVIRON("HOOKLINE_WEBHOOK_PRESET=production",
                                                  "HOOKLINE_WEBHOOK_RETRY_ON=5xx")),
        HL_CLI_OK);
    cr_assert(strstr(output, "HOOKLINE_WEBHOOK_PRESET=production\n"));
    cr_assert(
        strstr(output, "HOOKLINE_WEBHOOK_SCHEDULE=5s,1m,10m,1h,6h  # HOOKLINE_WEBHOOK_PRESET\n"));
    cr_assert(strstr(output, "HOOKLINE_WEBHOOK_RETRY_ON=5xx\n"));
    cr_assert(strstr(output, "HOOKLINE_WEBHOOK_ATTEMPTS=6  # default\n"));
}

Test(cli, never_shows_a_secret)
{
    cr_assert_eq(
        run(WORDS("config", "show"), ENVIRON("HOOKLINE_WEBHOOK_SECRET=geheim")), HL_CLI_OK);
    cr_assert(strstr(output, "HOOKLINE_WEBHOOK_SECRET=****\n"));
    cr_assert_not(strstr(output, "geheim"));

    char path[] = "/tmp/hookline-secret-XXXXXX", entry[128];
    int fd = mkstemp(path);
    cr_assert_eq(write(fd, "geheim\n", 7), 7);
    close(fd);
    snprintf(entry, sizeof(entry), "HOOKLINE_WEBHOOK_SECRET_FILE=%s", path);
    cr_assert_eq(run(WORDS("config", "show"), ENVIRON(entry)), HL_CLI_OK);
    unlink(path);
    cr_assert(strstr(output, entry));
    cr_assert_not(strstr(output, "geheim"));
}

Test(cli, prints_the_table_of_the_readme)
{
    cr_assert_eq(RUN("config", "table"), HL_CLI_OK);
    cr_assert(hl_str_starts_with(hl_str_from(output),
        HL_STR("| variable | default | meaning |\n| --- | --- | --- |\n| `HOOKLINE_LISTEN` | "
               "`0.0.0.0:8080` | where calls are accepted |\n")));
    cr_assert(strstr(output, "| `HOOKLINE_PROJECT_ID` | not set | "));
    cr_assert(strstr(output, "\n| `HOOKLINE_STORE` | `sqlite` | "));
    cr_assert(strstr(output, " (sqlite, memory or postgres) |\n"));
    cr_assert(strstr(output, "; or in a file: `HOOKLINE_WEBHOOK_SECRET_FILE` |\n"));
    /* Three cells a row, whatever the help says. */
    for (char *line = strtok(output, "\n"); line; line = strtok(NULL, "\n")) {
        size_t bars = 0;
        for (char *c = line; *c; c++)
            bars += *c == '|';
        cr_assert_eq(bars, 4, "%s", line);
    }
}

/* Nobody is at that database; how far it came says that no key was missed. */
Test(cli, asks_after_a_database_without_any_key)
{
    char *const *variables =
        ENVIRON("HOOKLINE_STORE=postgres", "HOOKLINE_POSTGRES_URL=host=/nonexistent dbname=x",
            "HOOKLINE_KEY=zz", "HOOKLINE_KEY_FILE=/nonexistent/key", "HOOKLINE_PREVIOUS_KEY=zz",
            "HOOKLINE_PREVIOUS_KEY_FILE=/nonexistent/key");
    cr_assert_eq(run(WORDS("store", "status"), variables), HL_CLI_FAILED);
    cr_assert(strstr(errors, "connection to server"), "%s", errors);
}
