/* list.h - intrusive doubly linked list. A node that is in no list points at itself. */
#ifndef HL_BASE_LIST_H
#define HL_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct hl_list {
    struct hl_list *next, *prev;
};

static inline void hl_list_init(struct hl_list *l)
{
    l->next = l->prev = l;
}

static inline bool hl_list_is_empty(const struct hl_list *l)
{
    return l->next == l;
}

static inline bool hl_list_is_linked(const struct hl_list *node)
{
    return node->next != node;
}

static inline void hl_list_insert_between(
    struct hl_list *node, struct hl_list *prev, struct hl_list *next)
{
    node->prev = prev;
    node->next = next;
    prev->next = node;
    next->prev = node;
}

static inline void hl_list_push_front(struct hl_list *head, struct hl_list *node)
{
    hl_list_insert_between(node, head, head->next);
}

static inline void hl_list_push_back(struct hl_list *head, struct hl_list *node)
{
    hl_list_insert_between(node, head->prev, head);
}

/* Harmless on a node that is in no list. */
static inline void hl_list_remove(struct hl_list *node)
{
    node->prev->next = node->next;
    node->next->prev = node->prev;
    hl_list_init(node);
}

/* The first node, removed; NULL when empty. */
/* All nodes of `from`, in their order, behind those of `to`; `from` is empty then. */
static inline void hl_list_move_all(struct hl_list *from, struct hl_list *to)
{
    if (hl_list_is_empty(from))
        return;
    from->next->prev = to->prev;
    to->prev->next = from->next;
    from->prev->next = to;
    to->prev = from->prev;
    hl_list_init(from);
}

static inline struct hl_list *hl_list_pop_front(struct hl_list *head)
{
    struct hl_list *node = head->next;
    if (node == head)
        return NULL;
    hl_list_remove(node);
    return node;
}

#define HL_LIST_EACH(node, head)                                                                   \
    for (struct hl_list *node = (head)->next; node != (head); node = node->next)
/* The current node may be removed in the body. */
#define HL_LIST_EACH_SAFE(node, head)                                                              \
    for (struct hl_list *node = (head)->next, *node##_next = node->next; node != (head);           \
         node = node##_next, node##_next = node->next)

#endif
