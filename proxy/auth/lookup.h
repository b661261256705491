/* lookup.h - accounts that this process does not know: another one that shares the store may have made
 * them. They are asked for when the signature of a token that names one has been found right, so that
 * nobody else's token costs a question. */
#ifndef HL_AUTH_LOOKUP_H
#define HL_AUTH_LOOKUP_H

#include <stdbool.h>
#include <stddef.h>

struct hl_check;
struct hl_msg;

#define HL_LOOKUPS_MAX 64 /* questions under way; beyond it nobody can say */

/* Of one thread, which reads `mail` and gives messages of type HL_STORE_LIST_ACCOUNTS to
 * hl_lookup_end. */
struct hl_lookups {
    struct hl_registry *registry;
    struct hl_store *store; /* NULL: what is not in the registry is nowhere */
    struct hl_mailbox *mail;
    size_t n; /* under way: each is answered */
};

/* True: the check is taken, and is answered as GOOD or UNSURE when it is known which; false: its
 * account is known, or it has none. Its signature is right. */
bool hl_lookup_begin(struct hl_lookups *lookups, struct hl_check *check);
/* Takes the message. */
void hl_lookup_end(struct hl_lookups *lookups, struct hl_msg *msg);

#endif
