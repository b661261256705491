/* memory.c - the database in memory. It has no file, no log, no directory and one connection, which
 * answers questions too, between transactions. What is different there: how much it may be.
 *
 * Beyond HOOKLINE_STORE_MAX_BYTES accepts are refused and the oldest of what has ended goes, as on a
 * disk. What ends may go beyond that, up to twice as much; then it finds no page, as on a full volume:
 * it waits, while a reserve, whose last is for what is light, lets deliveries end, so that there is
 * something to give up. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "store/sqlite/database.h"
#include "store/sqlite/reading.h"
#include "store/store.h"

/* When HOOKLINE_STORE_MAX_BYTES is a share of a volume: there is none. */
#define DEFAULT_MAX_BYTES (64u << 20)
/* Room for the tables themselves, where the limit is next to nothing. */
#define LEAST_BYTES   (4u << 20)
#define RESERVE_BYTES (8u << 20)
/* Free pages up to a share of the limit are for the next runs. */
#define SPARE_SHARE 8

uint64_t hl_store_memory_max(const struct hl_config *config)
{
    return config->store_max_bytes.bytes ? config->store_max_bytes.bytes : DEFAULT_MAX_BYTES;
}

static uint64_t pages_of(uint64_t bytes)
{
    uint64_t pages = bytes / HL_UPKEEP_PAGE_SIZE;
    return pages < UINT32_MAX - 1 ? pages : UINT32_MAX - 1;
}

/* How many it may have, with the reserve or without. */
static uint64_t most_pages(const struct hl_database *db)
{
    uint64_t bytes = LEAST_BYTES + (db->uses_reserve ? RESERVE_BYTES : 0);
    return pages_of(db->max_bytes > UINT64_MAX / 4 ? UINT64_MAX : 2 * db->max_bytes + bytes);
}

static enum hl_err bound(struct hl_database *db)
{
    char text[64];
    snprintf(
        text, sizeof(text), "PRAGMA max_page_count = %llu", (unsigned long long)most_pages(db));
    return hl_sql_err(db->db, sqlite3_exec(db->db, text, NULL, NULL, NULL));
}

enum hl_err hl_memory_make(struct hl_database *db, char *why, size_t why_len)
{
    static const char path[] = ":memory:";
    hl_key_random(&db->key);
    enum hl_err err = hl_connection_make_in_memory(db, why, why_len);
    if (!err)
        err = hl_connection_prepare(db, path, why, why_len);
    if (err)
        return err;
    err = hl_sealer_init_own(&db->sealer, &db->key);
    if (!err)
        err = bound(db);
    db->reading = err ? NULL : calloc(1, sizeof(*db->reading));
    if (!err)
        err = db->reading ? hl_reading_share(db->reading, db->db, &db->key) : HL_ERR_NOMEM;
    if (err)
        snprintf(
            why, why_len, "HOOKLINE_STORE: cannot make a store in memory: %s", hl_err_text(err));
    return err;
}

void hl_memory_free(struct hl_database *db)
{
    if (db->reading)
        hl_reading_close(db->reading);
    free(db->reading);
    db->reading = NULL;
}

enum hl_err hl_memory_answer(struct hl_driver *d, struct hl_store_msg *m)
{
    return hl_sqlite_reader_answer(hl_database_of(d)->reading, m);
}

/* --- how much it may be --------------------------------------------------------------------- */

enum hl_err hl_memory_room(struct hl_driver *d)
{
    struct hl_database *db = hl_database_of(d);
    if (hl_upkeep_is_over(db))
        return HL_ERR_TOO_LARGE;
    if (!db->uses_reserve)
        return HL_OK;
    db->uses_reserve = false;
    return bound(db);
}

bool hl_memory_release_reserve(struct hl_driver *d)
{
    struct hl_database *db = hl_database_of(d);
    db->uses_reserve = true;
    return bound(db) == HL_OK;
}

bool hl_memory_has_space(struct hl_driver *d, size_t weight)
{
    struct hl_database *db = hl_database_of(d);
    if (!db->uses_reserve)
        return true;
    struct hl_pages pages = hl_upkeep_pages(db);
    uint64_t used = pages.all - pages.free, most = most_pages(db);
    return used < most && HL_UPKEEP_LIKE_IT * (uint64_t)weight / HL_UPKEEP_PAGE_SIZE < most - used;
}

/* What was given up goes back to the system. */
bool hl_memory_settle(struct hl_driver *d, bool is_idle)
{
    struct hl_database *db = hl_database_of(d);
    if (!is_idle || hl_upkeep_pages(db).free <= pages_of(db->max_bytes / SPARE_SHARE))
        return false;
    bool has_given = hl_upkeep_vacuum(db, HL_UPKEEP_STEP_PAGES) > 0;
    if (has_given)
        malloc_trim(0);
    return has_given;
}
