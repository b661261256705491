/* mbedtls3.h - where the library is mbedTLS 3, what the rest is written for: the names and arguments of 2.28.
 * CMakeLists.txt has it included before everything else then, and allows what became private.
 * Not here: how TLS is set up, which differs by what it can do (tls/identity.c). */
#ifndef HL_MBEDTLS3_H
#define HL_MBEDTLS3_H

#include <mbedtls/compat-2.x.h>
#include <mbedtls/pk.h>
#include <mbedtls/rsa.h>

/* For mbedTLS: the kernel's generator. Of tls/identity.c: what asks for it here is in that folder. */
int hl_tls_random(void *unused, unsigned char *out, size_t n);

#define mbedtls_rsa_init(rsa, padding, hash) mbedtls_rsa_init(rsa) /* which are the defaults */
#define mbedtls_rsa_pkcs1_verify(rsa, random, arg, mode, kind, n, hash, signature)                 \
    mbedtls_rsa_pkcs1_verify(rsa, kind, n, hash, signature)
#define mbedtls_rsa_pkcs1_sign(rsa, random, arg, mode, kind, n, hash, signature)                   \
    mbedtls_rsa_pkcs1_sign(rsa, random, arg, kind, n, hash, signature)
#define mbedtls_pk_sign(key, kind, hash, hash_n, signature, n, random, arg)                        \
    mbedtls_pk_sign(key, kind, hash, hash_n, signature, sizeof(signature), n, random, arg)
#define mbedtls_pk_check_pair(public, key) mbedtls_pk_check_pair(public, key, hl_tls_random, NULL)
#define mbedtls_pk_parse_key(key, p, n, password, password_n)                                      \
    mbedtls_pk_parse_key(key, p, n, password, password_n, hl_tls_random, NULL)

#endif
