/* data_dir.c - the data directory. At start, except for the questions of space and the ballast,
 * which are the store's thread's.
 *
 * The lock is flock(2) on store.lock: it goes with the process however that ends, so that who gets
 * it knows that no other process uses the database. The pid in the file is only for the message. */
#include "store/data_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/crash_point.h"
#include "base/id.h"
#include "base/log.h"
#include "base/str.h"
#include "store/path.h"

#define SOFT_LIMIT_MAX (64u << 20)
#define RESERVE_MAX    (24u << 20) /* more than the log is let grow to before a checkpoint */

#define LUSTRE_SUPER_MAGIC 0x0bd00bd0 /* its own sources */
#define GFS2_MAGIC         0x01161970 /* linux/gfs2_ondisk.h */

/* Locks, fsync or shared memory of a WAL do not mean on these what they mean on a local disk. */
static const struct {
    uint64_t magic;
    const char *name;
} refused[] = {
    {NFS_SUPER_MAGIC, "NFS"},
    {SMB_SUPER_MAGIC, "SMB"},
    {SMB2_SUPER_MAGIC, "SMB"},
    {CIFS_SUPER_MAGIC, "CIFS"},
    {FUSE_SUPER_MAGIC, "FUSE"},
    {V9FS_MAGIC, "9p"},
    {CEPH_SUPER_MAGIC, "Ceph"},
    {AFS_SUPER_MAGIC, "AFS"},
    {AFS_FS_MAGIC, "AFS"},
    {CODA_SUPER_MAGIC, "Coda"},
    {OCFS2_SUPER_MAGIC, "OCFS2"},
    {LUSTRE_SUPER_MAGIC, "Lustre"},
    {GFS2_MAGIC, "GFS2"},
};

bool hl_data_dir_is_refused(uint64_t magic, const char **name)
{
    for (size_t i = 0; i < HL_ARRAY_LEN(refused); i++) {
        if (refused[i].magic == magic) {
            *name = refused[i].name;
            return true;
        }
    }
    return false;
}

static bool is_there(const char *name)
{
    struct stat st;
    return lstat(name, &st) == 0;
}

/* What is there under that name is one, or leads to one. */
static enum hl_err must_be_dir(const char *name)
{
    struct stat st;
    if (stat(name, &st) < 0)
        return hl_err_from_errno(errno);
    if (S_ISDIR(st.st_mode))
        return HL_OK;
    errno = ENOTDIR;
    return HL_ERR_INVALID;
}

/* A new directory's own name is made durable here; that of what is in it when the database is. */
static enum hl_err make_dir(const char *name, bool is_outermost)
{
    char parent[HL_PATH_MAX];
    if (mkdir(name, 0700) < 0)
        return errno == EEXIST ? must_be_dir(name) : hl_err_from_errno(errno);
    enum hl_err err = is_outermost ? hl_path(parent, "%s/..", name) : HL_OK;
    return err || !is_outermost ? err : hl_path_sync(parent);
}

/* What make_dir would say. */
static enum hl_err may_make_dir(const char *name)
{
    return is_there(name)    ? must_be_dir(name)
           : errno == ENOENT ? hl_path_may_make(name)
                             : hl_err_from_errno(errno);
}

/* `is_dry`: says what making them would. */
static enum hl_err make_dirs(const char *path, bool is_dry, char *why, size_t why_len)
{
    static const char *const names[] = {"", "/tmp", "/bodies"};
    size_t n = is_dry && !is_there(path) ? 1 : HL_ARRAY_LEN(names);
    for (size_t i = 0; i < n; i++) {
        char name[HL_PATH_MAX];
        enum hl_err err = hl_path(name, "%s%s", path, names[i]);
        if (!err)
            err = is_dry ? may_make_dir(name) : make_dir(name, i == 0);
        if (err) {
            snprintf(why, why_len, "HOOKLINE_DATA_DIR: cannot make the data directory %s%s: %s; %s",
                path, names[i], strerror(errno),
                errno == ENOTDIR ? "move away what is in its place"
                                 : "its parent directory must exist and be writable for the user "
                                   "that hookline runs as");
            return err;
        }
    }
    return HL_OK;
}

