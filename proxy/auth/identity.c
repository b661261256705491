/* identity.c - see identity.h. */
#include "auth/identity.h"

#include <mbedtls/sha256.h>
#include <string.h>

#include "base/base64.h"

#define DIGEST_BYTES 8 /* of the issuer's: nobody can choose one that is another's */

static size_t add(char *room, size_t n, struct hl_str text)
{
    if (text.n > 0)
        memcpy(room + n, text.p, text.n);
    return n + text.n;
}

static size_t add_issuer(char *room, struct hl_str issuer)
{
    uint8_t digest[32];
    mbedtls_sha256_ret((const unsigned char *)(issuer.n > 0 ? issuer.p : ""), issuer.n, digest, 0);
    hl_hex_write(room, digest, DIGEST_BYTES);
    return add(room, 2 * DIGEST_BYTES, HL_STR(":"));
}

struct hl_str hl_identity_write(const struct hl_claims *claims, char room[HL_IDENTITY_MAX])
{
    size_t n;
    if (!hl_id_is_nil(&claims->account)) {
        hl_id_format(&claims->account, room);
        return (struct hl_str){room, HL_ID_TEXT};
    }
    n = claims->is_own ? add(room, 0, HL_STR("session:")) : add_issuer(room, claims->issuer);
    n = add(room, n, claims->subject);
    return (struct hl_str){room, n};
}

struct hl_str hl_identity_subject(struct hl_str identity)
{
    const char *colon = identity.n > 0 ? memchr(identity.p, ':', identity.n) : NULL;
    size_t before = colon ? (size_t)(colon - identity.p) + 1 : 0;
    return (struct hl_str){identity.p + before, identity.n - before};
}
