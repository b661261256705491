/* change.h - what a batch does with a request that changes something: a constant row for each. The store's thread, of the
 * engine that one process owns; PostgreSQL's requests are postgres/op.h's. */
#ifndef HL_STORE_CHANGE_H
#define HL_STORE_CHANGE_H

#include "base/err.h"

struct hl_batch;
struct hl_batch_op;
struct hl_store_msg;

struct hl_change {
    /* Before its first try: what each try must begin with. May be NULL. */
    void (*keep)(struct hl_batch_op *op);
    /* That again, into the message: before each try, and where it is to be tried later. May be NULL. */
    void (*restore)(struct hl_batch_op *op);
    /* Inside a transaction, and again if that is rolled back. NULL: nothing that a batch has, as all
     * questions. */
    enum hl_err (*apply)(struct hl_batch *b, struct hl_batch_op *op);
    /* After the commit, if it is OK: who has which run now. May be NULL. */
    void (*note)(struct hl_batch *b, const struct hl_batch_op *op);
    /* What the reply carries beside `rc`. May be NULL. */
    void (*fill)(const struct hl_batch_op *op);
};

/* Never NULL: the row of what changes nothing is empty. */
const struct hl_change *hl_change_of(const struct hl_store_msg *m);

/* What a try that left no trace has written into the message is undone. */
void hl_change_restore(struct hl_batch_op *op);

#endif
