/* reply.h - what every request gets, once. The store's thread. */
#ifndef HL_STORE_POSTGRES_REPLY_H
#define HL_STORE_POSTGRES_REPLY_H

#include <stddef.h>

#include "base/err.h"

struct hl_pg_store;
struct hl_store_msg;

/* Takes the message, whose weight was counted when it came; what it brings is dropped unless OK. */
void hl_pg_reply(struct hl_pg_store *s, struct hl_store_msg *m, size_t weight, enum hl_err rc);

#endif
