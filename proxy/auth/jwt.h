/* jwt.h - a JWT's form (RFC 7515, 7519), read strictly: three parts of base64url, two JSON objects
 * with unique names, one of three algorithms. Does not say whether it can be trusted. */
#ifndef HL_AUTH_JWT_H
#define HL_AUTH_JWT_H

#include <jansson.h>

#include "base/compiler.h"
#include "base/str.h"
#include "http/refusal.h"

#define HL_JWT_KID_MAX       256
#define HL_JWT_SIGNATURE_MAX 512 /* RSA of 4,096 bits */
#define HL_JWT_DEPTH_MAX     16  /* objects and arrays inside each other */

#define HL_ALG_MAP(X)                                                                              \
    X(ES256, "ES256")                                                                              \
    X(RS256, "RS256")                                                                              \
    X(HS256, "HS256")

enum hl_alg {
#define X(name, text) HL_ALG_##name,
    HL_ALG_MAP(X)
#undef X
};

struct hl_jwt {
    struct hl_str signed_part; /* of the token: header and payload with the dot between them */
    enum hl_alg alg;           /* as the token says: to be compared with its key's, no more */
    bool has_kid;
    size_t kid_n;
    char kid[HL_JWT_KID_MAX];
    uint8_t signature[HL_JWT_SIGNATURE_MAX];
    size_t signature_n;
    json_t *claims; /* an object; owned */
};

/* Reads a token. NONE: it is well-formed, and `jwt` wants hl_jwt_fini; else what is wrong with it, and
 * nothing is owned. Borrows the token, which may be as long as the head that it was in. */
HL_MUST_CHECK enum hl_refusal_cause hl_jwt_read(struct hl_str token, struct hl_jwt *jwt);
void hl_jwt_fini(struct hl_jwt *jwt);

/* A JSON object of bounded depth, each name once, or NULL. The caller owns it. For key sets too. */
json_t *hl_strict_json(struct hl_str text);

#endif
