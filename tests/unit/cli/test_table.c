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

/* What hookline writes itself, such as "…", stays; what would move a terminal, or turn a line round, does not. */
Test(readable, shows_letters_and_hides_what_acts)
{
    static const struct {
        const char *text, *shown;
    } rows[] = {{"plain", "plain"},
        {"caf\u00e9 \u2026 \u2014 \u4f60", "caf\u00e9 \u2026 \u2014 \u4f60"},
        {"\x1b[2J", "\\x1b[2J"}, {"a\nb", "a\\x0ab"}, {"\x7f", "\\x7f"}, {"\xc2\x9b", "\\xc2\\x9b"},
        {"\u202e", "\\xe2\\x80\\xae"}, {"\u2028", "\\xe2\\x80\\xa8"}, {"\u2066", "\\xe2\\x81\\xa6"},
        {"\xff", "\\xff"}};
    for (size_t i = 0; i < HL_ARRAY_LEN(rows); i++) {
        struct hl_buf out;
        hl_buf_init(&out, 0);
        cr_assert_eq(hl_cli_readable(&out, rows[i].text), HL_OK);
        cr_assert_eq(hl_buf_append(&out, "", 1), HL_OK);
        cr_assert_str_eq(out.p, rows[i].shown);
        hl_buf_fini(&out);
    }
}

Test(readable, finds_what_is_no_text_in_pieces)
{
    struct hl_cli_text_check check = {0};
    cr_assert(hl_cli_is_text(&check, HL_STR("caf\u00e9\r\n\t")));
    cr_assert(hl_cli_is_text(&check, HL_STR("\xc2")));
    cr_assert_not(hl_cli_is_text(&check, HL_STR("\x9b")), "C1's CSI, cut in two");
    check = (struct hl_cli_text_check){0};
    cr_assert_not(hl_cli_is_text(&check, HL_STR("\x1b")));
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

/* A table of a run on a terminal of that width. */
static const char *on_terminal(unsigned width)
{
    static const struct hl_cli_column columns[] = {{"ID", HL_CLI_ID, 0}, {"PATH", HL_CLI_TEXT, 2},
        {"EXTRA", HL_CLI_PLAIN, 3}, {"STATE", HL_CLI_PLAIN, 0}};
    struct hl_cli_table table;
    hl_cli_table_init_for(&table, stderr, columns, 4);
    table.screen = (struct hl_cli_screen){.is_terminal = true, .width = width};
    hl_cli_table_add(&table, "01a201a0-7ddc-7120-be8f-0d98886c0abe");
    hl_cli_table_add(&table, "/\u00fcbersetzen/eines/langen/textes");
    hl_cli_table_add(&table, "extra");
    hl_cli_table_add(&table, "failure");
    printed(&table);
    hl_cli_table_fini(&table);
    return output;
}

Test(table, shortens_ids_then_cuts_texts_then_leaves_columns_out)
{
    cr_assert(
        strstr(on_terminal(100), "0d98886c0abe  /\u00fcbersetzen/eines/langen/textes  extra"));
    cr_assert(strstr(on_terminal(72),
        "\n01a201a0-7ddc-7120  /\u00fcbersetzen/eines/langen/textes  extra  failure\n"));
    cr_assert(strstr(on_terminal(54),
                  "\n01a201a0-7ddc-7120  /\u00fcbersetzen/eines\u2026  extra  failure\n"),
        "%s", output);
    cr_assert(
        strstr(on_terminal(48), "\n01a201a0-7ddc-7120  /\u00fcbersetzen/eines/\u2026  failure\n"),
        "%s", output);
    cr_assert(strstr(on_terminal(30), "\n01a201a0-7ddc-7120  failure\n"), "%s", output);
}

Test(table, shortens_the_id_of_a_run_to_its_end)
{
    static const struct hl_cli_column columns[] = {
        {"RUN", HL_CLI_RUN_ID, 0}, {"STATE", HL_CLI_PLAIN, 0}};
    struct hl_cli_table table;
    hl_cli_table_init_for(&table, stderr, columns, 2);
    table.screen = (struct hl_cli_screen){.is_terminal = true, .width = 40};
    hl_cli_table_add(&table, "01a201a0-7ddc-7120-be8f-0d98886c0abe");
    hl_cli_table_add(&table, "failure");
    cr_assert_str_eq(printed(&table), "RUN       STATE\n886c0abe  failure\n");
    hl_cli_table_fini(&table);
}

/* A webhook's destination, an app and an error on a terminal of that width. */
static const char *address_on_terminal(unsigned width, const char *address)
{
    static const struct hl_cli_column columns[] = {
        {"APP", HL_CLI_TEXT, 2}, {"TO", HL_CLI_ADDRESS, 0}, {"ERROR", HL_CLI_ERROR, 1}};
    struct hl_cli_table table;
    hl_cli_table_init_for(&table, stderr, columns, 3);
    table.screen = (struct hl_cli_screen){.is_terminal = true, .width = width};
    hl_cli_table_add(&table, "words");
    hl_cli_table_add(&table, address);
    hl_cli_table_add(&table, "connect_failed: Connection refused");
    printed(&table);
    hl_cli_table_fini(&table);
    return output;
}

Test(table, keeps_host_and_port_of_an_address_before_an_error_and_before_its_scheme)
{
    cr_assert(strstr(address_on_terminal(50, "http://10.0.0.5:8080"),
                  "\nwords  http://10.0.0.5:8080  connect_failed: Conn\u2026\n"),
        "%s", output);
    cr_assert(strstr(address_on_terminal(42, "https://255.255.255.255:65535"),
                  "\nwords  255.255.255.255:65535  connect_fai\u2026\n"),
        "%s", output);
    cr_assert(strstr(address_on_terminal(42, "https://hooks.internal.example.com:8443"),
                  "\nwords  hooks.inte\u2026e.com:8443  connect_fai\u2026\n"),
        "%s", output);
    cr_assert(strstr(address_on_terminal(42, "https://hooks.example.com"),
                  "\nwords  hooks.example.com      connect_fai\u2026\n"),
        "%s", output);
}

Test(table, fills_a_cell_up_with_blanks)
{
    FILE *out = tmpfile();
    hl_cli_print_cell(out, "\u00fc\x1b", 8);
    hl_cli_print_cell(out, "longer", 3);
    rewind(out);
    output[fread(output, 1, sizeof(output) - 1, out)] = '\0';
    fclose(out);
    cr_assert_str_eq(output, "\u00fc\\x1b   longer");
}

Test(table, says_times_as_people_do_and_colors_states_on_a_terminal)
{
    static const struct hl_cli_column columns[] = {
        {"AT", HL_CLI_TIME, 0}, {"STATE", HL_CLI_PLAIN, 0}};
    struct hl_cli_table table;
    hl_cli_table_init_for(&table, stderr, columns, 2);
    table.screen = (struct hl_cli_screen){.is_terminal = true, .has_color = true, .width = 80};
    table.now_ms = INT64_C(1795334400000); /* 2026-11-22T08:00:00Z */
    hl_cli_table_add(&table, "2026-11-22T07:55:01.000Z");
    hl_cli_table_add(&table, "failure");
    hl_cli_table_add(&table, "2026-11-24T08:00:00Z");
    hl_cli_table_add(&table, "odd");
    cr_assert(strstr(printed(&table), "\n4 min ago  \033[31mfailure\033[0m\nin 2 d     odd\n"),
        "%s", output);
    hl_cli_table_fini(&table);
}
