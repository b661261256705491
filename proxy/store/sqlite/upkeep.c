/* upkeep.c - what the database needs between transactions: the log moved into it, files that no
 * record names removed, free pages given back, room watched. The store's thread, after the replies
 * of a batch were sent; who waits for a commit never waits for this on purpose. */
#include <sys/stat.h>

#include "base/crash_point.h"
#include "base/log.h"
#include "store/backlog.h"
#include "store/body_file.h"
#include "store/data_dir.h"
#include "store/driver.h"
#include "store/path.h"
#include "store/sqlite/database.h"

#define PAGE_SIZE HL_UPKEEP_PAGE_SIZE

/* Who asks while the log is moved (a checkpoint) waits for as long as it takes to write the pages
 * that differ. Each commit writes a few that the one before it wrote too: what it has beside those is
 * counted. 1 MiB of them takes a millisecond or two, and large batches get there in a few commits;
 * small ones never do, and the log's whole length is what ends their turn. */
#define OWN_BYTES    (1 << 20)
#define SHARED_PAGES 6 /* of a commit: the ends of the tables and of their indexes */
#define LOG_BYTES    (16 << 20)
/* Of the log, not to be moved for somebody's sake: of that the operator hears. */
#define HELD_BYTES (4 * LOG_BYTES)
/* Free pages are for the next runs; only more than these are given back to the file system. */
#define SPARE_BYTES (32 << 20)
#define CUT_WAIT_MS 50

static uint64_t count(struct hl_database *db, enum hl_sql which)
{
    struct hl_sql_row row;
    if (hl_database_row(db, which, &row) != HL_OK)
        return 0;
    uint64_t n = (uint64_t)hl_sql_int(&row);
    hl_database_done(db, which);
    return n;
}

struct hl_pages hl_upkeep_pages(struct hl_database *db)
{
    struct hl_pages pages = {count(db, HL_SQL_PAGES_ALL), 0};
    pages.free = pages.all > 0 ? count(db, HL_SQL_PAGES_FREE) : 0;
    return pages;
}

static uint64_t used_bytes(struct hl_database *db)
{
    struct hl_pages pages = hl_upkeep_pages(db);
    return (pages.all - pages.free) * PAGE_SIZE + db->now.file_bytes;
}

bool hl_upkeep_is_over(struct hl_database *db)
{
    return used_bytes(db) > db->max_bytes;
}

bool hl_upkeep_is_mostly_long(struct hl_database *db)
{
    return 2 * (db->now.file_bytes + db->now.long_bytes) > used_bytes(db);
}

