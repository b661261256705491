/* test_hex.c - bytes as lower-case hex digits. */
#include "base/hex.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

Test(hex, writes_each_byte_as_two_lower_case_digits)
{
    uint8_t bytes[256];
    char text[2 * sizeof bytes], expected[3];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)i;
    hl_hex_write(text, bytes, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++) {
        snprintf(expected, sizeof expected, "%02x", bytes[i]);
        cr_assert_arr_eq(text + 2 * i, expected, 2, "byte %zu", i);
    }
}

Test(hex, writes_what_was_asked_for_and_nothing_after_it)
{
    uint8_t bytes[40];
    char text[2 * sizeof bytes + 1];
    memset(bytes, 0xab, sizeof bytes);
    for (size_t n = 0; n <= sizeof bytes; n++) {
        memset(text, '.', sizeof text);
        hl_hex_write(text, bytes, n);
        for (size_t i = 0; i < sizeof text; i++)
            cr_assert_eq(text[i], i >= 2 * n ? '.' : "ab"[i % 2], "%zu bytes, character %zu", n, i);
    }
}
