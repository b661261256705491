#include <criterion/criterion.h>
#include <string.h>

#include "base/clock.h"
#include "cli/cli.h"

static char errors[1024];
static const char *fields[HL_CLI_TEXTS_MAX];
static bool has_fields;

static const struct hl_cli_command command = {
    .words = "runs list", .arguments = "--text one|two|three --name NAME"};

static struct hl_cli begin(char **argv)
{
    struct hl_cli cli = {.argv = argv, .out = stdout, .err = tmpfile()};
    while (argv[cli.argc])
        cli.argc++;
    return cli;
}

static void keep_errors(struct hl_cli *cli)
{
    rewind(cli->err);
    errors[fread(errors, 1, sizeof(errors) - 1, cli->err)] = '\0';
    fclose(cli->err);
}

/* Reads `argv` with --text and --flag. */
static int read_all(char **argv, const char **text, bool *flag, const char **words, size_t *count)
{
    const struct hl_cli_option options[] = {
        {"--text", text, NULL}, {"--flag", NULL, flag}, {"--field", fields, &has_fields}};
    struct hl_cli cli = begin(argv);
    *text = NULL;
    *flag = false;
    int status = hl_cli_read_arguments(&cli, options, 3, words, 2, count);
    keep_errors(&cli);
    return status;
}

#define READ(...) read_all((char *[]){__VA_ARGS__, NULL}, &text, &flag, words, &count)

Test(argument, reads_options_in_both_forms_and_words_between_them)
{
    const char *text, *words[2];
    bool flag;
    size_t count;
    cr_assert_eq(READ("one", "--text", "--flag", "two"), HL_CLI_OK);
    cr_assert_str_eq(text, "--flag");
    cr_assert(!flag);
    cr_assert_eq(count, 2u);
    cr_assert_eq(READ("--text=a=b", "--flag"), HL_CLI_OK);
    cr_assert_str_eq(text, "a=b");
    cr_assert(flag);
    cr_assert_eq(READ("-", "--", "--flag"), HL_CLI_OK);
    cr_assert(!flag);
    cr_assert_eq(count, 2u);
    cr_assert_str_eq(words[0], "-");
    cr_assert_str_eq(words[1], "--flag");
}

Test(argument, says_what_is_wrong)
{
    const char *text, *words[2];
    bool flag;
    size_t count;
    cr_assert_eq(READ("--text"), HL_CLI_USAGE);
    cr_assert(strstr(errors, "--text needs a value"));
    cr_assert_eq(READ("--flag=1"), HL_CLI_USAGE);
    cr_assert(strstr(errors, "--flag takes no value"));
    cr_assert_eq(READ("--other=1"), HL_CLI_USAGE);
    cr_assert(strstr(errors, "no option \"--other\""));
    cr_assert_eq(READ("a", "b", "c"), HL_CLI_USAGE);
    cr_assert(strstr(errors, "unexpected argument \"c\""));
}

Test(argument, says_everything_that_is_wrong_and_what_may_be_meant)
{
    const char *text, *words[2];
    bool flag;
    size_t count;
    cr_assert_eq(READ("--txt", "x", "--flag=1", "--text", "a", "--text", "b"), HL_CLI_USAGE);
    cr_assert(strstr(errors, "no option \"--txt\"; did you mean --text?"), "%s", errors);
    cr_assert(strstr(errors, "--flag takes no value"), "%s", errors);
    cr_assert(strstr(errors, "--text is given more than once"), "%s", errors);
    cr_assert_eq(READ("--nonsense"), HL_CLI_USAGE);
    cr_assert_not(strstr(errors, "did you mean"), "%s", errors);
}

Test(argument, refuses_a_word_that_the_synopsis_does_not_have_and_says_those_it_has)
{
    const char *text = NULL, *word;
    const struct hl_cli_option options[] = {{"--text", &text, NULL}};
    struct hl_cli cli = begin((char *[]){"--text", "four", NULL});
    cli.command = &command;
    cr_assert_eq(hl_cli_read_word(&cli, options, 1, &word, "a thing"), HL_CLI_USAGE);
    keep_errors(&cli);
    cr_assert(
        strstr(errors, "runs list: --text is one, two or three, not \"four\"\n"), "%s", errors);
    cr_assert(strstr(errors, "runs list: it needs a thing\n"), "%s", errors);
    text = NULL;
    cli = begin((char *[]){"--text=two", "thing", NULL});
    cli.command = &command;
    cr_assert_eq(hl_cli_read_word(&cli, options, 1, &word, "a thing"), HL_CLI_OK);
    keep_errors(&cli);
    cr_assert_str_empty(errors);
    cr_assert_str_eq(word, "thing");
}

Test(argument, says_once_what_is_missing_and_what_it_is)
{
    struct hl_cli cli = begin((char *[]){NULL});
    cli.command = &command;
    cr_assert_eq(hl_cli_need(&cli, "--name", "x"), HL_CLI_OK);
    cr_assert_eq(hl_cli_need(&cli, "--name", NULL), HL_CLI_USAGE);
    keep_errors(&cli);
    cr_assert_str_eq(
        errors, "hookline runs list: --name NAME is needed: what the account is called\n");
    cli = begin((char *[]){"--name", NULL}); /* reading has said that its value is missing */
    cli.command = &command;
    cr_assert_eq(hl_cli_need(&cli, "--name", NULL), HL_CLI_USAGE);
    keep_errors(&cli);
    cr_assert_str_empty(errors);
}

Test(argument, keeps_every_value_of_an_option_that_may_be_given_again)
{
    const char *text, *words[2];
    bool flag;
    size_t count;
    memset(fields, 0, sizeof(fields));
    cr_assert_eq(READ("--field", "a: 1", "--field=b: 2"), HL_CLI_OK);
    cr_assert_str_eq(fields[0], "a: 1");
    cr_assert_str_eq(fields[1], "b: 2");
    cr_assert_null(fields[2]);
}

Test(argument, reads_times_and_durations_from_now)
{
    int64_t ms, now = hl_clock_wall_ms();
    cr_assert(hl_cli_read_time("2026-11-22T08:00:00Z", 1, &ms));
    cr_assert_eq(ms, INT64_C(1795334400000));
    cr_assert(hl_cli_read_time("2026-11-22", 1, &ms));
    cr_assert_eq(ms, INT64_C(1795305600000));
    cr_assert(hl_cli_read_time("90d", 1, &ms));
    cr_assert_geq(ms, now + INT64_C(90) * 24 * 3600 * 1000);
    cr_assert(hl_cli_read_time("1h", -1, &ms));
    cr_assert_lt(ms, now);
    static const char *const wrong[] = {"", "soon", "90", "2026-13-01", "2026-11-22T08:00", "-1h"};
    for (size_t i = 0; i < HL_ARRAY_LEN(wrong); i++)
        cr_assert(!hl_cli_read_time(wrong[i], 1, &ms), "%s", wrong[i]);
}
