#include <criterion/criterion.h>
#include <ctype.h>

#include "http/byte.h"

/* The grammars as RFC 9110 5.6.2, 5.5 and RFC 3986 2 write them. */
static unsigned expected(unsigned c)
{
    unsigned classes = 0;
    bool is_ascii = c > 0 && c < 0x80;
    if (is_ascii && (isalnum((int)c) || strchr("!#$%&'*+-.^_`|~", (int)c)))
        classes |= HL_BYTE_TOKEN;
    if (c == '\t' || (c >= 0x20 && c != 0x7f))
        classes |= HL_BYTE_FIELD;
    if (c > 0x20 && c < 0x7f && c != '#')
        classes |= HL_BYTE_TARGET;
    if (is_ascii && (isalnum((int)c) || strchr("-._~!$&'()*+;=", (int)c)))
        classes |= HL_BYTE_HOST;
    if (is_ascii && isxdigit((int)c))
        classes |= HL_BYTE_HEX;
    if (is_ascii && isdigit((int)c))
        classes |= HL_BYTE_DIGIT;
    if (c == '_')
        classes |= HL_BYTE_UNDERSCORE;
    return classes;
}

Test(byte, table_is_the_grammar)
{
    for (unsigned c = 0; c < 256; c++)
        cr_assert_eq(hl_byte_class[c], expected(c), "%02x", c);
}

Test(byte, hex_digits_have_their_value)
{
    cr_assert_eq(hl_byte_hex('0'), 0);
    cr_assert_eq(hl_byte_hex('9'), 9);
    cr_assert_eq(hl_byte_hex('a'), 10);
    cr_assert_eq(hl_byte_hex('F'), 15);
    cr_assert_eq(hl_byte_hex('g'), -1);
    cr_assert_eq(hl_byte_hex('\xff'), -1);
}

/* Each byte value at each place among bytes that are not marked. */
Test(byte, blocks_find_the_first_byte_of_their_kind)
{
    for (unsigned c = 0; c < 256; c++) {
        bool is_control = !(expected(c) & HL_BYTE_FIELD) || c == '\t';
        bool is_escaped = c < 0x20 || c == '"' || c == '\\';
        bool is_letter = (c < 0x80 && isalpha((int)c)) || c == '-';
        bool ends_target = !(expected(c) & HL_BYTE_TARGET);
        for (unsigned place = 0; place < HL_BLOCK; place++) {
            char plain[HL_BLOCK], marked[HL_BLOCK];
            memset(plain, 'x', sizeof plain);
            memset(marked, '\n', sizeof marked);
            plain[place] = marked[place] = (char)c;

            unsigned first = hl_block_first(hl_block_controls(hl_block_load(plain)));
            cr_assert_eq(first, is_control ? place : HL_BLOCK, "%02x at %u", c, place);
            first = hl_block_first(hl_block_escaped(hl_block_load(plain)));
            cr_assert_eq(first, is_escaped ? place : HL_BLOCK, "%02x at %u", c, place);
            first = hl_block_first(hl_block_letters(hl_block_load(marked)));
            cr_assert_eq(first, is_letter ? place : HL_BLOCK, "%02x at %u", c, place);
            first = hl_block_first(hl_block_no_target(hl_block_load(plain)));
            cr_assert_eq(first, ends_target ? place : HL_BLOCK, "%02x at %u", c, place);
        }
    }
}

Test(byte, targets_of_any_length_end_at_the_first_byte_that_is_none)
{
    char text[3 * HL_BLOCK];
    for (size_t n = 0; n <= sizeof text; n++) {
        memset(text, '/', sizeof text);
        cr_assert_eq(hl_byte_target_end(text, text + n), text + n);
        for (size_t at = 0; at < n; at++) {
            text[at] = '#';
            cr_assert_eq(hl_byte_target_end(text, text + n), text + at);
            text[at] = '?';
        }
    }
}

Test(byte, lines_of_any_length_end_at_the_first_line_end_behind_where_they_begin)
{
    char text[3 * HL_BLOCK];
    for (size_t n = 0; n <= sizeof text; n++) {
        memset(text, 'x', sizeof text);
        cr_assert_eq(hl_byte_line_end(text, text + n), text + n);
        for (size_t at = 0; at < n; at++) {
            text[at] = at % 2 ? '\r' : '\n';
            cr_assert_eq(hl_byte_line_end(text, text + n), text + at);
            cr_assert_eq(hl_byte_line_end(text + at + 1, text + n), text + n);
            text[at] = 'x';
        }
    }
}

Test(byte, mask_has_one_bit_for_each_marked_byte)
{
    char text[HL_BLOCK];
    memset(text, 'a', sizeof text);
    text[0] = text[7] = text[8] = text[15] = '\n';
    cr_assert_eq(hl_block_mask((hl_block)(hl_block_load(text) == '\n')), 0x8181);
}
