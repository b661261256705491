#include <criterion/criterion.h>

#include "base/compiler.h"
#include "cli/cli.h"
#include "cli/synopsis.h"

static void expect(struct hl_cli_command command, const char *const *wanted)
{
    const char *at = NULL;
    struct hl_cli_synopsis_option option;
    char text[64];
    for (; *wanted; wanted++) {
        cr_assert(hl_cli_synopsis_next(&command, &at, &option), "%s is missing", *wanted);
        snprintf(
            text, sizeof(text), "%.*s %.*s", HL_STR_ARG(option.name), HL_STR_ARG(option.value));
        cr_assert_str_eq(text, *wanted);
    }
    cr_assert_not(hl_cli_synopsis_next(&command, &at, &option));
}

Test(synopsis, reads_options_and_what_they_take)
{
    expect((struct hl_cli_command){.arguments = "ID | --since TIME [--state dead|delivered] "
                                                "[--async|--sync] [--json] [FILE]"},
        (const char *const[]){
            "--since TIME", "--state dead|delivered", "--async ", "--sync ", "--json ", NULL});
    expect((struct hl_cli_command){.arguments = "ID"}, (const char *const[]){NULL});
    expect((struct hl_cli_command){.arguments = NULL}, (const char *const[]){NULL});
}

Test(synopsis, has_the_options_for_another_machine_last)
{
    expect((struct hl_cli_command){.arguments = "[--json]", .is_remote = true},
        (const char *const[]){"--json ", "--url URL", "--token-file FILE", NULL});
    expect((struct hl_cli_command){.arguments = "ID", .is_remote = true},
        (const char *const[]){"--url URL", "--token-file FILE", NULL});
}

Test(synopsis, finds_an_option_and_knows_whether_its_words_are_all_there_are)
{
    struct hl_cli_synopsis_option option;
    struct hl_cli_command command = {
        .arguments = "[--state dead|delivered] [--status CODE|CLASS|none] [--rate 100/s|m|h|d] "
                     "[--async|--sync] [--name NAME]"};
    static const struct {
        const char *name;
        bool has_choices;
    } cases[] = {{"--state", true}, {"--status", false}, {"--rate", false}, {"--async", false},
        {"--name", false}};
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        cr_assert(hl_cli_synopsis_find(&command, cases[i].name, &option), "%s", cases[i].name);
        cr_assert_eq(
            hl_cli_synopsis_has_choices(&option), cases[i].has_choices, "%s", cases[i].name);
    }
    cr_assert_not(hl_cli_synopsis_find(&command, "--stat", &option));
}

Test(synopsis, means_by_a_name_what_the_command_does)
{
    struct hl_cli_synopsis_option call, list;
    cr_assert(hl_cli_synopsis_find(
        &(struct hl_cli_command){.words = "call", .arguments = "[--async]"}, "--async", &call));
    cr_assert(hl_cli_synopsis_find(
        &(struct hl_cli_command){.words = "runs list", .arguments = "[--async]"}, "--async",
        &list));
    cr_assert_str_neq(call.help, list.help);
}

Test(synopsis, says_of_a_limit_what_it_is_without_one)
{
    static const struct {
        const char *words, *help;
    } cases[] = {{"runs list", "at most this many (50)"},
        {"deliveries destinations", "at most this many (all)"}};
    struct hl_cli_synopsis_option option;
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        struct hl_cli_command command = {.words = cases[i].words, .arguments = "[--limit N]"};
        cr_assert(hl_cli_synopsis_find(&command, "--limit", &option));
        cr_assert_str_eq(option.help, cases[i].help);
    }
}

Test(synopsis, knows_a_name_by_what_it_takes)
{
    const char *at = NULL;
    struct hl_cli_synopsis_option body, line;
    struct hl_cli_command command = {.arguments = "[--json BODY] [--json]"};
    cr_assert(hl_cli_synopsis_next(&command, &at, &body));
    cr_assert(hl_cli_synopsis_next(&command, &at, &line));
    cr_assert_str_neq(body.help, line.help);
}

/* The words that the option `name` takes, each behind a blank. */
static const char *words_of(const char *name)
{
    static char text[512];
    static const struct hl_cli_command command = {
        .arguments = "[--state dead|delivered] [--status CODE|CLASS|none] [--rate 100/s|m|h|d] "
                     "[--reason REASON] [--action ACTION] [--name NAME] [--json]"};
    struct hl_cli_synopsis_option option;
    struct hl_str word;
    size_t at = 0, n = 0;
    *text = '\0';
    cr_assert(hl_cli_synopsis_find(&command, name, &option), "%s", name);
    while (hl_cli_synopsis_word(&option, &at, &word))
        n += (size_t)snprintf(text + n, sizeof(text) - n, " %.*s", HL_STR_ARG(word));
    return text;
}

Test(synopsis, has_the_words_that_an_option_takes_as_they_stand)
{
    cr_assert_str_eq(words_of("--state"), " dead delivered");
    cr_assert_str_eq(words_of("--status"), " none");
    cr_assert_str_eq(words_of("--rate"), "");
    cr_assert_str_eq(words_of("--name"), "");
    cr_assert_str_eq(words_of("--json"), "");
    cr_assert_not_null(strstr(words_of("--action"), "account_made account_limited"));
    cr_assert_str_eq(words_of("--reason"), " app_error timeout upstream_unreachable upstream_reset "
                                           "bad_response interrupted expired response_not_kept");
}
