/* test_jwks.c - key sets: which keys are taken, and which only look like some. */
#include "auth/jwks.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "auth/key_set.h"
#include "auth/verify_key.h"
#include "token.h"

static struct signer ec, rsa;
static struct hl_key_list list;
static unsigned ignored;
static char jwk[1024], set[8192];

static void begin(void)
{
    signer_init(&ec, HL_ALG_ES256);
    signer_init(&rsa, HL_ALG_RS256);
}

static void end(void)
{
    hl_key_list_fini(&list);
    signer_fini(&ec);
    signer_fini(&rsa);
}

TestSuite(jwks, .init = begin, .fini = end);

static void read_one(const char *one)
{
    hl_key_list_fini(&list);
    snprintf(set, sizeof set, "{\"keys\":[%s]}", one);
    cr_assert_eq(hl_jwks_read(hl_str_from(set), &list, &ignored), HL_OK);
}

Test(jwks, takes_keys_of_both_kinds)
{
    signer_jwk(&ec, "a", ",\"use\":\"sig\",\"alg\":\"ES256\"", jwk, sizeof jwk);
    read_one(jwk);
    cr_assert(list.n == 1 && ignored == 0);
    cr_assert_eq(list.items[0]->alg, HL_ALG_ES256);
    cr_assert(list.items[0]->has_kid && list.items[0]->kid_n == 1);
    signer_jwk(&rsa, "b", ",\"key_ops\":[\"verify\"]", jwk, sizeof jwk);
    read_one(jwk);
    cr_assert(list.n == 1 && ignored == 0);
    cr_assert_eq(list.items[0]->alg, HL_ALG_RS256);
    cr_assert_eq(list.items[0]->n, 256);
}

Test(jwks, takes_a_set_behind_a_byte_order_mark)
{
    signer_jwk(&ec, "a", "", jwk, sizeof jwk);
    snprintf(set, sizeof set, "\xef\xbb\xbf{\"keys\":[%s]}\r\n", jwk);
    cr_assert_eq(hl_jwks_read(hl_str_from(set), &list, &ignored), HL_OK);
    cr_expect_eq(list.n, 1);
}

Test(jwks, passes_over_keys_that_are_not_for_us)
{
    static const char *const more[] = {",\"use\":\"enc\"", ",\"alg\":\"HS256\"",
        ",\"alg\":\"none\"", ",\"key_ops\":[\"encrypt\"]", ",\"key_ops\":\"verify\"", ",\"alg\":7",
        ",\"use\":[\"sig\"]"};
    for (size_t i = 0; i < HL_ARRAY_LEN(more); i++) {
        signer_jwk(&ec, "a", more[i], jwk, sizeof jwk);
        read_one(jwk);
        cr_expect(list.n == 0 && ignored == 1, "EC%s", more[i]);
        signer_jwk(&rsa, "a", more[i], jwk, sizeof jwk);
        read_one(jwk);
        cr_expect(list.n == 0 && ignored == 1, "RSA%s", more[i]);
    }
    static const char *const others[] = {
        "{\"kty\":\"oct\",\"k\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\"}", "{}", "7",
        "null", "[]", "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"AA\"}",
        "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"AA\",\"y\":\"AA\"}",
        "{\"kty\":\"EC\",\"crv\":\"P-384\",\"x\":\"AA\",\"y\":\"AA\"}",
        "{\"kty\":\"RSA\",\"n\":\"gAAB\",\"e\":\"AQAB\"}", "{\"kty\":\"RSA\",\"e\":\"AQAB\"}"};
    for (size_t i = 0; i < HL_ARRAY_LEN(others); i++) {
        read_one(others[i]);
        cr_expect(list.n == 0 && ignored == 1, "%s", others[i]);
    }
}

Test(jwks, refuses_points_beside_the_curve)
{
    signer_jwk(&ec, "a", "", jwk, sizeof jwk);
    char *x = strstr(jwk, "\"x\":\"") + 5;
    x[3] = x[3] == 'A' ? 'B' : 'A';
    read_one(jwk);
    cr_assert_eq(list.n, 0);
}

Test(jwks, refuses_weak_exponents)
{
    static const char *const exponents[] = {"AQ", "Ag", "AAAA", "AQAA", "AAEAAQ", ""};
    signer_jwk(&rsa, "a", "", jwk, sizeof jwk);
    char *e = strstr(jwk, "\"e\":\"AQAB\"");
    for (size_t i = 0; i < HL_ARRAY_LEN(exponents); i++) {
        snprintf(e, 24, "\"e\":\"%s\"}", exponents[i]);
        read_one(jwk);
        cr_expect_eq(list.n, 0, "%s", exponents[i]);
    }
}

Test(jwks, other_texts_are_no_key_set)
{
    static const char *const bad[] = {"", "{}", "[]", "{\"keys\":{}}", "{\"keys\":null}",
        "{\"keys\":[],\"keys\":[]}", "<html>", "{\"keys\":[]"};
    for (size_t i = 0; i < HL_ARRAY_LEN(bad); i++)
        cr_expect_eq(
            hl_jwks_read(hl_str_from(bad[i]), &list, &ignored), HL_ERR_INVALID, "%s", bad[i]);
    cr_expect_eq(hl_jwks_read(HL_STR("{\"keys\":[]}"), &list, &ignored), HL_OK);
}

Test(jwks, takes_at_most_64_keys)
{
    static char many[HL_JWKS_MAX];
    size_t n = (size_t)snprintf(many, sizeof many, "{\"keys\":[");
    signer_jwk(&ec, "a", "", jwk, sizeof jwk);
    for (unsigned i = 0; i < HL_KEYS_MAX + 2; i++)
        n += (size_t)snprintf(many + n, sizeof many - n, "%s%s", i ? "," : "", jwk);
    snprintf(many + n, sizeof many - n, "]}");
    cr_assert_eq(hl_jwks_read(hl_str_from(many), &list, &ignored), HL_OK);
    cr_assert(list.n == HL_KEYS_MAX && ignored == 2);
}
