/* upkeep.h - what the database needs between transactions, and how much it keeps. The store's
 * thread. */
#ifndef HL_STORE_SQLITE_UPKEEP_H
#define HL_STORE_SQLITE_UPKEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct hl_database;
struct hl_driver;
struct hl_survey;

#define HL_UPKEEP_PAGE_SIZE 8192
/* Pages given back at a time: HL_SQL_VACUUM's own bound. */
#define HL_UPKEEP_STEP_PAGES 256
/* Where space is short a request is tried when there is room for so many like it: the last of it is for
 * those that are much lighter. */
#define HL_UPKEEP_LIKE_IT 4

struct hl_pages {
    uint64_t all, free;
};
struct hl_pages hl_upkeep_pages(struct hl_database *db);
/* Gives free pages back, at most HL_UPKEEP_STEP_PAGES; how many. Outside transactions. */
uint64_t hl_upkeep_vacuum(struct hl_database *db, uint64_t most);

/* It keeps more than HOOKLINE_STORE_MAX_BYTES, as the transaction stands. */
bool hl_upkeep_is_over(struct hl_database *db);
bool hl_upkeep_is_mostly_long(struct hl_database *db); /* what it keeps: bodies that are long */

/* See driver.h: room, release_reserve, has_space, settle, survey. But for the last those of a store on a
 * disk. */
enum hl_err hl_upkeep_room(struct hl_driver *d);
bool hl_upkeep_release_reserve(struct hl_driver *d);
bool hl_upkeep_has_space(struct hl_driver *d, size_t weight);
bool hl_upkeep_settle(struct hl_driver *d, bool is_idle);
void hl_upkeep_survey(struct hl_driver *d, struct hl_survey *out);

/* At open, when nobody waits: on a volume that is short, what is free inside the database goes back
 * to it, so that the first accept finds the room that there is. */
void hl_upkeep_reclaim(struct hl_database *db);

#endif
