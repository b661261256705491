/* verify_key.h - one key that tokens are checked with, and the check. */
#ifndef HL_AUTH_VERIFY_KEY_H
#define HL_AUTH_VERIFY_KEY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "auth/jwt.h"

struct hl_jwt;

/* ---- one key that tokens are checked with. Its algorithm is its own: no token has a say.
 * Never changes after it was made; shared by reference between threads ---- */

#define HL_P256_SIZE 32 /* bytes of a coordinate, of r and of s */

struct hl_verify_key {
    enum hl_alg alg;
    bool is_own; /* hookline's: tokens of service accounts */
    bool has_kid;
    size_t kid_n;
    char kid[HL_JWT_KID_MAX];
    uint8_t *bytes; /* ES256: x and y; RS256: the modulus; HS256: the secret. Owned */
    size_t n;
    uint8_t exponent[4]; /* RS256, without leading zeros */
    size_t exponent_n;

    uint64_t serial; /* no other key of this process has had it; from 1 */
    _Atomic uint32_t references;
    _Atomic bool is_retired; /* it left the set: what it signed is good no more */
};

/* With one reference. `bytes` are copied. NULL: out of memory. */
struct hl_verify_key *hl_verify_key_new(
    enum hl_alg alg, struct hl_str kid, const void *bytes, size_t n);
struct hl_verify_key *hl_verify_key_hold(struct hl_verify_key *key); /* returns `key` */
void hl_verify_key_release(struct hl_verify_key *key); /* NULL-safe; wipes it with the last one */
/* The same algorithm, name and key. */
bool hl_verify_key_eq(const struct hl_verify_key *a, const struct hl_verify_key *b);

/* ---- signatures ---- */

/* `jwt` was read from a token, and its algorithm is the key's. About 1.4 ms for ES256, 0.1 for RS256:
 * not on a worker's loop. Any thread. */
bool hl_verify(const struct hl_verify_key *key, const struct hl_jwt *jwt);

/* Whether it is a point of P-256: on the curve, not at infinity. `xy`: 64 bytes. */
bool hl_is_p256_point(const uint8_t *xy);

#endif
