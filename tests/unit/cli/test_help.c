#include <criterion/criterion.h>

#include "cli/help.h"

static char output[1024];

static const char *printed(
    void (*print)(FILE *, size_t, size_t, const char *), size_t at, size_t indent, const char *text)
{
    FILE *out = tmpfile();
    print(out, at, indent, text);
    rewind(out);
    output[fread(output, 1, sizeof(output) - 1, out)] = '\0';
    fclose(out);
    return output;
}

#define TEN "123456789 "

Test(paragraph, begins_a_new_line_where_a_word_would_go_beyond_80_characters)
{
    cr_assert_str_eq(printed(hl_cli_print_text, 70, 4, "123456789"), "123456789\n");
    cr_assert_str_eq(printed(hl_cli_print_text, 70, 4, "1234567890"), "1234567890\n");
    cr_assert_str_eq(printed(hl_cli_print_text, 70, 4, TEN "x"), "123456789\n    x\n");
    cr_assert_str_eq(printed(hl_cli_print_text, 0, 0, ""), "\n");
}

Test(paragraph, counts_characters_and_not_bytes)
{
    cr_assert_str_eq(printed(hl_cli_print_text, 74, 2, "\u00fc\u00fc\u00fc \u00fc\u00fc"),
        "\u00fc\u00fc\u00fc \u00fc\u00fc\n");
}

Test(paragraph, keeps_what_is_in_brackets_together)
{
    cr_assert_str_eq(printed(hl_cli_print_usage, 70, 2, "ID [--limit N]"), "ID\n  [--limit N]\n");
}

Test(paragraph, joins_lines_so_that_a_shell_takes_them_as_one)
{
    cr_assert_str_eq(printed(hl_cli_print_typed, 62, 4, "a --json '{\"text\": \"hi\"}' b"),
        "a --json \\\n    '{\"text\": \"hi\"}' b\n");
}
