/* minute.h - how runs end, counted by minute and app (tally.h). The store's thread. */
#ifndef HL_STORE_MEMORY_MINUTE_H
#define HL_STORE_MEMORY_MINUTE_H

#include <stdint.h>

#include "base/err.h"

struct hl_driver;
struct hl_finish;
struct hl_memory;
struct hl_memory_run;
struct hl_told_tally;

/* `times` NULL: how long it took is not known. Without memory it is not counted. */
void hl_memory_minute_add_end(
    struct hl_memory *m, const struct hl_memory_run *run, const struct hl_finish *times);
/* Of calls that have no record here. */
enum hl_err hl_memory_minute_tell(struct hl_driver *d, const struct hl_told_tally *t);

/* When there may be more to do. */
int64_t hl_memory_minute_purge(struct hl_memory *m, int64_t now_ms, unsigned max);
void hl_memory_minute_free_all(struct hl_memory *m);

#endif
