/* test_digest.c - bodies at rest: either digest finds what has changed. */
#include "store/digest.h"

#include <criterion/criterion.h>
#include <string.h>

typedef void make(struct hl_str bytes, uint8_t out[HL_DIGEST_SIZE]);
static make *const kinds[] = {hl_digest_sha256, hl_digest_short};

#define EACH_KIND(kind)                                                                            \
    for (make *const *(kind) = kinds; (kind) < kinds + sizeof(kinds) / sizeof(kinds[0]); (kind)++)

Test(digest, fits_what_it_was_made_of)
{
    char bytes[100];
    memset(bytes, 'b', sizeof(bytes));
    EACH_KIND(kind)
    for (size_t n = 0; n <= sizeof(bytes); n++) {
        uint8_t digest[HL_DIGEST_SIZE];
        (*kind)((struct hl_str){bytes, n}, digest);
        cr_assert(hl_digest_fits(digest, (struct hl_str){bytes, n}), "%zu", n);
    }
}

Test(digest, finds_each_bit_that_has_changed)
{
    char bytes[40] = "a body that is kept, and read again";
    struct hl_str body = {bytes, sizeof(bytes)};
    EACH_KIND(kind)
    {
        uint8_t digest[HL_DIGEST_SIZE];
        (*kind)(body, digest);
        for (size_t bit = 0; bit < 8 * sizeof(bytes); bit++) {
            bytes[bit / 8] ^= (char)(1 << bit % 8);
            cr_assert_not(hl_digest_fits(digest, body), "bit %zu", bit);
            bytes[bit / 8] ^= (char)(1 << bit % 8);
        }
        for (size_t bit = 0; bit < 8 * sizeof(digest); bit++) {
            digest[bit / 8] ^= (uint8_t)(1 << bit % 8);
            cr_assert_not(hl_digest_fits(digest, body), "bit %zu of the digest", bit);
            digest[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
    }
}

Test(digest, finds_bytes_that_are_missing_or_too_many)
{
    static const char zeros[64];
    EACH_KIND(kind)
    {
        uint8_t digest[HL_DIGEST_SIZE];
        (*kind)((struct hl_str){zeros, 32}, digest);
        for (size_t n = 0; n <= sizeof(zeros); n++)
            cr_assert_eq(hl_digest_fits(digest, (struct hl_str){zeros, n}), n == 32, "%zu", n);
    }
}

Test(digest, none_fits_nothing)
{
    uint8_t none[HL_DIGEST_SIZE] = {0};
    cr_assert_not(hl_digest_fits(none, HL_STR("")));
    cr_assert_not(hl_digest_fits(none, HL_STR("bytes")));
}
