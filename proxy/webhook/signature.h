/* signature.h - what proves to a receiver where a delivery comes from (contract 5): the
 * same signed content, `id.timestamp.body`, under two schemes. Fed in slices, so that the body's
 * size never matters. */
#ifndef HL_WEBHOOK_SIGNATURE_H
#define HL_WEBHOOK_SIGNATURE_H

#include <mbedtls/sha256.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err.h"

struct hl_id;
struct hl_str;

#define HL_SIGNATURE_SECRET_MAX 1024 /* longer ones are refused at the call (contract 5) */

#define HL_SIGNATURE_HEX    64
#define HL_SIGNATURE_BASE64 44

struct hl_signature_text {
    char hex[HL_SIGNATURE_HEX +
             1]; /* X-…-Webhook-Signature, after "v1,": keyed with the secret as it stands */
    char base64[HL_SIGNATURE_BASE64 +
                1]; /* webhook-signature, after "v1,": keyed as Standard Webhooks does */
};

/* HMAC-SHA256 (RFC 2104): what the key makes of both hashes is the same for all that is signed with it. Not
 * mbedtls_md_hmac_starts, which hashes it anew for each. */
struct hl_hmac {
    mbedtls_sha256_context inner, outer;
};

struct hl_signature {
    struct hl_hmac plain, standard;
    bool has_two_keys; /* only a whsec_ secret gives two different keys */
};

/* Takes in the secret, which is not needed afterwards. INVALID: empty, over the maximum, or bad base64 after whsec_;
 * then there is nothing to end. */
HL_MUST_CHECK enum hl_err hl_signature_init(struct hl_signature *s, struct hl_str secret);
/* Another one with the same secret; `keyed` has taken in nothing else. */
void hl_signature_copy(struct hl_signature *s, const struct hl_signature *keyed);
/* Takes in `id.timestamp.`; the body follows. */
void hl_signature_begin(struct hl_signature *s, const struct hl_id *run_id, int64_t unix_s);
void hl_signature_feed(struct hl_signature *s, const char *p, size_t n);
void hl_signature_end(struct hl_signature *s, struct hl_signature_text *out);
void hl_signature_fini(struct hl_signature *s);

#endif
