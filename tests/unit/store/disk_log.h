/* disk_log.h - what this process asks of the volume below one directory, in order, and what may be
 * on that volume when the power fails at any point of it.
 *
 *   recording_vfs.c   what SQLite does: writes, truncations, syncs  ──┐
 *   recorded_calls.c  what the store does by itself: names, files   ──┴▶ the log ──▶ a disk ──▶
 * images
 *
 * A disk plays the log again up to a point. What was synced is safe; what was not is there, is not
 * there, is there in part or in torn sectors (enum disk_loss). */
#ifndef HL_TEST_STORE_DISK_LOG_H
#define HL_TEST_STORE_DISK_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum disk_op {
    DISK_CREATE,   /* a new, empty file */
    DISK_MKDIR,    /* a new directory */
    DISK_RENAME,   /* the file's name is `to` */
    DISK_REMOVE,   /* the name is gone */
    DISK_SYNC_DIR, /* all of the above within the directory is safe */
    DISK_WRITE,    /* `n` bytes at `at` */
    DISK_TRUNCATE, /* the file's size is `at` */
    DISK_SYNC,     /* all of the above within the file is safe */
};

/* Each may be recorded by any thread, after the call has returned. Paths are absolute; what is not
 * below the root, or means nothing to the next process (lock, ballast, the log's shared index), is
 * left out. */
void disk_log_name(enum disk_op op, const char *path, const char *to);
void disk_log_content(enum disk_op op, const char *path, uint64_t at, const void *bytes, size_t n);

/* From here on what happens below `root` is recorded. */
void disk_log_start(const char *root);
void disk_log_stop(void);
/* How many operations there were. Any thread. */
size_t disk_log_length(void);
/* Is the operation with this number a DISK_SYNC or DISK_SYNC_DIR? */
bool disk_log_is_sync(size_t i);
/* Has the content of a file of this name been synced at or after that point? */
bool disk_log_has_sync_since(size_t from, const char *name);

/* Of what was not synced: */
enum disk_loss {
    DISK_KEEPS_ALL,
    DISK_LOSES_ALL,
    /* Each write and each name by chance: a later one without an earlier one is what reordering
     * comes to. */
    DISK_KEEPS_SOME,
    DISK_TEARS_LAST, /* all but the last writes of each file: of those some sectors */
};
#define DISK_LOSSES 4
const char *disk_loss_text(enum disk_loss loss);

struct disk;
struct disk *disk_new(void); /* empty, before the first operation */
void disk_free(struct disk *d);
/* Plays the log up to operation `upto`; never backwards. */
void disk_play(struct disk *d, size_t upto);
/* Writes what is left after a power failure now into `directory`, an empty stand-in for the root.
 * `seed` decides what chance decides. */
void disk_fail(struct disk *d, enum disk_loss loss, uint64_t seed, const char *directory);

#endif
