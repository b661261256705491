/* digest.h - what tells whether a body at rest is still what was written.
 *
 * Of a file it is the SHA-256 of its bytes. Of bytes in a row, which the database reads and writes with the row, eight
 * bytes of SipHash are enough: they find what a disk or memory has changed, at a fourteenth of the price. Neither is
 * keyed, so neither stops somebody who can write to the store. Which one it is can be seen: after a short one stand zeros. */
#ifndef HL_STORE_DIGEST_H
#define HL_STORE_DIGEST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

#define HL_DIGEST_SIZE 32 /* SHA-256 */

void hl_digest_sha256(struct hl_str bytes, uint8_t out[HL_DIGEST_SIZE]);
void hl_digest_short(struct hl_str bytes, uint8_t out[HL_DIGEST_SIZE]);
/* Of either kind. */
bool hl_digest_fits(const uint8_t digest[HL_DIGEST_SIZE], struct hl_str bytes);

#endif
