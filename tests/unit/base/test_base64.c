/* test_base64.c - the vectors of RFC 4648 section 10, and what is no base64. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "base/compiler.h"
#include "base/str.h"

static const struct {
    const char *plain, *encoded;
} vectors[] = {
    {"", ""},
    {"f", "Zg=="},
    {"fo", "Zm8="},
    {"foo", "Zm9v"},
    {"foob", "Zm9vYg=="},
    {"fooba", "Zm9vYmE="},
    {"foobar", "Zm9vYmFy"},
    {"\xfb\xff\xbe", "+/++"},
};

Test(base64, encodes_the_standards_vectors)
{
    for (size_t i = 0; i < HL_ARRAY_LEN(vectors); i++) {
        char out[16];
        size_t plain_n = strlen(vectors[i].plain);
        size_t n = hl_base64_encode(out, vectors[i].plain, plain_n);
        cr_assert_eq(n, hl_base64_size(plain_n));
        cr_assert(hl_str_eq((struct hl_str){out, n}, hl_str_from(vectors[i].encoded)));
    }
}

Test(base64, decodes_what_is_padded)
{
    for (size_t i = 0; i < HL_ARRAY_LEN(vectors); i++) {
        uint8_t out[16];
        struct hl_str text = hl_str_from(vectors[i].encoded);
        size_t plain_n = strlen(vectors[i].plain);
        cr_assert_eq(hl_base64_decode(text, out), (ptrdiff_t)plain_n);
        cr_assert_arr_eq(out, vectors[i].plain, plain_n);
    }
}

Test(base64, refuses_what_is_none)
{
    static const char *const bad[] = {"A", "AAAAA", "Zg", "Zm8",
        "Zg=", "Zm9v=", "Zm9vYg===", "Zm 9v", "Zm9v\n", "Zm-_", "=", "====", "Z=g="};
    for (size_t i = 0; i < HL_ARRAY_LEN(bad); i++) {
        uint8_t out[16];
        cr_assert_eq(hl_base64_decode(hl_str_from(bad[i]), out), -1, "%s", bad[i]);
    }
}

Test(base64, encodes_for_urls_without_padding)
{
    for (size_t i = 0; i < HL_ARRAY_LEN(vectors); i++) {
        char out[16], wanted[16];
        uint8_t bytes[16];
        size_t plain_n = strlen(vectors[i].plain), n = 0;
        for (const char *c = vectors[i].encoded; *c && *c != '='; c++)
            wanted[n++] = *c == '+' ? '-' : *c == '/' ? '_' : *c;
        cr_assert_eq(hl_base64url_encode(out, vectors[i].plain, plain_n), n);
        cr_assert_eq(hl_base64url_size(plain_n), n);
        cr_assert_arr_eq(out, wanted, n);
        cr_assert_eq(hl_base64url_decode((struct hl_str){out, n}, bytes), (ptrdiff_t)plain_n);
        cr_assert_arr_eq(bytes, vectors[i].plain, plain_n);
    }
}

Test(base64, takes_one_spelling_for_urls_only)
{
    static const char *const bad[] = {"Zg==", "Zg=", "Zm9v=", "Z", "Zm9vY",
        "Zh" /* bits left over */, "Zm9", "+__-", "-__/", "Zm 9v", "Zm9v\n", "Zm\xc3\xbc", "Zm9v."};
    uint8_t out[16];
    for (size_t i = 0; i < HL_ARRAY_LEN(bad); i++)
        cr_expect_eq(hl_base64url_decode(hl_str_from(bad[i]), out), -1, "%s", bad[i]);
    cr_expect_eq(hl_base64url_decode(HL_STR("Zg"), out), 1);
    cr_expect_eq(hl_base64url_decode(HL_STR("Zm8"), out), 2);
    cr_expect_eq(hl_base64url_decode(HL_STR(""), out), 0);
}

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
