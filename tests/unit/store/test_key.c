/* test_key.c - the data key from a file and from a setting: the same text is the same key. */
#include "config/config.h"
#include "store/key.h"

#include <criterion/criterion.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIGITS "00112233445566778899aabbccddeeff0123456789abcdef0123456789abcdef"

static char directory[] = "/tmp/hookline-key-XXXXXX";
static char path[64], why[512];

static void begin(void)
{
    cr_assert_not_null(mkdtemp(directory));
    snprintf(path, sizeof(path), "%s/key", directory);
}

static void end(void)
{
    unlink(path);
    rmdir(directory);
}

TestSuite(data_key, .init = begin, .fini = end);

static void write_file(const void *bytes, size_t n)
{
    FILE *file = fopen(path, "w");
    cr_assert(file && fwrite(bytes, 1, n, file) == n);
    cr_assert_eq(fclose(file), 0);
    cr_assert_eq(chmod(path, 0600), 0);
}

static void assert_same(const struct hl_key *a, const struct hl_key *b)
{
    cr_assert_eq(memcmp(a, b, sizeof(*a)), 0);
}

Test(data_key, is_the_same_from_a_setting_as_from_a_file)
{
    struct hl_key from_file, from_text;
    const char *endings[] = {"", "\n", " \r\n\t"};
    for (size_t i = 0; i < HL_ARRAY_LEN(endings); i++) {
        char text[80];
        int n = snprintf(text, sizeof(text), DIGITS "%s", endings[i]);
        write_file(text, (size_t)n);
        cr_assert_eq(hl_key_load(&from_file, path, HL_KEY_MISSED, why, sizeof(why)), HL_OK);
        cr_assert_eq(hl_key_parse(&from_text, (struct hl_str){text, (size_t)n}), HL_OK);
        assert_same(&from_file, &from_text);
    }
}

Test(data_key, is_the_same_in_either_case)
{
    struct hl_key lower, upper;
    char text[] = DIGITS;
    for (char *p = text; *p; p++)
        *p = (char)toupper((unsigned char)*p);
    cr_assert_eq(hl_key_parse(&lower, HL_STR(DIGITS)), HL_OK);
    cr_assert_eq(hl_key_parse(&upper, hl_str_from(text)), HL_OK);
    assert_same(&lower, &upper);
}

Test(data_key, differs_where_one_digit_does)
{
    struct hl_key one, other;
    char text[] = DIGITS;
    for (size_t i = 0; i < 2 * HL_KEY_SIZE; i++) {
        text[i] = text[i] == '0' ? '1' : '0';
        cr_assert_eq(hl_key_parse(&one, HL_STR(DIGITS)), HL_OK);
        cr_assert_eq(hl_key_parse(&other, hl_str_from(text)), HL_OK);
        cr_assert_neq(memcmp(one.check, other.check, HL_KEY_SIZE), 0, "digit %zu", i);
        text[i] = DIGITS[i];
    }
}

Test(data_key, is_no_other_text)
{
    struct hl_key key;
    char raw[HL_KEY_SIZE] = {1};
    cr_assert_eq(hl_key_parse(&key, HL_STR("")), HL_ERR_INVALID);
    cr_assert_eq(hl_key_parse(&key, HL_STR(" " DIGITS)), HL_ERR_INVALID);
    cr_assert_eq(hl_key_parse(&key, HL_STR(DIGITS "0")), HL_ERR_INVALID);
    cr_assert_eq(hl_key_parse(&key, (struct hl_str){DIGITS, 63}), HL_ERR_INVALID);
    char bad[] = DIGITS;
    bad[63] = 'g';
    cr_assert_eq(hl_key_parse(&key, hl_str_from(bad)), HL_ERR_INVALID);
    cr_assert_eq(hl_key_parse(&key, (struct hl_str){raw, sizeof(raw)}), HL_ERR_INVALID,
        "raw bytes are for files");
}

Test(data_key, that_replicas_share_is_that_of_the_setting_or_of_its_file)
{
    struct hl_key named;
    struct hl_shared_keys from_setting, from_file;
    struct hl_config config = {.key = HL_STR(DIGITS)};
    cr_assert_eq(hl_key_parse(&named, HL_STR(DIGITS)), HL_OK);
    cr_assert_eq(hl_shared_keys_open(&from_setting, &config, why, sizeof(why)), HL_OK);
    assert_same(&from_setting.key, &named);
    write_file(DIGITS "\n", 65);
    config = (struct hl_config){.key_file = hl_str_from(path)};
    cr_assert_eq(hl_shared_keys_open(&from_file, &config, why, sizeof(why)), HL_OK);
    assert_same(&from_file.key, &named);
}

Test(data_key, that_replicas_share_is_never_made)
{
    struct hl_shared_keys keys;
    struct hl_config config = {.key_file = hl_str_from(path)};
    cr_assert_eq(hl_shared_keys_open(&keys, &config, why, sizeof(why)), HL_ERR_NOT_FOUND);
    cr_assert_neq(access(path, F_OK), 0);
    cr_assert(strstr(why, "HOOKLINE_KEY_FILE: ") == why && strstr(why, path), "%s", why);
    cr_assert(strstr(why, "hookline key create"), "%s", why);
    write_file("short", 5);
    cr_assert_eq(hl_shared_keys_open(&keys, &config, why, sizeof(why)), HL_ERR_INVALID);
    cr_assert(strstr(why, "does not hold a key: 64 hexadecimal digits"), "%s", why);
}

Test(data_key, before_the_one_that_replicas_share_is_there_only_if_it_is_set)
{
    struct hl_key other;
    struct hl_shared_keys keys;
    char text[] = DIGITS;
    text[0] = text[0] == 'a' ? 'b' : 'a';
    struct hl_config config = {.key = HL_STR(DIGITS)};
    cr_assert_eq(hl_shared_keys_open(&keys, &config, why, sizeof(why)), HL_OK);
    cr_assert_not(keys.has_previous);
    config.previous_key = hl_str_from(text);
    cr_assert_eq(hl_key_parse(&other, config.previous_key), HL_OK);
    cr_assert_eq(hl_shared_keys_open(&keys, &config, why, sizeof(why)), HL_OK);
    cr_assert(keys.has_previous);
    assert_same(&keys.previous, &other);
    config.previous_key = HL_STR("short");
    cr_assert_eq(hl_shared_keys_open(&keys, &config, why, sizeof(why)), HL_ERR_INVALID);
    cr_assert_str_eq(
        why, "HOOKLINE_PREVIOUS_KEY: **** is not a key, which has 64 hexadecimal digits");
}
