/* message.h - messages whose struct and strings are one allocation: what the drivers need to make
 * and weigh them. Their constructors and frees for everybody else are in store.h. */
#ifndef HL_STORE_MESSAGE_H
#define HL_STORE_MESSAGE_H

#include "store/store.h"

/* Copies `from` to `*room` and moves `*room` behind it. */
struct hl_str hl_message_copy(char **room, struct hl_str from);

/* Room for a message of `size` bytes and `strings` bytes behind it, zeroed; NULL when out of
 * memory.
 * `*room` points at the strings. */
void *hl_message_alloc(size_t size, size_t strings, uint32_t type, char **room);

/* Whether it makes the store keep more than before: such requests may be refused. */
static inline bool hl_message_brings_work(const struct hl_store_msg *m)
{
    return m->msg.type == HL_STORE_ACCEPT || m->msg.type == HL_STORE_RECORD;
}

/* What a request weighs while it waits: itself, its strings and the body bytes it carries. */
size_t hl_message_weight(const struct hl_store_msg *m);

/* Frees a pushed message of any kind (CLAIMED to WORK). NULL-safe. */
void hl_push_free(struct hl_msg *msg);

#endif