/* `at`: the directory itself, or the one that it would be made in. */
static enum hl_err check_volume(const char *path, const char *at, char *why, size_t why_len)
{
    struct statfs volume;
    const char *name;
    if (statfs(at, &volume) < 0) {
        snprintf(why, why_len, "HOOKLINE_DATA_DIR: cannot use the data directory %s: %s", path,
            strerror(errno));
        return hl_err_from_errno(errno);
    }
    if (hl_data_dir_is_refused((uint64_t)(uint32_t)volume.f_type, &name)) {
        snprintf(why, why_len,
            "HOOKLINE_DATA_DIR: the data directory %s is on a network file system (%s), where a "
            "database is not safe:"
            " put it on a local volume, or set HOOKLINE_STORE=memory",
            path, name);
        return HL_ERR_INVALID;
    }
    return HL_OK;
}

/* Bodies are written in the one and renamed into the other. Nothing has that name, so that nothing is renamed: only
 * whether it could be is answered (rename(2), EXDEV), and st_dev tells volumes apart that one mount has. */
static enum hl_err check_bodies(const char *path, char *why, size_t why_len)
{
    char tmp[HL_PATH_MAX], bodies[HL_PATH_MAX], from[HL_PATH_MAX], to[HL_PATH_MAX];
    struct stat here, there;
    enum hl_err err = hl_path(tmp, "%s/tmp", path);
    if (!err)
        err = hl_path(bodies, "%s/bodies", path);
    if (!err)
        err = hl_path(from, "%s/no-file", tmp);
    if (!err)
        err = hl_path(to, "%s/no-file", bodies);
    if (err || stat(tmp, &here) < 0 || stat(bodies, &there) < 0)
        return err;
    if (here.st_dev == there.st_dev && (rename(from, to) == 0 || errno != EXDEV))
        return HL_OK;
    snprintf(why, why_len,
        "HOOKLINE_DATA_DIR: %s and %s are on different volumes, and files are moved from the one "
        "to the other: mount a volume at the data directory, not at what is in it",
        bodies, tmp);
    return HL_ERR_INVALID;
}

static enum hl_err refuse_second(int fd, const char *path, char *why, size_t why_len)
{
    char pid[32];
    ssize_t n = pread(fd, pid, sizeof(pid) - 1, 0);
    pid[n > 0 ? n : 0] = '\0';
    pid[strcspn(pid, "\n")] = '\0';
    snprintf(why, why_len,
        "HOOKLINE_DATA_DIR: the data directory %s is in use by process %s, which still holds its "
        "lock (it may be shutting down: HOOKLINE_DRAIN_TIMEOUT); start this one again when it has "
        "ended",
        path, n > 0 ? pid : "unknown");
    return HL_ERR_BUSY;
}

static enum hl_err refuse_lock(const char *path, char *why, size_t why_len)
{
    snprintf(why, why_len,
        "HOOKLINE_DATA_DIR: cannot write in the data directory %s: %s; it must be writable for the "
        "user that hookline runs as",
        path, strerror(errno));
    return hl_err_from_errno(errno);
}

static enum hl_err take_lock(struct hl_data_dir *dir, char *why, size_t why_len)
{
    char name[HL_PATH_MAX];
    enum hl_err err = hl_path(name, "%s/store.lock", dir->path);
    if (err)
        return err;
    int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return refuse_lock(dir->path, why, why_len);
    if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        err = refuse_second(fd, dir->path, why, why_len);
        close(fd);
        return err;
    }
    if (ftruncate(fd, 0) < 0 || dprintf(fd, "%ld\n", (long)getpid()) < 0)
        HL_LOG(WARN, "store: cannot write this process's id into the lock file",
            HL_LOG_TEXT("path", name));
    dir->lock_fd = fd;
    return HL_OK;
}

