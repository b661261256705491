/* token.h - tokens as the tests need them: good ones and every kind of bad one. Keys are made when a
 * test runs. */
#ifndef TEST_AUTH_TOKEN_H
#define TEST_AUTH_TOKEN_H

#include <mbedtls/ecp.h>
#include <mbedtls/rsa.h>

#include "auth/jwt.h"

#define TOKEN_MAX 32768

/* Whoever signs. */
struct signer {
    enum hl_alg alg;
    mbedtls_ecp_keypair ec;
    mbedtls_rsa_context rsa;
    char secret[64]; /* HS256: NUL-terminated */
};

void signer_init(struct signer *signer, enum hl_alg alg);
void signer_fini(struct signer *signer);
/* What its tokens are checked with; with one reference. `kid` may be NULL. */
struct hl_verify_key *signer_key(const struct signer *signer, const char *kid);
/* The public key as one member of a JWKS, with these further members (`,"use":"sig"`). */
void signer_jwk(
    const struct signer *signer, const char *kid, const char *more, char *out, size_t cap);

/* Writes header and claims, given as JSON, signed by `signer` with its own algorithm, whatever the
 * header says. The token, NUL-terminated, in `out` of TOKEN_MAX bytes. */
void token_make(const struct signer *signer, const char *header, const char *claims, char *out);
/* The same with a signature of the test's own. */
void token_make_with(
    const char *header, const char *claims, const void *signature, size_t n, char *out);

int token_random(void *none, unsigned char *out, size_t n);

#endif
