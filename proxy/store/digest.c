/* digest.c - see digest.h. Any thread; no state. */
#include "store/digest.h"

#include <mbedtls/sha256.h>
#include <string.h>

#include "base/random.h"

void hl_digest_sha256(struct hl_str bytes, uint8_t out[HL_DIGEST_SIZE])
{
    mbedtls_sha256_ret((const unsigned char *)bytes.p, bytes.n, out, 0);
}

void hl_digest_short(struct hl_str bytes, uint8_t out[HL_DIGEST_SIZE])
{
    static const uint64_t no_key[2];
    uint64_t sum = hl_siphash(no_key, bytes);
    memset(out, 0, HL_DIGEST_SIZE);
    for (unsigned i = 0; i < sizeof(sum); i++)
        out[i] = (uint8_t)(sum >> (8 * i));
}

static bool is_short(const uint8_t digest[HL_DIGEST_SIZE])
{
    static const uint8_t zeros[HL_DIGEST_SIZE - sizeof(uint64_t)];
    return memcmp(digest + sizeof(uint64_t), zeros, sizeof(zeros)) == 0;
}

bool hl_digest_fits(const uint8_t digest[HL_DIGEST_SIZE], struct hl_str bytes)
{
    uint8_t seen[HL_DIGEST_SIZE];
    if (is_short(digest))
        hl_digest_short(bytes, seen);
    else
        hl_digest_sha256(bytes, seen);
    return memcmp(seen, digest, sizeof(seen)) == 0;
}
