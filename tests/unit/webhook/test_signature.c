/* test_signature.c - both schemes against values that were computed before with Python 3.11:
 *   hmac.new(secret, content, hashlib.sha256).hexdigest()
 *   base64.b64encode(hmac.new(key, content, hashlib.sha256).digest())
 * with content = b"<run id>.1700000000." + body, and key = base64.b64decode(secret[6:]) after
 * "whsec_", else secret. The first hex value was checked with `openssl dgst -sha256 -hmac s3cret`
 * too. */
#include "base/id.h"
#include "base/str.h"
#include "webhook/signature.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#define RUN_ID  "0193b5a0-0000-7000-8000-000000000001"
#define UNIX_S  1700000000
#define BODY    "{\"hello\":\"w\xc3\xb6rld\"}"
#define BIG_LEN (300 * 1024)

static struct hl_id run_id;

static void setup(void)
{
    cr_assert(hl_id_parse(HL_STR(RUN_ID), &run_id));
}

TestSuite(signature, .init = setup);

static struct hl_signature_text sign(struct hl_str secret, struct hl_str body, size_t slice)
{
    struct hl_signature s;
    struct hl_signature_text text;
    cr_assert_eq(hl_signature_init(&s, secret), HL_OK);
    hl_signature_begin(&s, &run_id, UNIX_S);
    for (size_t at = 0; at < body.n; at += slice)
        hl_signature_feed(&s, body.p + at, body.n - at < slice ? body.n - at : slice);
    hl_signature_end(&s, &text);
    hl_signature_fini(&s);
    return text;
}

Test(signature, equals_what_other_implementations_compute)
{
    static const struct {
        const char *secret, *hex, *base64;
    } vectors[] = {
        {"s3cret", "f8a610efd8380cd7dcfb93ea0ee535c49fd06f3615745941467b92a46785f654",
            "+KYQ79g4DNfc+5PqDuU1xJ/QbzYVdFlBRnuSpGeF9lQ="},
        {"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            "77b802091dbf241801b01904b08d3c9ade806a4762a7e67e8c5ddbc6915baa19",
            "g17cJCFZt8Fzw2rFkdGM24cOLA94afGeYUfLAkFUrU4="},
        {"whsec_c2VjcmV0", "addb8f0dccb34afaa6e8914e4a120cfd5b1330130cdaeea8e1eb57bc64b13c54",
            "irnXdnaAc5OlB5TFUlWFQBeBwoLGme6kg5Ekxqfd9xM="},
        {"\xff\xfe bytes", "1a12ee67ad2a1795355bd22480264b1de4f2684e242b6be2683bc60ff7cb5718",
            "GhLuZ60qF5U1W9IkgCZLHeTyaE4kK2viaDvGD/fLVxg="},
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(vectors); i++) {
        for (size_t slice = 1; slice < 32; slice += 6) {
            struct hl_signature_text text =
                sign(hl_str_from(vectors[i].secret), HL_STR(BODY), slice);
            cr_assert_str_eq(text.hex, vectors[i].hex);
            cr_assert_str_eq(text.base64, vectors[i].base64);
        }
    }
}

Test(signature, takes_a_secret_of_the_largest_size_and_no_larger)
{
    char secret[HL_SIGNATURE_SECRET_MAX + 1];
    memset(secret, 'k', sizeof secret);
    struct hl_signature_text text =
        sign((struct hl_str){secret, HL_SIGNATURE_SECRET_MAX}, HL_STR(BODY), 5);
    cr_assert_str_eq(text.hex, "23da3e2a3279d9a0240e954d99434da2d333c6a187aabccc9d4c7d01f89fbbdf");
    struct hl_signature s;
    cr_assert_eq(hl_signature_init(&s, (struct hl_str){secret, sizeof secret}), HL_ERR_INVALID);
}

Test(signature, of_a_copy_is_that_of_its_secret_each_time)
{
    static const char *const secrets[] = {"s3cret", "whsec_c2VjcmV0"};
    for (size_t i = 0; i < HL_ARRAY_LEN(secrets); i++) {
        struct hl_signature keyed, s;
        struct hl_signature_text text, expected = sign(hl_str_from(secrets[i]), HL_STR(BODY), 100);
        cr_assert_eq(hl_signature_init(&keyed, hl_str_from(secrets[i])), HL_OK);
        for (int turn = 0; turn < 3; turn++) {
            hl_signature_copy(&s, &keyed);
            hl_signature_begin(&s, &run_id, UNIX_S);
            hl_signature_feed(&s, BODY, sizeof(BODY) - 1);
            hl_signature_end(&s, &text);
            hl_signature_fini(&s);
            cr_assert_str_eq(text.hex, expected.hex);
            cr_assert_str_eq(text.base64, expected.base64);
        }
        hl_signature_fini(&keyed);
    }
}

Test(signature, hashes_a_large_body_in_slices)
{
    char *big = malloc(BIG_LEN);
    for (size_t i = 0; i < BIG_LEN; i++)
        big[i] = (char)(i * 7 + 3);
    struct hl_str body = {big, BIG_LEN};
    for (size_t slice = 1000; slice <= BIG_LEN; slice *= 20)
        cr_assert_str_eq(sign(HL_STR("s3cret"), body, slice).hex,
            "4888c0fe5054dda46cdf31d89ba811e7c717c9214bfffeb29aeef6572f3c9bc9");
    cr_assert_str_eq(sign(HL_STR("whsec_c2VjcmV0"), body, 4096).base64,
        "YBKNXCn123GtZ6/u8AuiD9HhKZOVdJOAzzCHez3WSH4=");
    free(big);
}

Test(signature, refuses_bad_base64_after_whsec)
{
    static const struct {
        const char *secret;
        bool is_valid;
    } rows[] = {{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", true}, {"whsec_Zg", false},
        {"whsec_Zg==", true}, {"whsec_", false}, {"whsec_*", false}, {"whsec_A", false},
        {"whsec", true}, {"x", true}, {"", false}};
    for (size_t i = 0; i < HL_ARRAY_LEN(rows); i++) {
        struct hl_signature s;
        struct hl_str secret = hl_str_from(rows[i].secret);
        enum hl_err err = hl_signature_init(&s, secret);
        cr_assert_eq(err == HL_OK, rows[i].is_valid, "%s", rows[i].secret);
        if (err == HL_OK)
            hl_signature_fini(&s);
    }
}
