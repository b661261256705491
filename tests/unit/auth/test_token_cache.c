/* test_token_cache.c - tokens that were verified before: found byte for byte, and bounded. */
#include "auth/jwt.h"
#include "auth/token_cache.h"
#include "auth/verify_key.h"

#include <criterion/criterion.h>
#include <stdio.h>

static struct hl_token_cache cache;
static struct hl_verify_key *key;

static void begin(void)
{
    hl_token_cache_init(&cache);
    key = hl_verify_key_new(HL_ALG_HS256, HL_STR("k"), "x", 1);
}

static void end(void)
{
    hl_token_cache_fini(&cache);
    cr_assert_eq(key->references, 1, "each entry gave its reference back");
    hl_verify_key_release(key);
}

TestSuite(token_cache, .init = begin, .fini = end);

static void put(struct hl_str token)
{
    struct hl_principal who = {.project = HL_STR("p"), .subject = HL_STR("me")};
    cr_assert(hl_token_cache_put(&cache, hl_good_token_new(token, &who, key)));
}

Test(token_cache, finds_the_very_same_bytes_and_no_others)
{
    char text[200];
    for (size_t n = 32; n < sizeof text; n += 13) {
        memset(text, 'a', n);
        struct hl_str token = {text, n};
        put(token);
        struct hl_good_token *good = hl_token_cache_find(&cache, token);
        cr_assert(good && good->token != text);
        cr_assert(hl_str_eq(good->who.subject, HL_STR("me")) &&
                  hl_str_eq(good->who.project, HL_STR("p")));
        for (size_t i = 0; i < n; i++) {
            text[i] = 'b';
            cr_expect_null(hl_token_cache_find(&cache, token), "%zu of %zu", i, n);
            text[i] = 'a';
        }
        cr_expect_null(hl_token_cache_find(&cache, (struct hl_str){text, n - 1}));
    }
    cr_expect_null(hl_token_cache_find(&cache, (struct hl_str){text, 8}));
    cr_expect_null(hl_token_cache_find(&cache, (struct hl_str){NULL, 0}));
}

Test(token_cache, forgets_what_is_dropped)
{
    struct hl_str token = HL_STR("0123456789012345678901234567890123456789");
    put(token);
    hl_token_cache_drop(&cache, hl_token_cache_find(&cache, token));
    cr_assert_null(hl_token_cache_find(&cache, token));
    cr_assert_eq(cache.bytes, 0);
}

Test(token_cache, stays_within_its_bounds_and_keeps_what_is_used)
{
    static char text[8000];
    struct hl_str used = HL_STR("the token that is used all the time, between all others");
    memset(text, 'x', sizeof text);
    put(used);
    for (unsigned i = 0; i < 4 * HL_TOKEN_CACHE_SETS * HL_TOKEN_CACHE_WAYS; i++) {
        snprintf(text + 200, 100, "%016x%016x", i * 2654435761u, i * 40503u + 7);
        put((struct hl_str){text, 232});
        cr_assert(hl_token_cache_find(&cache, used), "%u", i);
    }
    for (unsigned i = 0; i < 2000; i++) {
        snprintf(text + sizeof text - 33, 33, "%016x%016x", i * 2654435761u, i * 40503u + 7);
        put((struct hl_str){text, sizeof text - 1});
        cr_assert_leq(cache.bytes, (size_t)HL_TOKEN_CACHE_BYTES);
    }
}
