#include <criterion/criterion.h>

#include "base/compiler.h"
#include "base/str.h"
#include "base/utf8.h"

Test(utf8, decodes_the_first_and_last_character_of_each_length)
{
    static const struct {
        const char *bytes;
        size_t n;
        uint32_t code;
    } cases[] = {
        {"\x00", 1, 0},
        {"\x7f", 1, 0x7f},
        {"\xc2\x80", 2, 0x80},
        {"\xdf\xbf", 2, 0x7ff},
        {"\xe0\xa0\x80", 3, 0x800},
        {"\xed\x9f\xbf", 3, 0xd7ff},
        {"\xee\x80\x80", 3, 0xe000},
        {"\xef\xbf\xbf", 3, 0xffff},
        {"\xf0\x90\x80\x80", 4, 0x10000},
        {"\xf4\x8f\xbf\xbf", 4, 0x10ffff},
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        uint32_t code = 1;
        cr_assert_eq(hl_utf8_decode(cases[i].bytes, cases[i].n, &code), cases[i].n);
        cr_assert_eq(code, cases[i].code);
        if (cases[i].n > 1)
            cr_assert_eq(hl_utf8_decode(cases[i].bytes, cases[i].n - 1, &code), 0);
    }
}

Test(utf8, refuses_what_is_not_well_formed)
{
    static const char *const bad[] = {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc3(",
        "\xe0\x9f\xbf", "\xed\xa0\x80", "\xed\xbf\xbf", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80", "\xff"};
    uint32_t code;
    for (size_t i = 0; i < HL_ARRAY_LEN(bad); i++)
        cr_assert_eq(hl_utf8_decode(bad[i], strlen(bad[i]), &code), 0, "case %zu", i);
    cr_assert_eq(hl_utf8_decode("", 0, &code), 0);
}

Test(utf8, counts_characters)
{
    cr_assert_eq(hl_utf8_count(HL_STR("")), 0);
    cr_assert_eq(hl_utf8_count(HL_STR("a\xc3\xa9\xe2\x80\xa6\xf0\x9f\x99\x82z")), 5);
}
