/* heads.h - heads of runs that were queued last, as they came: one that is claimed soon need not be opened, which costs
 * as much as all else that is done for a claim. The store's thread. */
#ifndef HL_STORE_SQLITE_HEADS_H
#define HL_STORE_SQLITE_HEADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/id.h"

struct hl_str;

#define HL_HEADS_MAX     2048
#define HL_HEAD_KEPT_MAX 1024 /* longer ones are not remembered */

struct hl_known_head {
    struct hl_id run_id;
    char *p; /* NULL: the place is free */
    size_t n;
};

/* Each has its place by its run's number, and the next one there takes it: so those of the last HL_HEADS_MAX runs are
 * known, and those of runs that are never claimed stay for a while only. A number is given again after a rollback, but a
 * head never changes, and no id is given twice: a rollback need not forget any. */
struct hl_heads {
    struct hl_known_head places[HL_HEADS_MAX];
};

void hl_heads_fini(struct hl_heads *heads);
/* Out of memory: it is not remembered. */
void hl_heads_put(
    struct hl_heads *heads, int64_t number, const struct hl_id *run_id, struct hl_str head);
/* To `out`, if it is remembered and `n` bytes long; then it no longer is. */
bool hl_heads_take(
    struct hl_heads *heads, int64_t number, const struct hl_id *run_id, char *out, size_t n);

#endif
