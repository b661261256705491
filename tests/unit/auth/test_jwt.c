/* test_jwt.c - the form of a token: what is one, and all that only looks like one. */
#include "auth/jwt.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "token.h"

#define HEADER "{\"alg\":\"ES256\",\"kid\":\"k\"}"

static char token[TOKEN_MAX];
static uint8_t signature[64] = {1};

static bool reads(const char *text)
{
    struct hl_jwt jwt;
    enum hl_refusal_cause fault = hl_jwt_read(hl_str_from(text), &jwt);
    if (!fault)
        hl_jwt_fini(&jwt);
    return !fault;
}

static bool reads_parts(const char *header, const char *claims)
{
    token_make_with(header, claims, signature, sizeof signature, token);
    return reads(token);
}

Test(jwt, takes_header_claims_and_signature_apart)
{
    struct hl_jwt jwt;
    token_make_with(HEADER, "{\"exp\":1}", signature, sizeof signature, token);
    cr_assert_eq(hl_jwt_read(hl_str_from(token), &jwt), HL_REFUSAL_NONE);
    cr_assert_eq(jwt.alg, HL_ALG_ES256);
    cr_assert(jwt.has_kid && jwt.kid_n == 1 && jwt.kid[0] == 'k');
    cr_assert_eq(jwt.signature_n, sizeof signature);
    cr_assert_arr_eq(jwt.signature, signature, sizeof signature);
    cr_assert_eq(json_integer_value(json_object_get(jwt.claims, "exp")), 1);
    cr_assert_eq(jwt.signed_part.n, (size_t)(strrchr(token, '.') - token));
    hl_jwt_fini(&jwt);
}

Test(jwt, knows_three_algorithms_and_no_other_spelling)
{
    static const char *const good[] = {"ES256", "RS256", "HS256"};
    static const char *const bad[] = {"none", "None", "NONE", "nOnE", "", "es256", "ES256 ",
        "ES384", "ES512", "RS384", "RS512", "PS256", "HS384", "HS512", "EdDSA", "HS256\\u0000",
        "ES256K"};
    char header[64];
    for (size_t i = 0; i < HL_ARRAY_LEN(good); i++) {
        snprintf(header, sizeof header, "{\"alg\":\"%s\"}", good[i]);
        cr_expect(reads_parts(header, "{}"), "%s", good[i]);
    }
    for (size_t i = 0; i < HL_ARRAY_LEN(bad); i++) {
        snprintf(header, sizeof header, "{\"alg\":\"%s\"}", bad[i]);
        cr_expect_not(reads_parts(header, "{}"), "%s", bad[i]);
    }
}

Test(jwt, refuses_headers_that_say_too_little_or_too_much)
{
    static const char *const bad[] = {"{}", "[]", "\"ES256\"", "", "null", "{\"alg\":256}",
        "{\"alg\":null}", "{\"alg\":[\"ES256\"]}", "{\"alg\":\"ES256\",\"alg\":\"ES256\"}",
        "{\"alg\":\"ES256\",\"\\u0061lg\":\"HS256\"}", "{\"alg\":\"ES256\",\"kid\":7}",
        "{\"alg\":\"ES256\",\"crit\":[]}", "{\"alg\":\"ES256\",\"crit\":[\"exp\"]}",
        "{\"alg\":\"ES256\",\"crit\":null}", "{\"alg\":\"ES256\"}x",
        "\xef\xbb\xbf{\"alg\":\"ES256\"}", "{\"alg\":\"ES256\",}", "{'alg':'ES256'}",
        "{\"alg\":\"ES256\\u0000\"}", "{\"alg\":\"ES256\",\"x\":\"\xff\"}"};
    cr_assert(reads_parts("{\"alg\":\"ES256\",\"typ\":\"JWT\",\"x5t\":\"a\"}", "{}"));
    for (size_t i = 0; i < HL_ARRAY_LEN(bad); i++)
        cr_expect_not(reads_parts(bad[i], "{}"), "%s", bad[i]);
}

Test(jwt, refuses_claims_with_a_name_twice_at_any_depth)
{
    cr_expect(reads_parts(HEADER, "{\"a\":{\"b\":1},\"b\":2}"));
    cr_expect_not(reads_parts(HEADER, "{\"a\":1,\"a\":1}"));
    cr_expect_not(reads_parts(HEADER, "{\"project_id\":\"p\",\"project\\u005fid\":\"q\"}"));
    cr_expect_not(reads_parts(HEADER, "{\"a\":[{\"b\":1,\"b\":2}]}"));
    cr_expect_not(reads_parts(HEADER, "[]"));
    cr_expect_not(reads_parts(HEADER, "1"));
}