/* What is written now would go where nobody looks for it at the next start. */
static bool has_moved(struct hl_database *db)
{
    int moved = 0;
    return sqlite3_file_control(db->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK &&
           moved;
}

/* A store that is over its limit makes room, on a volume that is full too. */
enum hl_err hl_upkeep_room(struct hl_driver *d)
{
    struct hl_database *db = hl_database_of(d);
    if (has_moved(db))
        return HL_ERR_NOT_FOUND;
    uint64_t free_bytes = hl_data_dir_free_bytes(&db->dir);
    uint64_t soft_limit = hl_data_dir_soft_limit(&db->dir);
    hl_data_dir_make_reserve(&db->dir);
    if (hl_upkeep_is_over(db))
        return HL_ERR_TOO_LARGE;
    return free_bytes < soft_limit ? HL_ERR_FULL : HL_OK;
}

/* On a small volume at most half of what is reserved, which must always do for moving all that is in
 * the log. */
static int share_in_pages(const struct hl_database *db, uint64_t bytes)
{
    return (int)(hl_data_dir_share(&db->dir, 2 * bytes) / 2 / PAGE_SIZE);
}

static bool is_checkpoint_due(const struct hl_database *db)
{
    int pages = db->wal_pages - db->wal_left, own = pages - SHARED_PAGES * db->wal_commits;
    return pages >= share_in_pages(db, LOG_BYTES) || own >= share_in_pages(db, OWN_BYTES);
}

static bool is_worth_a_quiet_moment(const struct hl_database *db)
{
    return db->wal_pages > share_in_pages(db, OWN_BYTES) / 2;
}

/* `left`: what a reader still needed. */
static void begin_log(struct hl_database *db, int left)
{
    db->wal_pages = db->wal_left = left;
    db->wal_commits = 0;
}

/* Ours read for a moment; a backup, or another program that looks into the file, for as long as it likes. Told again when it
 * is twice as long. */
static void tell_of_reader(struct hl_database *db)
{
    uint64_t held = (uint64_t)db->wal_left * PAGE_SIZE;
    if (held < HELD_BYTES)
        db->told_log_bytes = 0;
    if (held < HELD_BYTES || held < 2 * db->told_log_bytes)
        return;
    HL_LOG(WARN,
        "store: the write-ahead log grows, and cannot be emptied while somebody reads the "
        "database (a backup, or another program)",
        HL_LOG_INT("log_bytes", held));
    db->told_log_bytes = held;
}

/* Passive: it never waits for a reader. What a reader still needs stays for the next one, as does
 * what there is no space for, unless the reserve may be it. That the volume is full is the engine's
 * to say, once. */
static enum hl_err checkpoint(struct hl_database *db)
{
    int in_log = 0, moved = 0;
    HL_CRASH_POINT(CHECKPOINT_DUE);
    int rc = sqlite3_wal_checkpoint_v2(db->db, NULL, SQLITE_CHECKPOINT_PASSIVE, &in_log, &moved);
    enum hl_err err = hl_sql_err(db->db, rc);
    if (err && err != HL_ERR_FULL)
        HL_LOG(WARN, "store: a checkpoint failed, trying again",
            HL_LOG_TEXT("why", sqlite3_errmsg(db->db)));
    HL_CRASH_POINT(CHECKPOINT_DONE);
    if (err != HL_ERR_FULL || db->dir.reserve == 0)
        begin_log(db, !err && moved == in_log ? 0 : db->wal_pages);
    tell_of_reader(db);
    return err;
}

static uint64_t file_size(const struct hl_database *db, const char *name)
{
    char path[HL_PATH_MAX];
    struct stat file;
    if (!db->dir.path || hl_path(path, "%s/%s", db->dir.path, name) != HL_OK ||
        stat(path, &file) < 0)
        return 0;
    return (uint64_t)file.st_size;
}

static uint64_t log_size(const struct hl_database *db)
{
    return file_size(db, "hookline.db-wal");
}

/* What is free inside the database is of no use to bodies in files. */
static bool is_volume_short(const struct hl_database *db)
{
    return hl_data_dir_free_bytes(&db->dir) < 2 * hl_data_dir_soft_limit(&db->dir);
}

/* The log keeps its length for the next commits; on a volume that is short it gives it back. Waits
 * for the reader's transaction, which is short too; a backup's is not, and commits wait meanwhile. */
static void cut_log(struct hl_database *db)
{
    if (log_size(db) == 0 || !is_volume_short(db))
        return;
    sqlite3_busy_timeout(db->db, CUT_WAIT_MS);
    if (sqlite3_wal_checkpoint_v2(db->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL) ==
        SQLITE_OK)
        begin_log(db, 0);
    sqlite3_busy_timeout(db->db, HL_SQLITE_BUSY_MS);
}

/* What was reserved is worth most to the checkpoint: after it the log begins anew instead of
 * growing. */
bool hl_upkeep_release_reserve(struct hl_driver *d)
{
    struct hl_database *db = hl_database_of(d);
    hl_data_dir_release_reserve(&db->dir);
    if (checkpoint(db) == HL_OK)
        cut_log(db);
    return true;
}

/* The log must not become more than what is reserved: it could not be moved any more, and nothing be
 * written. */
static void keep_log_movable(struct hl_database *db)
{
    if (checkpoint(db) == HL_ERR_FULL && db->dir.reserve > 0)
        hl_upkeep_release_reserve(&db->base);
}

static uint64_t beyond(uint64_t wanted, uint64_t there)
{
    return wanted > there ? wanted - there : 0;
}

/* In the log, and in the database when all that is in the log will have been moved. */
bool hl_upkeep_has_space(struct hl_driver *d, size_t weight)
{
    struct hl_database *db = hl_database_of(d);
    uint64_t free_bytes = hl_data_dir_free_bytes(&db->dir);
    if (db->dir.reserve > 0 || free_bytes >= hl_data_dir_soft_limit(&db->dir))
        return true;
    struct hl_pages pages = hl_upkeep_pages(db);
    uint64_t wanted = HL_UPKEEP_LIKE_IT * (uint64_t)weight,
             log_bytes = (uint64_t)db->wal_pages * PAGE_SIZE;
    uint64_t database = file_size(db, "hookline.db") + pages.free * PAGE_SIZE;
    return beyond(wanted + log_bytes, log_size(db)) +
               beyond(wanted + pages.all * PAGE_SIZE, database) <=
           free_bytes;
}

/* They wait, in memory, while a backup reads them. */
static void unlink_doomed(struct hl_database *db)
{
    if (db->now.n_doomed == 0 || !hl_data_dir_take_bodies(&db->dir))
        return;
    for (size_t i = 0; i < db->now.n_doomed; i++) {
        HL_CRASH_POINT(FILE_DOOMED);
        hl_body_file_remove(db->dir.path, &db->doomed[i].id);
        HL_CRASH_POINT(FILE_UNLINKED);
    }
    hl_data_dir_release_bodies(&db->dir);
    db->now.n_doomed = db->before.n_doomed = 0;
}

uint64_t hl_upkeep_vacuum(struct hl_database *db, uint64_t most)
{
    sqlite3_stmt *st = db->st[HL_SQL_VACUUM]; /* a row for each page */
    uint64_t n = 0;
    while (n < most && sqlite3_step(st) == SQLITE_ROW)
        n++;
    return sqlite3_reset(st) == SQLITE_OK ? n : 0;
}

/* How many pages may be given back at once. Where each goes to is written into the log first, with
 * the page that names it: that must not be what makes the volume full. */
static uint64_t pages_to_give(const struct hl_database *db)
{
    uint64_t free_bytes = hl_data_dir_free_bytes(&db->dir);
    uint64_t soft_limit = hl_data_dir_soft_limit(&db->dir);
    uint64_t pages = free_bytes > soft_limit ? (free_bytes - soft_limit) / (2 * PAGE_SIZE) : 0;
    return pages == 0 || pages > HL_UPKEEP_STEP_PAGES ? HL_UPKEEP_STEP_PAGES : pages;
}

/* On a full volume, where there is no room for many, a few. */
static bool give_pages_back(struct hl_database *db)
{
    uint64_t spare = hl_data_dir_share(&db->dir, SPARE_BYTES) / PAGE_SIZE, given = 0;
    if (hl_upkeep_pages(db).free <= (is_volume_short(db) ? 0 : spare))
        return false;
    for (uint64_t most = pages_to_give(db); most > 0 && given == 0; most /= 4)
        given = hl_upkeep_vacuum(db, most);
    return given > 0;
}

bool hl_upkeep_settle(struct hl_driver *d, bool is_idle)
{
    struct hl_database *db = hl_database_of(d);
    unlink_doomed(db);
    if (is_checkpoint_due(db))
        keep_log_movable(db);
    else if (is_idle && is_worth_a_quiet_moment(db))
        (void)checkpoint(db);
    if (!is_idle)
        return false;
    if (give_pages_back(db))
        return true;
    cut_log(db);
    return db->now.n_doomed > 0 && !is_volume_short(db);
}

void hl_upkeep_reclaim(struct hl_database *db)
{
    while (is_volume_short(db) && give_pages_back(db))
        (void)checkpoint(db);
    cut_log(db);
}

static int64_t ask_time(struct hl_database *db, enum hl_sql which)
{
    struct hl_sql_row row;
    if (hl_database_row(db, which, &row) != HL_OK)
        return 0;
    int64_t ms = hl_sql_int(&row);
    hl_database_done(db, which);
    return ms;
}

/* Those that have begun are not read again the next time. */
static int64_t ask_oldest(struct hl_database *db)
{
    struct hl_sql_row row;
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_TICKET_OLDEST);
    hl_sql_bind_int(args, HL_SQL_P_FROM, db->now.oldest_queued);
    if (hl_database_row(db, HL_SQL_TICKET_OLDEST, &row) != HL_OK)
        return 0;
    int64_t ms = hl_sql_int(&row);
    db->now.oldest_queued = hl_sql_int(&row);
    hl_database_done(db, HL_SQL_TICKET_OLDEST);
    return ms;
}

void hl_upkeep_survey(struct hl_driver *d, struct hl_survey *out)
{
    struct hl_database *db = hl_database_of(d);
    *out = (struct hl_survey){
        .bytes = used_bytes(db),
        .log_bytes = log_size(db),
        .max_bytes = db->max_bytes,
        .stream_bytes = db->now.stream_bytes,
        .max_stream_bytes = db->max_stream_bytes,
        .purged_runs = db->now.purged_runs,
        .shed_runs = db->now.shed_runs,
        .shed_bodies = db->now.shed_bodies,
        .swept_files = db->swept_files,
    };
    if (d->backlog->now.queued_runs > 0) {
        out->queued_ms = ask_oldest(db);
    }
    if (d->backlog->lanes.now.pending > 0)
        out->delivery_ms = ask_time(db, HL_SQL_DELIVERY_OLDEST);
}
