/* slot.c - stable names for objects that may be gone when a reply arrives. One thread owns a table.
 * Free entries form a list by index, last freed first. Generations start at 1 and pass over 0,
 * which names nothing; an old name could find a stranger only after 2^32 reuses of one slot. */
#include "loop/slot.h"

#include <stdlib.h>

#include "base/assert.h"

#define NONE      UINT32_MAX
#define FIRST_CAP 64

void hl_slot_table_init(struct hl_slot_table *t)
{
    *t = (struct hl_slot_table){.first_free = NONE};
}

void hl_slot_table_fini(struct hl_slot_table *t)
{
    free(t->entries);
    hl_slot_table_init(t);
}

static int grow(struct hl_slot_table *t)
{
    if (t->cap > NONE / 2)
        return -1;
    uint32_t cap = t->cap ? t->cap * 2 : FIRST_CAP;
    struct hl_slot_entry *entries = realloc(t->entries, cap * sizeof(*entries));
    if (!entries)
        return -1;
    for (uint32_t i = t->cap; i < cap; i++)
        entries[i] = (struct hl_slot_entry){
            .generation = 1, .next_free = i + 1 < cap ? i + 1 : t->first_free};
    t->first_free = t->cap;
    t->entries = entries;
    t->cap = cap;
    return 0;
}

struct hl_slot_name hl_slot_add(struct hl_slot_table *t, void *object)
{
    HL_ASSERT(object);
    if (t->first_free == NONE && grow(t) != 0)
        return (struct hl_slot_name){0};
    uint32_t index = t->first_free;
    struct hl_slot_entry *entry = &t->entries[index];
    t->first_free = entry->next_free;
    t->in_use++;
    entry->object = object;
    return (struct hl_slot_name){index, entry->generation};
}

static struct hl_slot_entry *find(const struct hl_slot_table *t, struct hl_slot_name name)
{
    if (name.generation == 0 || name.index >= t->cap)
        return NULL;
    struct hl_slot_entry *entry = &t->entries[name.index];
    return entry->generation == name.generation && entry->object ? entry : NULL;
}

void *hl_slot_find(const struct hl_slot_table *t, struct hl_slot_name name)
{
    struct hl_slot_entry *entry = find(t, name);
    return entry ? entry->object : NULL;
}

void hl_slot_remove(struct hl_slot_table *t, struct hl_slot_name name)
{
    struct hl_slot_entry *entry = find(t, name);
    if (!entry)
        return;
    entry->object = NULL;
    if (++entry->generation == 0)
        entry->generation = 1;
    entry->next_free = t->first_free;
    t->first_free = name.index;
    t->in_use--;
}
