/* memory.h - the database in memory (HOOKLINE_STORE=memory): how large it may be, and how it is asked.
 * The store's thread; before that thread starts, the opener's. */
#ifndef HL_STORE_SQLITE_MEMORY_H
#define HL_STORE_SQLITE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "base/err.h"

struct hl_database;
struct hl_driver;
struct hl_store_msg;

/* Makes it, empty, under a key of its own. */
HL_MUST_CHECK enum hl_err hl_memory_make(struct hl_database *db, char *why, size_t why_len);
/* Before the connection is closed. */
void hl_memory_free(struct hl_database *db);

/* See driver.h. */
enum hl_err hl_memory_answer(struct hl_driver *d, struct hl_store_msg *m);
enum hl_err hl_memory_room(struct hl_driver *d);
bool hl_memory_release_reserve(struct hl_driver *d);
bool hl_memory_has_space(struct hl_driver *d, size_t weight);
bool hl_memory_settle(struct hl_driver *d, bool is_idle);

#endif
