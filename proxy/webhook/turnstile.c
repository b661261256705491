/* turnstile.c - counts by kind. A kind is remembered while somebody is inside; nobody waits where
 * nobody is. */
#include "webhook/turnstile.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"

struct kind {
    uint32_t inside;
    struct hl_list line;
};

void hl_turnstile_init(struct hl_turnstile *t, uint32_t most)
{
    *t = (struct hl_turnstile){.most = most};
    hl_id_map_init(&t->kinds);
}

void hl_turnstile_fini(struct hl_turnstile *t)
{
    for (size_t i = 0; i < t->kinds.cap; i++)
        free(t->kinds.entries[i].value);
    hl_id_map_fini(&t->kinds);
}

static struct hl_id key_of(uint64_t kind)
{
    struct hl_id key = {{0}};
    memcpy(key.b + 8, &kind, sizeof kind);
    return key;
}

static struct kind *add_kind(struct hl_turnstile *t, const struct hl_id *key)
{
    if (hl_id_map_reserve(&t->kinds, 1) != HL_OK)
        return NULL;
    struct kind *kind = calloc(1, sizeof *kind);
    if (!kind)
        return NULL;
    hl_list_init(&kind->line);
    hl_id_map_put(&t->kinds, key, kind);
    return kind;
}

bool hl_turnstile_enter(struct hl_turnstile *t, uint64_t name, struct hl_list *node)
{
    struct hl_id key = key_of(name);
    struct kind *kind = hl_id_map_find(&t->kinds, &key);
    if (!kind)
        kind = add_kind(t, &key);
    if (!kind)
        return true;
    if (kind->inside >= t->most) {
        hl_list_push_back(&kind->line, node);
        return false;
    }
    kind->inside++;
    return true;
}

struct hl_list *hl_turnstile_leave(struct hl_turnstile *t, uint64_t name)
{
    struct hl_id key = key_of(name);
    struct kind *kind = hl_id_map_find(&t->kinds, &key);
    if (!kind)
        return NULL;
    struct hl_list *next = hl_list_pop_front(&kind->line);
    if (!next && --kind->inside == 0)
        free(hl_id_map_remove(&t->kinds, &key));
    return next;
}
