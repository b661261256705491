/* slot.h - stable names for objects that may be gone when a reply arrives: {index, generation}.
 *
 * One thread owns a table. A slot's generation grows when its object leaves, so that an old name
 * finds nothing. */
#ifndef HL_LOOP_SLOT_H
#define HL_LOOP_SLOT_H

#include <stddef.h>
#include <stdint.h>

struct hl_slot_name {
    uint32_t index;
    uint32_t generation; /* 0: names nothing */
};

struct hl_slot_entry {
    void *object; /* NULL: free */
    uint32_t generation;
    uint32_t next_free;
};

struct hl_slot_table {
    struct hl_slot_entry *entries;
    uint32_t cap, in_use, first_free;
};

void hl_slot_table_init(struct hl_slot_table *t);
void hl_slot_table_fini(struct hl_slot_table *t);

/* The name of `object` from now on; generation 0 when out of memory. Grows by doubling. */
struct hl_slot_name hl_slot_add(struct hl_slot_table *t, void *object);
/* NULL when the object has gone. */
void *hl_slot_find(const struct hl_slot_table *t, struct hl_slot_name name);
/* Nothing happens when it is gone already. */
void hl_slot_remove(struct hl_slot_table *t, struct hl_slot_name name);

#endif
