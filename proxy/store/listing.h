/* listing.h - what each list's reply brings: rows, whether there are more, and where to go on. Any thread; whoever has the
 * message. */
#ifndef HL_STORE_LISTING_H
#define HL_STORE_LISTING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/id.h"

struct hl_listing {
    void *rows; /* owned by the message; NULL: there is no room */
    size_t count;
    size_t room; /* for so many */
    bool has_more;
    struct hl_id next; /* has_more: the `before` of the page behind it, the store's own */
};

/* A list's member, whose rows have a type. */
#define HL_LISTING(row)                                                                            \
    union {                                                                                        \
        struct hl_listing listing;                                                                 \
        struct {                                                                                   \
            row *rows;                                                                             \
            size_t count, room;                                                                    \
            bool has_more;                                                                         \
            struct hl_id next;                                                                     \
        };                                                                                         \
    }

/* For who answers, once there is room (hl_operation_open_listing). The next row, zeroed; NULL: the page is full, and says
 * that there is more. */
#define HL_LISTING_ADD(list) hl_listing_add(&(list)->listing, sizeof(*(list)->rows))
static inline void *hl_listing_add(struct hl_listing *listing, size_t row_size)
{
    if (listing->count == listing->room) {
        listing->has_more = true;
        return NULL;
    }
    return (char *)listing->rows + row_size * listing->count++;
}

#endif
