/* verify_key.c - one key that tokens are checked with. Any thread.
 * Not here: where keys come from (jwks.c, issuer.c), checking with them (verify.c). */
#include "auth/verify_key.h"

#include <stdlib.h>

static _Atomic uint64_t serials;

struct hl_verify_key *hl_verify_key_new(
    enum hl_alg alg, struct hl_str kid, const void *bytes, size_t n)
{
    struct hl_verify_key *key = calloc(1, sizeof(*key));
    uint8_t *copy = malloc(n);
    if (!key || !copy || kid.n > sizeof key->kid) {
        free(key);
        free(copy);
        return NULL;
    }
    memcpy(copy, bytes, n);
    key->alg = alg;
    key->bytes = copy;
    key->n = n;
    key->has_kid = kid.p != NULL;
    key->kid_n = kid.n;
    if (kid.n > 0)
        memcpy(key->kid, kid.p, kid.n);
    key->serial = atomic_fetch_add_explicit(&serials, 1, memory_order_relaxed) + 1;
    atomic_init(&key->references, 1);
    return key;
}

struct hl_verify_key *hl_verify_key_hold(struct hl_verify_key *key)
{
    atomic_fetch_add_explicit(&key->references, 1, memory_order_relaxed);
    return key;
}

void hl_verify_key_release(struct hl_verify_key *key)
{
    if (!key || atomic_fetch_sub_explicit(&key->references, 1, memory_order_acq_rel) > 1)
        return;
    explicit_bzero(key->bytes, key->n);
    free(key->bytes);
    free(key);
}

bool hl_verify_key_eq(const struct hl_verify_key *a, const struct hl_verify_key *b)
{
    return a->alg == b->alg && a->is_own == b->is_own && a->has_kid == b->has_kid &&
           a->kid_n == b->kid_n && memcmp(a->kid, b->kid, a->kid_n) == 0 && a->n == b->n &&
           memcmp(a->bytes, b->bytes, a->n) == 0 && a->exponent_n == b->exponent_n &&
           memcmp(a->exponent, b->exponent, a->exponent_n) == 0;
}
