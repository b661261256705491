/* recording_vfs.c - see recording_vfs.h. Files stay the system's own: behind each one's struct is
 * ours, with its path and a table of methods that differs from the system's in three places. */
#include "recording_vfs.h"

#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "disk_log.h"

struct recorded {
    const sqlite3_io_methods *system;
    sqlite3_io_methods methods;
    char path[PATH_MAX];
};

static sqlite3_vfs *system_vfs;
static sqlite3_vfs recording;

static struct recorded *recorded(sqlite3_file *file)
{
    return (struct recorded *)((char *)file + system_vfs->szOsFile);
}

static int on_write(sqlite3_file *file, const void *p, int n, sqlite3_int64 at)
{
    int rc = recorded(file)->system->xWrite(file, p, n, at);
    if (rc == SQLITE_OK)
        disk_log_content(DISK_WRITE, recorded(file)->path, (uint64_t)at, p, (size_t)n);
    return rc;
}

static int on_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    int rc = recorded(file)->system->xTruncate(file, size);
    if (rc == SQLITE_OK)
        disk_log_content(DISK_TRUNCATE, recorded(file)->path, (uint64_t)size, NULL, 0);
    return rc;
}

/* With the first sync of a journal or log the system's VFS syncs the directory too: that goes
 * through fdatasync (recorded_calls.c). */
static int on_sync(sqlite3_file *file, int flags)
{
    int rc = recorded(file)->system->xSync(file, flags);
    if (rc == SQLITE_OK)
        disk_log_content(DISK_SYNC, recorded(file)->path, 0, NULL, 0);
    return rc;
}

static int on_open(
    sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out_flags)
{
    (void)vfs;
    bool is_new = name && access(name, F_OK) != 0;
    int rc = system_vfs->xOpen(system_vfs, name, file, flags, out_flags);
    if (rc != SQLITE_OK || !name)
        return rc;
    struct recorded *r = recorded(file);
    snprintf(r->path, sizeof(r->path), "%s", name);
    r->system = file->pMethods;
    r->methods = *r->system;
    r->methods.xWrite = on_write;
    r->methods.xTruncate = on_truncate;
    r->methods.xSync = on_sync;
    file->pMethods = &r->methods;
    if (is_new)
        disk_log_name(DISK_CREATE, name, NULL);
    return rc;
}

static void synced_directory_of(const char *name)
{
    char directory[PATH_MAX];
    snprintf(directory, sizeof(directory), "%.*s", (int)(strrchr(name, '/') - name), name);
    disk_log_name(DISK_SYNC_DIR, directory, NULL);
}

static int on_delete(sqlite3_vfs *vfs, const char *name, int syncs_directory)
{
    (void)vfs;
    int rc = system_vfs->xDelete(system_vfs, name, syncs_directory);
    if (rc != SQLITE_OK)
        return rc;
    disk_log_name(DISK_REMOVE, name, NULL);
    if (syncs_directory)
        synced_directory_of(name);
    return rc;
}

void recording_vfs_install(void)
{
    system_vfs = sqlite3_vfs_find(NULL);
    recording = *system_vfs;
    recording.zName = "recording";
    recording.szOsFile = system_vfs->szOsFile + (int)sizeof(struct recorded);
    recording.xOpen = on_open;
    recording.xDelete = on_delete;
    sqlite3_vfs_register(&recording, 1);
}
