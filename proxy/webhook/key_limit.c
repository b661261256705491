/* key_limit.c - counts by key. A key is remembered while somebody is inside; nobody waits where
 * nobody is. */
#include "webhook/key_limit.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"

struct entry {
    uint32_t inside;
    struct hl_list line;
};

void hl_key_limit_init(struct hl_key_limit *t, uint32_t most)
{
    *t = (struct hl_key_limit){.most = most};
    hl_id_map_init(&t->keys);
}

void hl_key_limit_fini(struct hl_key_limit *t)
{
    for (size_t i = 0; i < t->keys.cap; i++)
        free(t->keys.entries[i].value);
    hl_id_map_fini(&t->keys);
}

static struct hl_id key_of(uint64_t name)
{
    struct hl_id key = {{0}};
    memcpy(key.b + 8, &name, sizeof name);
    return key;
}

static struct entry *add_entry(struct hl_key_limit *t, const struct hl_id *key)
{
    if (hl_id_map_reserve(&t->keys, 1) != HL_OK)
        return NULL;
    struct entry *entry = calloc(1, sizeof *entry);
    if (!entry)
        return NULL;
    hl_list_init(&entry->line);
    hl_id_map_put(&t->keys, key, entry);
    return entry;
}

bool hl_key_limit_enter(struct hl_key_limit *t, uint64_t name, struct hl_list *node)
{
    struct hl_id key = key_of(name);
    struct entry *entry = hl_id_map_find(&t->keys, &key);
    if (!entry)
        entry = add_entry(t, &key);
    if (!entry)
        return true;
    if (entry->inside >= t->most) {
        hl_list_push_back(&entry->line, node);
        return false;
    }
    entry->inside++;
    return true;
}

struct hl_list *hl_key_limit_leave(struct hl_key_limit *t, uint64_t name)
{
    struct hl_id key = key_of(name);
    struct entry *entry = hl_id_map_find(&t->keys, &key);
    if (!entry)
        return NULL;
    struct hl_list *next = hl_list_pop_front(&entry->line);
    if (!next && --entry->inside == 0)
        free(hl_id_map_remove(&t->keys, &key));
    return next;
}
