/* id_map.h - a hash map from 16 random bytes (run ids, delivery ids, keyed hashes) to pointers. One
 * thread owns a map. It borrows what it points to. */
#ifndef HL_BASE_ID_MAP_H
#define HL_BASE_ID_MAP_H

#include <stddef.h>

#include "base/compiler.h"
#include "base/err.h"
#include "base/id.h"

struct hl_id_map_entry {
    struct hl_id id;
    void *value; /* NULL: the place is free */
};

struct hl_id_map {
    struct hl_id_map_entry *entries;
    size_t cap; /* a power of two, or 0 */
    size_t n;
};

void hl_id_map_init(struct hl_id_map *map);
void hl_id_map_fini(struct hl_id_map *map);
/* Without its entries; room that was reserved stays. */
void hl_id_map_clear(struct hl_id_map *map);

/* Makes room, so that the next `more` puts cannot fail. HL_ERR_NOMEM. */
HL_MUST_CHECK enum hl_err hl_id_map_reserve(struct hl_id_map *map, size_t more);
/* Adds or replaces; `value` is not NULL; room was reserved. */
void hl_id_map_put(struct hl_id_map *map, const struct hl_id *id, void *value);
void *hl_id_map_find(const struct hl_id_map *map, const struct hl_id *id); /* NULL: not there */
void *hl_id_map_remove(struct hl_id_map *map, const struct hl_id *id); /* what it was, or NULL */

#endif
