/* issuer.h - hookline's own signing key (P-256, made at first start) and the tokens it signs: those
 * of service accounts, and short-lived ones for a dashboard's session. */
#ifndef HL_AUTH_ISSUER_H
#define HL_AUTH_ISSUER_H

#include "base/compiler.h"
#include "base/err.h"
#include "base/id.h"
#include "base/str.h"
#include "store/record.h"

struct hl_buf;
struct hl_store;

/* What a token says. */
struct hl_grant {
    struct hl_id account; /* jti and sub; nil: a session, valid until it expires */
    struct hl_str project;
    enum hl_role role;
    int64_t issued_ms, expires_ms;
};

#define HL_SESSION_MAX_MS (3600 * 1000) /* a session cannot be revoked */
#define HL_OWN_ISSUER     "hookline"    /* `iss` */
#define HL_OWN_TOKEN_MAX  1024

struct hl_issuer;

/* Reads the key from the store, or makes one and gives it to the store. Blocks. The memory store
 * keeps none: then it ends with the process. */
HL_MUST_CHECK enum hl_err hl_issuer_open(
    struct hl_issuer **out, struct hl_store *store, char *why, size_t why_len);
void hl_issuer_free(struct hl_issuer *issuer); /* NULL-safe; wipes the key */

/* The public half of a key as the store has it: what it has signed is checked with that. NULL: it is
 * none, or out of memory. One reference. */
struct hl_verify_key *hl_issuer_read_key(const uint8_t *secret, size_t n);

/* Appends the token, ES256. Takes about a millisecond. Any thread. */
HL_MUST_CHECK enum hl_err hl_issuer_sign(
    const struct hl_issuer *issuer, const struct hl_grant *grant, struct hl_buf *out);

/* Tells whether a secret is the same as at another time, and nothing of it to who lacks the key: hexadecimal, and a NUL. */
#define HL_SECRET_MARK 16
void hl_issuer_mark_secret(
    const struct hl_issuer *issuer, struct hl_str secret, char out[HL_SECRET_MARK + 1]);

/* The public half: what such tokens are checked with. Borrowed. */
struct hl_verify_key *hl_issuer_key(const struct hl_issuer *issuer);

#endif
