#include <criterion/criterion.h>
#include <stdio.h>

#include "cli/table.h"

static char output[1024];

static const char *printed(struct hl_cli_table *table)
{
    FILE *out = tmpfile();
    hl_cli_table_print(table, out);
    rewind(out);
    output[fread(output, 1, sizeof(output) - 1, out)] = '\0';
    fclose(out);
    return output;
}

Test(table, makes_columns_as_wide_as_what_is_in_them)
{
    static const char *const titles[] = {"A", "NAME"};
    struct hl_cli_table table;
    hl_cli_table_init(&table, titles, 2);
    hl_cli_table_add(&table, "\u00fc\u00fc\u00fc");
    hl_cli_table_add(&table, NULL);
    hl_cli_table_add(&table, "");
    hl_cli_table_add(&table, "x");
    cr_assert_str_eq(printed(&table), "A    NAME\n\u00fc\u00fc\u00fc  -\n-    x\n");
    hl_cli_table_fini(&table);
}

Test(table, escapes_what_a_terminal_would_act_on)
{
    static const char *const titles[] = {"A"};
    struct hl_cli_table table;
    hl_cli_table_init(&table, titles, 1);
    hl_cli_table_add(&table, "\x1b[31m\n\x7f");
    hl_cli_table_add(&table, "\xc2\x9b"
                             "1m"); /* C1 */
    hl_cli_table_add(&table, "\xe2\x80\xae"
                             "x"); /* right to left from here */
    hl_cli_table_add(&table, "\xff\xc3");
    cr_assert_str_eq(printed(&table), "A\n\\x1b[31m\\x0a\\x7f\n\\xc2\\x9b1m\n\\xe2\\x80\\xaex\n"
                                      "\\xff\\xc3\n");
    hl_cli_table_fini(&table);
}

Test(table, shows_members_as_cells)
{
    char text[HL_CLI_MEMBER_TEXT];
    json_t *object = json_pack("{s:s, s:i, s:n, s:b}", "s", "x", "n", 7, "null", "b", 1);
    cr_assert_str_eq(hl_cli_member(object, "s", text, sizeof(text)), "x");
    cr_assert_str_eq(hl_cli_member(object, "n", text, sizeof(text)), "7");
    cr_assert_str_eq(hl_cli_member(object, "null", text, sizeof(text)), "-");
    cr_assert_str_eq(hl_cli_member(object, "b", text, sizeof(text)), "yes");
    cr_assert_str_eq(hl_cli_member(object, "none", text, sizeof(text)), "-");
    json_decref(object);
}
