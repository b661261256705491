/* jwks.h - a JSON Web Key Set (RFC 7517) as keys. */
#ifndef HL_AUTH_JWKS_H
#define HL_AUTH_JWKS_H

#include "base/compiler.h"
#include "base/err.h"

struct hl_key_list;
struct hl_str;

#define HL_JWKS_MAX (256 * 1024) /* bytes of a set */

/* Reads a set. Keys that cannot be used here are passed over and counted in `*ignored`: other types
 * or algorithms, symmetric ones (a set may be public), for encryption, of a bad size, beyond
 * HL_KEYS_MAX. HL_ERR_INVALID: it is not a key set. HL_ERR_NOMEM. On failure `out` is empty. */
HL_MUST_CHECK enum hl_err hl_jwks_read(
    struct hl_str text, struct hl_key_list *out, unsigned *ignored);

#endif
