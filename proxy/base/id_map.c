/* id_map.c - open addressing with linear probing, at most half full. A removal moves the entries
 * behind it up, so that there are no tombstones and a map that empties is as fast as a new one. */
#include "base/id_map.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"

#define LEAST_CAP 64

void hl_id_map_init(struct hl_id_map *map)
{
    *map = (struct hl_id_map){0};
}

void hl_id_map_fini(struct hl_id_map *map)
{
    free(map->entries);
    hl_id_map_init(map);
}

void hl_id_map_clear(struct hl_id_map *map)
{
    if (map->n > 0)
        memset(map->entries, 0, map->cap * sizeof(map->entries[0]));
    map->n = 0;
}

/* An id's last eight bytes are random. */
static size_t home_of(const struct hl_id_map *map, const struct hl_id *id)
{
    uint64_t bits;
    memcpy(&bits, id->b + 8, sizeof(bits));
    return (size_t)(bits ^ bits >> 32) & (map->cap - 1);
}

/* Where `id` is, or the free place where it would go. */
static size_t place_of(const struct hl_id_map *map, const struct hl_id *id)
{
    size_t i = home_of(map, id);
    while (map->entries[i].value && !hl_id_eq(&map->entries[i].id, id))
        i = (i + 1) & (map->cap - 1);
    return i;
}

enum hl_err hl_id_map_reserve(struct hl_id_map *map, size_t more)
{
    size_t cap = map->cap ? map->cap : LEAST_CAP;
    while (cap / 2 < map->n + more)
        cap *= 2;
    if (cap == map->cap)
        return HL_OK;

    struct hl_id_map bigger = {.cap = cap, .n = map->n};
    bigger.entries = calloc(cap, sizeof(bigger.entries[0]));
    if (!bigger.entries)
        return HL_ERR_NOMEM;
    for (size_t i = 0; i < map->cap; i++)
        if (map->entries[i].value)
            bigger.entries[place_of(&bigger, &map->entries[i].id)] = map->entries[i];
    free(map->entries);
    *map = bigger;
    return HL_OK;
}

void hl_id_map_put(struct hl_id_map *map, const struct hl_id *id, void *value)
{
    HL_ASSERT(value && map->n < map->cap / 2 + 1);
    struct hl_id_map_entry *entry = &map->entries[place_of(map, id)];
    map->n += !entry->value;
    *entry = (struct hl_id_map_entry){*id, value};
}

void *hl_id_map_find(const struct hl_id_map *map, const struct hl_id *id)
{
    return map->n > 0 ? map->entries[place_of(map, id)].value : NULL;
}

void *hl_id_map_remove(struct hl_id_map *map, const struct hl_id *id)
{
    if (map->n == 0)
        return NULL;
    size_t hole = place_of(map, id), mask = map->cap - 1;
    void *value = map->entries[hole].value;
    if (!value)
        return NULL;
    /* An entry may move into the hole unless its home lies behind the hole, cyclically. */
    for (size_t i = (hole + 1) & mask; map->entries[i].value; i = (i + 1) & mask) {
        size_t home = home_of(map, &map->entries[i].id);
        if (((i - home) & mask) >= ((i - hole) & mask)) {
            map->entries[hole] = map->entries[i];
            hole = i;
        }
    }
    map->entries[hole].value = NULL;
    map->n--;
    return value;
}
