/* outsider.c - who calls with tokens from outside. Any thread.
 * Promise: memory is bounded whatever subjects come, and what is pointed to stays memory of that kind: a call that
 * has begun gives back what it took, even where its subject was forgotten meanwhile.
 * The exception to the rule that threads share nothing but mailboxes, as in registry.c: all workers count for the
 * same subject. */
#include "auth/outsider.h"

#include <mbedtls/sha256.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"

void hl_outsiders_init(struct hl_outsiders *outsiders, struct hl_lender *lender)
{
    *outsiders = (struct hl_outsiders){.lender = lender};
    pthread_mutex_init(&outsiders->lock, NULL);
    hl_id_map_init(&outsiders->map);
    hl_list_init(&outsiders->all);
}

void hl_outsiders_fini(struct hl_outsiders *outsiders)
{
    struct hl_list *node;
    while ((node = hl_list_pop_front(&outsiders->all)) != NULL)
        free(HL_CONTAINER_OF(node, struct hl_outsider, node));
    hl_id_map_fini(&outsiders->map);
    pthread_mutex_destroy(&outsiders->lock);
}

static struct hl_id digest_of(struct hl_str identity)
{
    uint8_t digest[32];
    struct hl_id id;
    mbedtls_sha256_ret((const unsigned char *)identity.p, identity.n, digest, 0);
    memcpy(id.b, digest, sizeof(id.b));
    return id;
}

/* One that may be forgotten, behind all others now; NULL: all have calls inside. Who was heard of since the last
 * look is passed over once. */
static struct hl_outsider *find_idle(struct hl_outsiders *outsiders)
{
    for (size_t i = 0; i < 2 * outsiders->n; i++) {
        struct hl_list *node = hl_list_pop_front(&outsiders->all);
        struct hl_outsider *outsider = HL_CONTAINER_OF(node, struct hl_outsider, node);
        hl_list_push_back(&outsiders->all, node);
        bool is_used = atomic_exchange(&outsider->is_used, false);
        if (!is_used && atomic_load(&outsider->quota.running) == 0)
            return outsider;
    }
    return NULL;
}

static struct hl_outsider *make(struct hl_outsiders *outsiders)
{
    struct hl_outsider *outsider = calloc(1, sizeof(*outsider));
    if (!outsider || hl_id_map_reserve(&outsiders->map, 1) != HL_OK) {
        free(outsider);
        return NULL;
    }
    hl_list_push_back(&outsiders->all, &outsider->node);
    outsiders->n++;
    return outsider;
}

static struct hl_outsider *admit(
    struct hl_outsiders *outsiders, const struct hl_id *digest, const struct hl_limits *limits)
{
    struct hl_outsider *outsider = outsiders->n >= HL_OUTSIDERS_MAX ? find_idle(outsiders) : NULL;
    if (outsider) {
        hl_id_map_remove(&outsiders->map, &outsider->digest);
        atomic_fetch_add(&outsider->generation, 1);
    } else if ((outsider = make(outsiders)) == NULL) {
        return NULL;
    }
    outsider->digest = *digest;
    hl_quota_renew(&outsider->quota, *limits);
    hl_quota_share(&outsider->quota, outsiders->lender, digest);
    hl_id_map_put(&outsiders->map, digest, outsider);
    return outsider;
}

struct hl_outsider *hl_outsiders_meet(struct hl_outsiders *outsiders, struct hl_str identity,
    const struct hl_limits *limits, uint32_t *generation)
{
    struct hl_id digest = digest_of(identity);
    pthread_mutex_lock(&outsiders->lock);
    struct hl_outsider *outsider = hl_id_map_find(&outsiders->map, &digest);
    if (outsider) {
        hl_quota_set(&outsider->quota, limits);
        hl_outsider_note_use(outsider);
    } else {
        outsider = admit(outsiders, &digest, limits);
    }
    if (outsider)
        *generation = atomic_load(&outsider->generation);
    pthread_mutex_unlock(&outsiders->lock);
    return outsider;
}
