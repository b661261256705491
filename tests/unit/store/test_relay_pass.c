/* test_relay_pass.c - what one replica shows another: good for one run and half a minute, with a key that both
 * have. */
#include "store/relay_pass.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "store/backend.h"
#include "store/key.h"

#define KEY_A  "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
#define KEY_B  "101112131415161718191a1b1c1d1e1f000102030405060708090a0b0c0d0e0f"
#define NOW_MS INT64_C(1790000000000)

static const struct hl_id run_id = {.b = {1, 2, 3, 4, 5, 6, 7, 8, 9}};
static struct hl_shared_keys mine, theirs;
static struct hl_store here = {.shared_keys = &mine}, there = {.shared_keys = &theirs};
static char pass[HL_RELAY_PASS_MAX];

static void begin(void)
{
    cr_assert_eq(hl_key_parse(&mine.key, HL_STR(KEY_A)), HL_OK);
    cr_assert_eq(hl_key_parse(&theirs.key, HL_STR(KEY_A)), HL_OK);
    hl_relay_pass_write(&here, &run_id, NOW_MS, pass);
}

TestSuite(relay_pass, .init = begin);

static bool is_good(struct hl_str text, int64_t now_ms)
{
    struct hl_id id = {{0}};
    bool is = hl_relay_pass_read(&there, text, now_ms, &id);
    cr_assert(!is || hl_id_eq(&id, &run_id), "for the run that it is about");
    return is;
}

Test(relay_pass, is_good_where_the_key_is_the_same)
{
    cr_assert(is_good(hl_str_from(pass), NOW_MS));
    cr_assert_lt(strlen(pass), (size_t)HL_RELAY_PASS_MAX);
}

Test(relay_pass, is_good_for_half_a_minute)
{
    cr_assert(is_good(hl_str_from(pass), NOW_MS + HL_RELAY_PASS_MS - 1));
    cr_assert_not(is_good(hl_str_from(pass), NOW_MS + HL_RELAY_PASS_MS));
}

Test(relay_pass, is_good_where_the_clock_is_half_a_minute_behind_and_no_more)
{
    cr_assert(is_good(hl_str_from(pass), NOW_MS - HL_RELAY_PASS_MS));
    cr_assert_not(is_good(hl_str_from(pass), NOW_MS - HL_RELAY_PASS_MS - 1));
}

Test(relay_pass, is_not_good_with_another_key)
{
    cr_assert_eq(hl_key_parse(&theirs.key, HL_STR(KEY_B)), HL_OK);
    cr_assert_not(is_good(hl_str_from(pass), NOW_MS));
}

Test(relay_pass, is_good_with_the_previous_key_while_keys_are_changed)
{
    cr_assert_eq(hl_key_parse(&theirs.key, HL_STR(KEY_B)), HL_OK);
    cr_assert_eq(hl_key_parse(&theirs.previous, HL_STR(KEY_A)), HL_OK);
    cr_assert_not(is_good(hl_str_from(pass), NOW_MS), "there is none");
    theirs.has_previous = true;
    cr_assert(is_good(hl_str_from(pass), NOW_MS));
}

Test(relay_pass, is_not_good_where_nobody_shares_a_key)
{
    there.shared_keys = NULL;
    cr_assert_not(is_good(hl_str_from(pass), NOW_MS));
    there.shared_keys = &theirs;
}

Test(relay_pass, is_not_good_when_it_is_cut_or_longer)
{
    char longer[HL_RELAY_PASS_MAX + 1];
    for (size_t n = 0; n < strlen(pass); n++)
        cr_assert_not(is_good((struct hl_str){pass, n}, NOW_MS), "%zu bytes", n);
    int n = snprintf(longer, sizeof(longer), "%s0", pass);
    cr_assert_not(is_good((struct hl_str){longer, (size_t)n}, NOW_MS));
}

Test(relay_pass, is_not_good_when_any_of_it_is_changed)
{
    size_t n = strlen(pass);
    for (size_t i = 0; i < n; i++) {
        char was = pass[i];
        pass[i] = was == '0' ? '1' : '0';
        cr_assert_not(is_good((struct hl_str){pass, n}, NOW_MS), "byte %zu", i);
        pass[i] = was;
    }
}

Test(relay_pass, is_not_good_as_garbage)
{
#define UNSIGNED "01020304-0506-0708-0900-000000000000.1790000030000."
    static const char *texts[] = {"", ".", "..", "a.b.c", UNSIGNED,
        UNSIGNED "0000000000000000000000000000000000000000000000000000000000000000"};
#undef UNSIGNED
    for (size_t i = 0; i < HL_ARRAY_LEN(texts); i++)
        cr_assert_not(is_good(hl_str_from(texts[i]), NOW_MS), "%s", texts[i]);
    char zeroes[HL_RELAY_PASS_MAX - 1] = {0};
    cr_assert_not(is_good((struct hl_str){zeroes, sizeof(zeroes)}, NOW_MS));
}

/* Signed with the right key, which nobody but a replica has: what stands in it is looked at all the same. */
Test(relay_pass, is_not_good_with_an_end_that_is_no_number)
{
    static const char *ends[] = {"", "-1", "1790000030000000000", "17900000 0000", "x"};
    char id[HL_ID_TEXT], text[256];
    hl_id_format(&run_id, id);
    for (size_t i = 0; i < HL_ARRAY_LEN(ends); i++) {
        uint8_t signature[HL_KEY_SIZE];
        int n = snprintf(text, sizeof(text), "%.*s.%s", HL_ID_TEXT, id, ends[i]);
        hl_key_sign_relay(&mine.key, (struct hl_str){text, (size_t)n}, signature);
        n += snprintf(text + n, sizeof(text) - (size_t)n, ".");
        for (size_t b = 0; b < sizeof(signature); b++)
            n += snprintf(text + n, sizeof(text) - (size_t)n, "%02x", signature[b]);
        cr_assert_not(is_good((struct hl_str){text, (size_t)n}, NOW_MS), "%s", ends[i]);
    }
}
