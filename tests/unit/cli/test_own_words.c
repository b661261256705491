#include <criterion/criterion.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "cli/cli.h"
#include "cli/own_words.h"

static const struct hl_cli_command command = {
    .words = "deliveries test", .arguments = "ID | --to URL [--secret-file FILE] [--max-queued N]"};

static void expect(const struct hl_cli_command *of, const char *detail, const char *said)
{
    const struct hl_cli cli = {.command = of};
    struct hl_buf room;
    hl_buf_init(&room, 0);
    cr_assert_str_eq(hl_cli_own_words(&cli, detail, &room), said);
    hl_buf_fini(&room);
}

Test(own_words, names_options_in_place_of_members)
{
    expect(&command, "The member url is not one.", "--to is not one.");
    expect(&command, "The member url has them: add the member secret.",
        "--to has them: add --secret-file.");
    expect(&command, "The member max_queued is not a number.", "--max-queued is not a number.");
}

Test(own_words, names_options_in_place_of_query_parameters)
{
    expect(&command, "The query parameter max_queued must be a number, as the member url.",
        "--max-queued must be a number, as --to.");
}

Test(own_words, leaves_what_the_command_has_no_option_for)
{
    static const char *const details[] = {"The member role is not one.", "The member ",
        "he member url", "A member url", "The members url", "", "Nothing is wrong."};
    for (size_t i = 0; i < HL_ARRAY_LEN(details); i++)
        expect(&command, details[i], details[i]);
    expect(NULL, "The member url is not one.", "The member url is not one.");
}
