/* test_key_set.c - which key has to have signed a token, and what becomes of keys that go. */
#include "auth/jwt.h"
#include "auth/key_set.h"
#include "auth/verify_key.h"

#include <criterion/criterion.h>

static struct hl_key_set *set;

static void begin(void)
{
    set = hl_key_set_new();
}

static void end(void)
{
    hl_key_set_release(set);
}

TestSuite(key_set, .init = begin, .fini = end);

/* A key whose bytes are this number: looked for, never used. */
static struct hl_verify_key *make(enum hl_alg alg, const char *kid, uint8_t number)
{
    struct hl_str name = {kid, kid ? strlen(kid) : 0};
    return hl_verify_key_new(alg, name, &number, 1);
}

static void put(enum hl_key_source source, size_t n, struct hl_verify_key **keys)
{
    struct hl_key_list list = {.n = n};
    memcpy(list.items, keys, n * sizeof *keys);
    struct hl_key_set *next = hl_key_set_with(set, source, &list);
    hl_key_set_retire(set, next);
    hl_key_set_release(set);
    set = next;
}

#define PUT(source, ...)                                                                           \
    put(source, HL_ARRAY_LEN(((struct hl_verify_key *[]){__VA_ARGS__})),                           \
        (struct hl_verify_key *[]){__VA_ARGS__})

static struct hl_verify_key *found[HL_KEYS_TRIED_MAX];
static size_t found_n;

/* The number of the first key that is found, or 0. */
static unsigned find(enum hl_alg alg, const char *kid)
{
    struct hl_jwt jwt = {.alg = alg, .has_kid = kid != NULL, .kid_n = kid ? strlen(kid) : 0};
    if (kid)
        memcpy(jwt.kid, kid, jwt.kid_n);
    found_n = hl_key_set_find(set, &jwt, found);
    return found_n > 0 ? found[0]->bytes[0] : 0;
}

Test(key_set, finds_keys_by_name)
{
    PUT(HL_KEYS_FILE, make(HL_ALG_ES256, "a", 1), make(HL_ALG_RS256, "b", 2));
    PUT(HL_KEYS_URL, make(HL_ALG_ES256, "c", 3));
    cr_expect_eq(find(HL_ALG_ES256, "a"), 1);
    cr_expect_eq(find(HL_ALG_RS256, "b"), 2);
    cr_expect_eq(find(HL_ALG_ES256, "c"), 3);
    cr_expect_eq(find(HL_ALG_ES256, "d"), 0);
    cr_expect_eq(find(HL_ALG_ES256, ""), 0);
}

Test(key_set, a_named_key_is_found_whatever_the_token_says_of_its_algorithm)
{
    PUT(HL_KEYS_FILE, make(HL_ALG_RS256, "b", 2));
    PUT(HL_KEYS_SECRET, make(HL_ALG_HS256, NULL, 9));
    cr_expect_eq(find(HL_ALG_HS256, "b"), 2, "and not the secret");
}

Test(key_set, without_a_name_each_key_of_the_algorithm_may_be_meant)
{
    PUT(HL_KEYS_OWN, make(HL_ALG_ES256, "own", 8));
    cr_expect_eq(find(HL_ALG_ES256, NULL), 0, "never our own");
    PUT(HL_KEYS_FILE, make(HL_ALG_ES256, "a", 1), make(HL_ALG_RS256, "b", 2));
    cr_expect_eq(find(HL_ALG_ES256, NULL), 1);
    cr_expect_eq(find(HL_ALG_RS256, NULL), 2);
    PUT(HL_KEYS_URL, make(HL_ALG_ES256, "c", 3));
    cr_expect_eq(find(HL_ALG_ES256, NULL), 1);
    cr_assert_eq(found_n, 2);
    cr_expect_eq(found[1]->bytes[0], 3);
}

Test(key_set, of_several_keys_of_one_name_each_of_the_algorithm_may_be_meant)
{
    PUT(HL_KEYS_FILE, make(HL_ALG_RS256, "a", 1), make(HL_ALG_ES256, "a", 2),
        make(HL_ALG_ES256, "b", 3));
    PUT(HL_KEYS_URL, make(HL_ALG_ES256, "a", 4), make(HL_ALG_ES256, "a", 2));
    cr_expect_eq(find(HL_ALG_ES256, "a"), 2);
    cr_assert_eq(found_n, 2, "the same key twice is one");
    cr_expect_eq(found[1]->bytes[0], 4);
    cr_expect_eq(find(HL_ALG_RS256, "a"), 1);
    cr_expect_eq(found_n, 1);
}

Test(key_set, of_more_keys_than_may_be_tried_the_first_ones_are_meant)
{
    struct hl_verify_key *keys[HL_KEYS_TRIED_MAX + 1];
    for (size_t i = 0; i < HL_ARRAY_LEN(keys); i++)
        keys[i] = make(HL_ALG_ES256, i % 2 ? NULL : "a", (uint8_t)(i + 1));
    put(HL_KEYS_URL, HL_ARRAY_LEN(keys), keys);
    cr_expect_eq(find(HL_ALG_ES256, NULL), 1);
    cr_assert_eq(found_n, HL_KEYS_TRIED_MAX);
    for (size_t i = 0; i < found_n; i++)
        cr_expect_eq(found[i]->bytes[0], i + 1);
}

Test(key_set, the_secret_has_no_name)
{
    PUT(HL_KEYS_SECRET, make(HL_ALG_HS256, NULL, 9));
    cr_expect_eq(find(HL_ALG_HS256, NULL), 9);
    cr_expect_eq(find(HL_ALG_HS256, "any"), 9);
    cr_expect_eq(find(HL_ALG_ES256, "any"), 0);
}

Test(key_set, our_own_name_is_ours_alone)
{
    PUT(HL_KEYS_OWN, make(HL_ALG_ES256, "own", 8));
    PUT(HL_KEYS_URL, make(HL_ALG_ES256, "own", 3));
    cr_expect_eq(find(HL_ALG_ES256, "own"), 8);
}

Test(key_set, a_key_that_stays_is_the_same_object_and_one_that_goes_is_retired)
{
    struct hl_verify_key *stays = make(HL_ALG_ES256, "a", 1), *goes = make(HL_ALG_ES256, "b", 2);
    hl_verify_key_hold(stays);
    hl_verify_key_hold(goes);
    PUT(HL_KEYS_URL, stays, goes);
    PUT(HL_KEYS_URL, make(HL_ALG_ES256, "a", 1), make(HL_ALG_ES256, "b", 3));
    cr_expect_eq(set->sources[HL_KEYS_URL].items[0], stays);
    cr_expect_not(stays->is_retired);
    cr_expect(goes->is_retired, "the same name, another key");
    cr_expect_eq(find(HL_ALG_ES256, "b"), 3);
    hl_verify_key_release(stays);
    hl_verify_key_release(goes);
}
