/* token_cache.h - tokens whose signature one thread has already verified. */
#ifndef HL_AUTH_TOKEN_CACHE_H
#define HL_AUTH_TOKEN_CACHE_H

#include "auth/principal.h"

struct hl_outsider;
struct hl_str;
struct hl_verify_key;

#define HL_TOKEN_CACHE_SETS  1024
#define HL_TOKEN_CACHE_WAYS  4
#define HL_TOKEN_CACHE_BYTES (4 * 1024 * 1024) /* of one thread, at most */

/* One allocation: the struct, the principal's texts, the token. */
struct hl_good_token {
    struct hl_verify_key *key;        /* a reference: what it signed is good as long as it is */
    struct hl_known_account *account; /* NULL: not an account's */
    struct hl_outsider *outsider;     /* from outside, where such tokens have limits; else NULL */
    uint32_t generation;              /* what the outsider's was */
    struct hl_principal who;          /* its texts are behind the struct */
    int64_t refused_from_ms;          /* expiry with leeway, wall time */
    int64_t use_noted_ms; /* when the account's or the outsider's use was last noted from here */
    uint64_t used;        /* the cache's tick at the last hit */
    const char *token;
    size_t token_n;
    size_t size; /* of the allocation */
};

/* Copies all texts, takes a reference to the key. NULL: out of memory. */
struct hl_good_token *hl_good_token_new(
    struct hl_str token, const struct hl_principal *who, struct hl_verify_key *key);

/* One thread owns it. */
struct hl_token_cache {
    struct hl_good_token *(*sets)[HL_TOKEN_CACHE_WAYS]; /* NULL until the first token */
    uint64_t seed[2];                                   /* nobody can aim at a set */
    uint64_t tick;
    size_t bytes, hand;
};

void hl_token_cache_init(struct hl_token_cache *cache);
void hl_token_cache_fini(struct hl_token_cache *cache);

/* The very same token, all of its bytes compared, in a time that does not tell how many are the same;
 * NULL: not here. Valid until the next put or drop. */
struct hl_good_token *hl_token_cache_find(struct hl_token_cache *cache, struct hl_str token);
/* Takes it; others may have to go. False: out of memory, and it is freed. */
bool hl_token_cache_put(struct hl_token_cache *cache, struct hl_good_token *good);
void hl_token_cache_drop(struct hl_token_cache *cache, struct hl_good_token *good);

#endif
