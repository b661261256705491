/* verify.h - is this signature the key's over these bytes? */
#ifndef HL_AUTH_VERIFY_H
#define HL_AUTH_VERIFY_H

#include <stdbool.h>
#include <stdint.h>

struct hl_jwt;
struct hl_verify_key;

/* `jwt` was read from a token, and its algorithm is the key's. About 1.4 ms for ES256, 0.1 for RS256:
 * not on a worker's loop. Any thread. */
bool hl_verify(const struct hl_verify_key *key, const struct hl_jwt *jwt);

/* Whether it is a point of P-256: on the curve, not at infinity. `xy`: 64 bytes. */
bool hl_is_p256_point(const uint8_t *xy);

#endif
