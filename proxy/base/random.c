/* random.c - bytes from the kernel's generator; SipHash-2-4. Any thread; no state. */
#include "base/random.h"

#include <errno.h>
#include <sys/random.h>
#include <sys/types.h>

#include "base/assert.h"
#include "base/str.h"

void hl_random_fill(void *out, size_t n)
{
    char *p = out;
    while (n > 0) {
        ssize_t got = getrandom(p, n, 0);
        if (got < 0 && errno == EINTR)
            continue;
        HL_ASSERT(got > 0);
        p += got;
        n -= (size_t)got;
    }
}

/* ---- SipHash-2-4 (Aumasson, Bernstein 2012): a short keyed hash that nobody without the key can find
 * collisions for. For tables that strangers fill ---- */

static inline uint64_t rotate(uint64_t v, unsigned bits)
{
    return v << bits | v >> (64 - bits);
}

static inline void mix(uint64_t v[4])
{
    v[0] += v[1];
    v[1] = rotate(v[1], 13) ^ v[0];
    v[0] = rotate(v[0], 32);
    v[2] += v[3];
    v[3] = rotate(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = rotate(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = rotate(v[1], 17) ^ v[2];
    v[2] = rotate(v[2], 32);
}

static void absorb(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    mix(v);
    mix(v);
    v[0] ^= word;
}

uint64_t hl_siphash(const uint64_t key[2], struct hl_str text)
{
    uint64_t v[4] = {key[0] ^ UINT64_C(0x736f6d6570736575), key[1] ^ UINT64_C(0x646f72616e646f6d),
        key[0] ^ UINT64_C(0x6c7967656e657261), key[1] ^ UINT64_C(0x7465646279746573)};
    size_t i = 0;
    for (; i + 8 <= text.n; i += 8) {
        uint64_t word;
        memcpy(&word, text.p + i, sizeof(word));
        absorb(v, le64toh(word));
    }
    uint64_t last = (uint64_t)text.n << 56;
    for (unsigned k = 0; i + k < text.n; k++)
        last |= (uint64_t)(unsigned char)text.p[i + k] << (8 * k);
    absorb(v, last);
    v[2] ^= 0xff;
    for (unsigned k = 0; k < 4; k++)
        mix(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}
