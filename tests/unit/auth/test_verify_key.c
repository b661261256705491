/* test_verify_key.c - signatures: the right one passes, all others do not. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "auth/verify_key.h"
#include "token.h"

static struct signer signer, other;
static char token[TOKEN_MAX];

static void end(void)
{
    signer_fini(&signer);
    signer_fini(&other);
}

TestSuite(verify, .fini = end);

static bool is_good(struct hl_verify_key *key, const char *text)
{
    struct hl_jwt jwt;
    cr_assert_eq(hl_jwt_read(hl_str_from(text), &jwt), HL_REFUSAL_NONE);
    bool good = hl_verify(key, &jwt);
    hl_jwt_fini(&jwt);
    return good;
}

static void expect_only_the_right_signature(enum hl_alg alg, const char *header)
{
    signer_init(&signer, alg);
    signer_init(&other, alg);
    struct hl_verify_key *key = signer_key(&signer, "k"), *wrong = signer_key(&other, "k");
    token_make(&signer, header, "{\"exp\":1,\"sub\":\"me\"}", token);
    cr_assert(is_good(key, token));
    cr_assert_not(is_good(wrong, token));

    char *payload = strchr(token, '.') + 5; /* one character of the claims' text */
    char before = *payload;
    *payload = before == 'A' ? 'B' : 'A';
    struct hl_jwt jwt;
    if (!hl_jwt_read(hl_str_from(token), &jwt)) {
        cr_assert_not(hl_verify(key, &jwt));
        hl_jwt_fini(&jwt);
    }
    *payload = before;

    cr_assert_eq(hl_jwt_read(hl_str_from(token), &jwt), HL_REFUSAL_NONE);
    for (size_t i = 0; i < jwt.signature_n; i += 7) {
        jwt.signature[i] ^= 1;
        cr_expect_not(hl_verify(key, &jwt), "bit of byte %zu", i);
        jwt.signature[i] ^= 1;
    }
    jwt.signature_n--;
    cr_expect_not(hl_verify(key, &jwt), "a shorter one");
    jwt.signature_n += 2;
    cr_expect_not(hl_verify(key, &jwt), "a longer one");
    jwt.signature_n = 0;
    cr_expect_not(hl_verify(key, &jwt), "an empty one");
    hl_jwt_fini(&jwt);
    hl_verify_key_release(key);
    hl_verify_key_release(wrong);
}

Test(verify, es256_takes_the_right_signature_only)
{
    expect_only_the_right_signature(HL_ALG_ES256, "{\"alg\":\"ES256\"}");
}

Test(verify, rs256_takes_the_right_signature_only)
{
    expect_only_the_right_signature(HL_ALG_RS256, "{\"alg\":\"RS256\"}");
}

Test(verify, hs256_takes_the_right_signature_only)
{
    expect_only_the_right_signature(HL_ALG_HS256, "{\"alg\":\"HS256\"}");
}

Test(verify, es256_refuses_der_zeros_and_numbers_beyond_the_order)
{
    static const uint8_t order[32] = {0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff,
        0xff, 0xff, 0xff, 0xff, 0xbc, 0xe6, 0xfa, 0xad, 0xa7, 0x17, 0x9e, 0x84, 0xf3, 0xb9, 0xca,
        0xc2, 0xfc, 0x63, 0x25, 0x51};
    uint8_t signature[80] = {0x30, 0x45, 0x02, 0x21};
    signer_init(&signer, HL_ALG_ES256);
    struct hl_verify_key *key = signer_key(&signer, "k");
    for (size_t n = 66; n <= 72; n++) {
        token_make_with("{\"alg\":\"ES256\"}", "{}", signature, n, token);
        cr_expect_not(is_good(key, token), "DER of %zu bytes", n);
    }
    memset(signature, 0, sizeof signature); /* CVE-2022-21449: r = s = 0 */
    token_make_with("{\"alg\":\"ES256\"}", "{}", signature, 64, token);
    cr_expect_not(is_good(key, token), "zeros");
    memcpy(signature, order, 32);
    memcpy(signature + 32, order, 32);
    token_make_with("{\"alg\":\"ES256\"}", "{}", signature, 64, token);
    cr_expect_not(is_good(key, token), "the order");
    hl_verify_key_release(key);
}

Test(verify, the_key_decides_the_algorithm)
{
    signer_init(&signer, HL_ALG_RS256);
    signer_init(&other, HL_ALG_HS256);
    struct hl_verify_key *key = signer_key(&signer, "k");
    /* The public key as a secret: what makes a public key a password where the token may choose. */
    struct hl_verify_key *confused =
        hl_verify_key_new(HL_ALG_HS256, HL_STR("k"), key->bytes, key->n);
    token_make(&other, "{\"alg\":\"HS256\",\"kid\":\"k\"}", "{}", token);
    cr_expect_not(is_good(key, token));
    cr_expect_not(is_good(confused, token));
    token_make(&signer, "{\"alg\":\"HS256\",\"kid\":\"k\"}", "{}", token);
    cr_expect_not(is_good(key, token), "its own signature under another name");
    hl_verify_key_release(confused);
    hl_verify_key_release(key);
}