static enum hl_err resolve(struct hl_data_dir *dir, const char *path, char *why, size_t why_len)
{
    dir->path = realpath(path, NULL);
    if (dir->path)
        return HL_OK;
    snprintf(why, why_len, "HOOKLINE_DATA_DIR: cannot use the data directory %s: %s", path,
        strerror(errno));
    return hl_err_from_errno(errno);
}

enum hl_err hl_data_dir_open(struct hl_data_dir *dir, const char *path, char *why, size_t why_len)
{
    *dir = (struct hl_data_dir){.lock_fd = -1};
    enum hl_err err = make_dirs(path, false, why, why_len);
    if (!err)
        err = check_volume(path, path, why, why_len);
    if (!err)
        err = check_bodies(path, why, why_len);
    if (!err)
        err = resolve(dir, path, why, why_len);
    if (!err)
        err = take_lock(dir, why, why_len);
    if (err) {
        hl_data_dir_close(dir);
        return err;
    }
    hl_path_warn_if_shared(dir->path, "the data directory");
    struct statvfs volume;
    if (statvfs(dir->path, &volume) == 0)
        dir->volume_size = (uint64_t)volume.f_blocks * volume.f_frsize;
    return HL_OK;
}

static enum hl_err may_take_lock(const struct hl_data_dir *dir, char *why, size_t why_len)
{
    char name[HL_PATH_MAX];
    enum hl_err err = hl_path(name, "%s/store.lock", dir->path);
    if (!err && hl_path_may_write(name) != HL_OK)
        err = refuse_lock(dir->path, why, why_len);
    return err;
}

enum hl_err hl_data_dir_look(struct hl_data_dir *dir, const char *path, char *why, size_t why_len)
{
    char around[HL_PATH_MAX];
    *dir = (struct hl_data_dir){.lock_fd = -1};
    bool is_new = !is_there(path);
    enum hl_err err = hl_path_parent(around, path);
    if (!err)
        err = make_dirs(path, true, why, why_len);
    if (!err)
        err = check_volume(path, is_new ? around : path, why, why_len);
    if (!err && !is_new)
        err = check_bodies(path, why, why_len);
    if (err || is_new)
        return err;
    err = resolve(dir, path, why, why_len);
    if (!err)
        err = may_take_lock(dir, why, why_len);
    if (err)
        hl_data_dir_close(dir);
    else
        hl_path_warn_if_shared(dir->path, "the data directory");
    return err;
}

