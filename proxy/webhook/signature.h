/* signature.h - what proves to a receiver where a delivery comes from (contract 5): the
 * same signed content, `id.timestamp.body`, under two schemes. Fed in slices, so that the body's
 * size never matters. */
#ifndef HL_WEBHOOK_SIGNATURE_H
#define HL_WEBHOOK_SIGNATURE_H

#include <mbedtls/md.h>
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

struct hl_signature {
    mbedtls_md_context_t plain, standard;
    bool has_two_keys; /* only a whsec_ secret gives two different keys */
};

/* Takes in the secret and `id.timestamp.`; the secret is not needed afterwards. INVALID: over the
 * maximum, or bad base64 after whsec_. NOMEM. On failure there is nothing to end. */
HL_MUST_CHECK enum hl_err hl_signature_init(
    struct hl_signature *s, struct hl_str secret, const struct hl_id *run_id, int64_t unix_s);
void hl_signature_feed(struct hl_signature *s, const char *p, size_t n);
void hl_signature_end(struct hl_signature *s, struct hl_signature_text *out);
void hl_signature_fini(struct hl_signature *s);

#endif
