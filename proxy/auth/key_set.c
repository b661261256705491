/* key_set.c - the keys that are good at one time. Any thread. */
#include "auth/key_set.h"

#include <stdlib.h>

#include "auth/jwt.h"
#include "auth/verify_key.h"

void hl_key_list_fini(struct hl_key_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        hl_verify_key_release(list->items[i]);
    list->n = 0;
}

struct hl_key_set *hl_key_set_new(void)
{
    struct hl_key_set *set = calloc(1, sizeof(*set));
    if (set)
        atomic_init(&set->references, 1);
    return set;
}

struct hl_key_set *hl_key_set_hold(struct hl_key_set *set)
{
    atomic_fetch_add_explicit(&set->references, 1, memory_order_relaxed);
    return set;
}

void hl_key_set_release(struct hl_key_set *set)
{
    if (!set || atomic_fetch_sub_explicit(&set->references, 1, memory_order_acq_rel) > 1)
        return;
    for (size_t i = 0; i < HL_KEYS_SOURCE_COUNT; i++)
        hl_key_list_fini(&set->sources[i]);
    free(set);
}

static void copy_list(struct hl_key_list *to, const struct hl_key_list *from)
{
    for (size_t i = 0; i < from->n; i++)
        to->items[i] = hl_verify_key_hold(from->items[i]);
    to->n = from->n;
}

/* Keys that were known before stay the objects that they were: cached tokens refer to those. */
static void adopt_known(struct hl_key_list *list, const struct hl_key_list *before)
{
    for (size_t i = 0; i < list->n; i++) {
        for (size_t k = 0; k < before->n; k++) {
            if (!hl_verify_key_eq(list->items[i], before->items[k]))
                continue;
            hl_verify_key_release(list->items[i]);
            list->items[i] = hl_verify_key_hold(before->items[k]);
            break;
        }
    }
}

struct hl_key_set *hl_key_set_with(
    const struct hl_key_set *set, enum hl_key_source source, struct hl_key_list *list)
{
    struct hl_key_set *next = hl_key_set_new();
    if (!next) {
        hl_key_list_fini(list);
        return NULL;
    }
    for (size_t i = 0; i < HL_KEYS_SOURCE_COUNT; i++)
        if (i != source)
            copy_list(&next->sources[i], &set->sources[i]);
    adopt_known(list, &set->sources[source]);
    next->sources[source] = *list;
    list->n = 0;
    return next;
}

static bool has(const struct hl_key_list *list, const struct hl_verify_key *key)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->items[i] == key)
            return true;
    return false;
}

bool hl_key_set_retire(const struct hl_key_set *before, const struct hl_key_set *after)
{
    bool is_any = false;
    for (size_t s = 0; s < HL_KEYS_SOURCE_COUNT; s++) {
        for (size_t i = 0; i < before->sources[s].n; i++) {
            if (has(&after->sources[s], before->sources[s].items[i]))
                continue;
            atomic_store(&before->sources[s].items[i]->is_retired, true);
            is_any = true;
        }
    }
    return is_any;
}

bool hl_key_set_has(const struct hl_key_set *set, uint64_t serial)
{
    for (size_t s = 0; s < HL_KEYS_SOURCE_COUNT; s++)
        for (size_t i = 0; i < set->sources[s].n; i++)
            if (set->sources[s].items[i]->serial == serial)
                return true;
    return false;
}

static bool is_named(const struct hl_verify_key *key, const struct hl_jwt *jwt)
{
    return key->has_kid && key->kid_n == jwt->kid_n && memcmp(key->kid, jwt->kid, key->kid_n) == 0;
}

static bool has_equal(struct hl_verify_key *const *keys, size_t n, const struct hl_verify_key *key)
{
    for (size_t i = 0; i < n; i++)
        if (hl_verify_key_eq(keys[i], key))
            return true;
    return false;
}

/* Adds what fits of one source; `by_name`: only what is named. */
static size_t add_fitting(const struct hl_key_list *list, const struct hl_jwt *jwt, bool by_name,
    struct hl_verify_key **out, size_t n)
{
    for (size_t i = 0; i < list->n && n < HL_KEYS_TRIED_MAX; i++) {
        struct hl_verify_key *key = list->items[i];
        bool fits = key->alg == jwt->alg && (!by_name || is_named(key, jwt));
        if (fits && !has_equal(out, n, key))
            out[n++] = key;
    }
    return n;
}

static struct hl_verify_key *find_named(const struct hl_key_list *list, const struct hl_jwt *jwt)
{
    for (size_t i = 0; i < list->n; i++)
        if (is_named(list->items[i], jwt))
            return list->items[i];
    return NULL;
}

/* Our own names are ours alone. */
static size_t find_by_name(
    const struct hl_key_set *set, const struct hl_jwt *jwt, struct hl_verify_key **out)
{
    struct hl_verify_key *other = NULL; /* of another algorithm */
    size_t n = 0;
    for (size_t s = 0; s < HL_KEYS_SOURCE_COUNT; s++) {
        n = add_fitting(&set->sources[s], jwt, true, out, n);
        if (!other)
            other = find_named(&set->sources[s], jwt);
        if (s == HL_KEYS_OWN && other)
            break;
    }
    if (n == 0 && other)
        out[n++] = other;
    return n;
}

size_t hl_key_set_find(const struct hl_key_set *set, const struct hl_jwt *jwt,
    struct hl_verify_key *out[HL_KEYS_TRIED_MAX])
{
    size_t n = jwt->has_kid ? find_by_name(set, jwt, out) : 0;
    /* The one secret has no name; who signs with it may give it any. */
    if (n > 0 || (jwt->has_kid && jwt->alg != HL_ALG_HS256))
        return n;
    for (size_t s = HL_KEYS_OWN + 1; s < HL_KEYS_SOURCE_COUNT; s++)
        n = add_fitting(&set->sources[s], jwt, false, out, n);
    return n;
}
