/* token_cache.c - tokens whose signature was found right.
 * Owns: copies of the tokens. Thread: the one that asks.
 * Promise: finding costs one multiplication and one comparison of the whole token; memory stays
 * under HL_TOKEN_CACHE_BYTES, whoever comes with how many tokens.
 * Not here: whether a token is still good (seat.c). */
#include "auth/token_cache.h"

#include <stdlib.h>

#include "auth/verify_key.h"
#include "base/random.h"

#define SHORTEST 32 /* no signature is shorter */

static void take_copy(struct hl_str *text, char **at)
{
    if (text->n > 0)
        memcpy(*at, text->p, text->n);
    text->p = *at;
    *at += text->n;
}

struct hl_good_token *hl_good_token_new(
    struct hl_str token, const struct hl_principal *who, struct hl_verify_key *key)
{
    size_t texts = who->project.n + who->subject.n + who->identity.n;
    size_t size = sizeof(struct hl_good_token) + texts + token.n;
    struct hl_good_token *good = malloc(size);
    if (!good)
        return NULL;
    char *at = (char *)(good + 1);
    *good = (struct hl_good_token){.who = *who,
        .key = hl_verify_key_hold(key),
        .token = at + texts,
        .token_n = token.n,
        .size = size};
    memcpy(at + texts, token.p, token.n);
    take_copy(&good->who.project, &at);
    take_copy(&good->who.subject, &at);
    take_copy(&good->who.identity, &at);
    return good;
}

static void good_token_free(struct hl_good_token *good)
{
    if (!good)
        return;
    hl_verify_key_release(good->key);
    explicit_bzero(good, good->size);
    free(good);
}

void hl_token_cache_init(struct hl_token_cache *cache)
{
    *cache = (struct hl_token_cache){0};
    hl_random_fill(cache->seed, sizeof cache->seed);
}

void hl_token_cache_fini(struct hl_token_cache *cache)
{
    for (size_t i = 0; cache->sets && i < HL_TOKEN_CACHE_SETS; i++)
        for (size_t k = 0; k < HL_TOKEN_CACHE_WAYS; k++)
            good_token_free(cache->sets[i][k]);
    free(cache->sets);
    cache->sets = NULL;
}

__extension__ typedef unsigned __int128 wide;

/* By the end of the token, which is the end of its signature: as good as random. */
static size_t set_of(const struct hl_token_cache *cache, const char *p, size_t n)
{
    uint64_t tail[2];
    memcpy(tail, p + n - sizeof tail, sizeof tail);
    wide product = (wide)(tail[0] ^ cache->seed[0]) * (tail[1] ^ cache->seed[1]);
    return (size_t)((uint64_t)product ^ (uint64_t)(product >> 64)) % HL_TOKEN_CACHE_SETS;
}

typedef uint64_t block __attribute__((vector_size(16)));

static inline block load(const char *p)
{
    block b;
    memcpy(&b, p, sizeof b);
    return b;
}

/* Sixteen bytes at a time; the last ones overlap. No branch depends on what the bytes are. */
static bool is_same(const char *a, const char *b, size_t n)
{
    block difference = load(a + n - sizeof(block)) ^ load(b + n - sizeof(block));
    for (size_t i = 0; i + sizeof(block) < n; i += sizeof(block))
        difference |= load(a + i) ^ load(b + i);
    return (difference[0] | difference[1]) == 0;
}

struct hl_good_token *hl_token_cache_find(struct hl_token_cache *cache, struct hl_str token)
{
    if (!cache->sets || token.n < SHORTEST)
        return NULL;
    struct hl_good_token **set = cache->sets[set_of(cache, token.p, token.n)];
    for (size_t i = 0; i < HL_TOKEN_CACHE_WAYS; i++) {
        struct hl_good_token *good = set[i];
        if (good && good->token_n == token.n && is_same(good->token, token.p, token.n)) {
            good->used = ++cache->tick;
            return good;
        }
    }
    return NULL;
}

static void clear(struct hl_token_cache *cache, struct hl_good_token **place)
{
    if (!*place)
        return;
    cache->bytes -= (*place)->size;
    good_token_free(*place);
    *place = NULL;
}

/* A free place, or the one that was not used for longest. */
static struct hl_good_token **choose(struct hl_good_token **set)
{
    struct hl_good_token **chosen = &set[0];
    for (size_t i = 0; i < HL_TOKEN_CACHE_WAYS; i++) {
        if (!set[i])
            return &set[i];
        if (set[i]->used < (*chosen)->used)
            chosen = &set[i];
    }
    return chosen;
}

bool hl_token_cache_put(struct hl_token_cache *cache, struct hl_good_token *good)
{
    if (!cache->sets)
        cache->sets = calloc(HL_TOKEN_CACHE_SETS, sizeof *cache->sets);
    if (!cache->sets || good->token_n < SHORTEST) {
        good_token_free(good);
        return false;
    }
    while (cache->bytes + good->size > HL_TOKEN_CACHE_BYTES) {
        struct hl_good_token **set = cache->sets[cache->hand++ % HL_TOKEN_CACHE_SETS];
        for (size_t i = 0; i < HL_TOKEN_CACHE_WAYS; i++)
            clear(cache, &set[i]);
    }
    struct hl_good_token **place = choose(cache->sets[set_of(cache, good->token, good->token_n)]);
    clear(cache, place);
    good->used = ++cache->tick;
    cache->bytes += good->size;
    *place = good;
    return true;
}

void hl_token_cache_drop(struct hl_token_cache *cache, struct hl_good_token *good)
{
    struct hl_good_token **set = cache->sets[set_of(cache, good->token, good->token_n)];
    for (size_t i = 0; i < HL_TOKEN_CACHE_WAYS; i++)
        if (set[i] == good)
            clear(cache, &set[i]);
}