static int open_bodies(const char *path)
{
    char name[HL_PATH_MAX];
    if (hl_path(name, "%s/bodies", path) != HL_OK) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

int hl_data_dir_hold_bodies(const char *path)
{
    int fd = open_bodies(path);
    if (fd < 0 || flock(fd, LOCK_SH) == 0)
        return fd;
    close(fd);
    return -1;
}

/* Where that cannot be asked nobody is kept from it. */
bool hl_data_dir_take_bodies(struct hl_data_dir *dir)
{
    if (dir->bodies_fd <= 0)
        dir->bodies_fd = open_bodies(dir->path);
    return dir->bodies_fd < 0 || flock(dir->bodies_fd, LOCK_EX | LOCK_NB) == 0 ||
           errno != EWOULDBLOCK;
}

void hl_data_dir_release_bodies(struct hl_data_dir *dir)
{
    if (dir->bodies_fd > 0)
        flock(dir->bodies_fd, LOCK_UN);
}

void hl_data_dir_close(struct hl_data_dir *dir)
{
    if (dir->lock_fd >= 0)
        close(dir->lock_fd);
    if (dir->bodies_fd > 0)
        close(dir->bodies_fd);
    free(dir->path);
    *dir = (struct hl_data_dir){.lock_fd = -1};
}

uint64_t hl_data_dir_free_bytes(const struct hl_data_dir *dir)
{
    struct statvfs volume;
    if (statvfs(dir->path, &volume) < 0)
        return 0;
    return (uint64_t)volume.f_bavail * volume.f_frsize;
}

uint64_t hl_data_dir_share(const struct hl_data_dir *dir, uint64_t most)
{
    uint64_t twentieth = dir->volume_size / 20;
    return twentieth < most ? twentieth : most;
}

uint64_t hl_data_dir_soft_limit(const struct hl_data_dir *dir)
{
    return hl_data_dir_share(dir, SOFT_LIMIT_MAX);
}

uint64_t hl_data_dir_reserve_size(const struct hl_data_dir *dir)
{
    return hl_data_dir_share(dir, RESERVE_MAX);
}

void hl_data_dir_make_reserve(struct hl_data_dir *dir)
{
    uint64_t size = hl_data_dir_reserve_size(dir);
    char name[HL_PATH_MAX];
    struct stat file;
    if (dir->reserve > 0 || hl_path(name, "%s/ballast", dir->path) != HL_OK)
        return;
    if (stat(name, &file) == 0 && (uint64_t)file.st_blocks * 512 >= size) {
        dir->reserve = size;
        return;
    }
    if (hl_data_dir_free_bytes(dir) < size + hl_data_dir_soft_limit(dir))
        return;
    int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    if (posix_fallocate(fd, 0, (off_t)size) == 0)
        dir->reserve = size;
    else
        unlink(name);
    close(fd);
    HL_CRASH_POINT(RESERVE_MADE);
}

void hl_data_dir_release_reserve(struct hl_data_dir *dir)
{
    char name[HL_PATH_MAX];
    if (dir->reserve > 0 && hl_path(name, "%s/ballast", dir->path) == HL_OK)
        unlink(name);
    dir->reserve = 0;
    HL_CRASH_POINT(RESERVE_RELEASED);
}

void hl_data_dir_use_reserve_if_short(struct hl_data_dir *dir)
{
    char name[HL_PATH_MAX];
    struct stat file;
    if (hl_data_dir_free_bytes(dir) >= hl_data_dir_soft_limit(dir) ||
        hl_path(name, "%s/ballast", dir->path) != HL_OK || stat(name, &file) < 0)
        return;
    dir->reserve = (uint64_t)file.st_size;
    hl_data_dir_release_reserve(dir);
}

/* --- the mark of an import ---------------------------------------------------------------- */

/* The first line of the file is the id of the move, what follows is for people. */
enum hl_err hl_imported_mark_read(const char *data_dir, struct hl_id *id)
{
    char path[HL_PATH_MAX], text[1024];
    size_t n;
    enum hl_err err = hl_path(path, "%s/moved", data_dir);
    if (!err)
        err = hl_path_read(path, text, sizeof(text), &n);
    if (err)
        return err;
    return n >= HL_ID_TEXT && hl_id_parse((struct hl_str){text, HL_ID_TEXT}, id) ? HL_OK
                                                                                 : HL_ERR_INVALID;
}

enum hl_err hl_imported_mark_write(const char *data_dir, const struct hl_id *id, const char *where)
{
    char path[HL_PATH_MAX], name[HL_ID_TEXT], text[1024];
    hl_id_format(id, name);
    int n = snprintf(text, sizeof(text), "%.*s\n%s\n", HL_ID_TEXT, name, where);
    enum hl_err err = hl_path(path, "%s/moved", data_dir);
    return err ? err : hl_path_write(path, text, (size_t)n);
}

enum hl_err hl_imported_mark_check(const char *data_dir, char *why, size_t why_len)
{
    char path[HL_PATH_MAX];
    struct stat st;
    enum hl_err err = hl_path(path, "%s/moved", data_dir);
    if (err || lstat(path, &st) != 0)
        return err;
    snprintf(why, why_len,
        "HOOKLINE_DATA_DIR: the store in %s was moved to PostgreSQL (hookline store import): what "
        "is queued in it would run twice; start with HOOKLINE_STORE=postgres, or, if nothing "
        "arrived there, remove the file %s",
        data_dir, path);
    return HL_ERR_DENIED;
}
