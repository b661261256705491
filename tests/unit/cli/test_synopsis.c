#include <criterion/criterion.h>

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

Test(synopsis, knows_a_name_by_what_it_takes)
{
    const char *at = NULL;
    struct hl_cli_synopsis_option body, line;
    struct hl_cli_command command = {.arguments = "[--json BODY] [--json]"};
    cr_assert(hl_cli_synopsis_next(&command, &at, &body));
    cr_assert(hl_cli_synopsis_next(&command, &at, &line));
    cr_assert_str_neq(body.help, line.help);
}