Test(jwt, ignores_what_need_not_be_understood_whatever_its_value)
{
    static const char *const values[] = {"9223372036854775808", "-99999999999999999999999", "1e400",
        "-1e999", "1e-999", "\"\\u0000\"", "\"a\\u0000b\"", "\"\\ud800\"", "\"\\udc00\\ud800x\"",
        "[{\"a\\u0000\":1e400}]", "{\"\\ud83d\\ude00\":\"\\ud83d\\ude00\"}"};
    char text[128];
    for (size_t i = 0; i < HL_ARRAY_LEN(values); i++) {
        snprintf(text, sizeof text, "{\"alg\":\"ES256\",\"x\":%s}", values[i]);
        cr_expect(reads_parts(text, "{}"), "%s", text);
        snprintf(text, sizeof text, "{\"x\" : %s,\"y\\u0000\":%s}", values[i], values[i]);
        cr_expect(reads_parts(HEADER, text), "%s", text);
    }
}

Test(jwt, refuses_what_is_nested_too_deep)
{
    char claims[2 * 64 + 16];
    for (unsigned depth = 1; depth < 64; depth++) {
        size_t n = (size_t)snprintf(claims, sizeof claims, "{\"a\":");
        memset(claims + n, '[', depth);
        memset(claims + n + depth, ']', depth);
        strcpy(claims + n + 2 * depth, "}");
        cr_expect_eq(reads_parts(HEADER, claims), depth + 1 <= HL_JWT_DEPTH_MAX, "%u", depth);
    }
    cr_expect(reads_parts(HEADER, "{\"a\":\"[[[[[[[[[[[[[[[[[[[[[[[[\\\"[[[[[[[\"}"));
}

Test(jwt, may_be_as_long_as_the_head_that_it_is_in)
{
    static char claims[TOKEN_MAX / 2 - 1024];
    for (size_t n = 1000; n < sizeof claims; n += 997) {
        memset(claims, 'x', n);
        memcpy(claims, "{\"a\":\"", 6);
        memcpy(claims + n - 2, "\"}", 3);
        cr_assert(reads_parts(HEADER, claims), "%zu", n);
    }
}

Test(jwt, refuses_signatures_that_are_longer_than_any)
{
    static uint8_t bytes[HL_JWT_SIGNATURE_MAX + 5] = {1};
    for (size_t n = 1; n <= sizeof bytes; n++) {
        token_make_with(HEADER, "{}", bytes, n, token);
        cr_expect_eq(reads(token), n <= HL_JWT_SIGNATURE_MAX, "%zu", n);
    }
}

Test(jwt, refuses_anything_but_three_parts_of_base64url)
{
    token_make_with(HEADER, "{}", signature, sizeof signature, token);
    size_t n = strlen(token);
    cr_assert(reads(token));
    for (size_t cut = 0; cut + 1 < n; cut++) { /* a shorter signature is the key's affair */
        if (cut > 2 && strrchr(token, '.') < token + cut - 1)
            break;
        char *start = strndup(token, cut);
        cr_expect_not(reads(start), "%s", start);
        free(start);
    }
    static const char *const bad[] = {"", ".", "..", "...", "a.b", "a.b.c", "a.b.c.d", ".e30.AA",
        "eyJhbGciOiJFUzI1NiJ9..AA", "eyJhbGciOiJFUzI1NiJ9.e30.", "eyJhbGciOiJFUzI1NiJ9.e30.A",
        "eyJhbGciOiJFUzI1NiJ9.e30=.AA",
        "eyJhbGciOiJFUzI1NiJ9.e30.AA==", "eyJhbGciOiJFUzI1NiJ9.e30 .AA",
        "eyJhbGciOiJFUzI1NiJ9.e3\t.AA", "eyJhbGciOiJFUzI1NiJ9.e31.AA" /* bits left over */,
        "eyJhbGciOiJFUzI1NiJ9.e30.A+", "eyJhbGciOiJFUzI1NiJ9.e30.AA.AA.AA"};
    for (size_t i = 0; i < HL_ARRAY_LEN(bad); i++)
        cr_expect_not(reads(bad[i]), "%s", bad[i]);
    cr_expect(reads("eyJhbGciOiJFUzI1NiJ9.e30.AA"));
}

Test(jwt, refuses_names_of_keys_beyond_256_bytes)
{
    char header[512];
    for (int n = 255; n <= 257; n++) {
        snprintf(header, sizeof header, "{\"alg\":\"ES256\",\"kid\":\"%0*d\"}", n, 0);
        cr_expect_eq(reads_parts(header, "{}"), n <= HL_JWT_KID_MAX);
    }
}
