/* recorded_calls.c - the C library's functions that give files their names and make them safe, in
 * front of the library's own in this program. They do what those do and tell the disk log
 * (disk_log.h) what the store does by itself: directories, the key, bodies. SQLite's own files are
 * recording_vfs.c's; of SQLite only the syncs of directories come by here.
 *
 * Writes are not recorded: the log has a file's bytes when they are synced, and before that it is
 * empty, which is the worst that may happen to them. */
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <syscall.h>
#include <unistd.h>

#include "disk_log.h"

static int done(long rc, enum disk_op op, const char *path, const char *to)
{
    if (rc >= 0)
        disk_log_name(op, path, to);
    return (int)rc;
}

int open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
    va_end(args);
    bool is_new = (flags & O_CREAT) && access(path, F_OK) != 0;
    long fd = syscall(SYS_openat, AT_FDCWD, path, flags, mode);
    return is_new ? done(fd, DISK_CREATE, path, NULL) : (int)fd;
}

int mkdir(const char *path, mode_t mode)
{
    return done(syscall(SYS_mkdirat, AT_FDCWD, path, mode), DISK_MKDIR, path, NULL);
}

int rename(const char *from, const char *to)
{
    return done(syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0), DISK_RENAME, from, to);
}

int unlink(const char *path)
{
    return done(syscall(SYS_unlinkat, AT_FDCWD, path, 0), DISK_REMOVE, path, NULL);
}

static void path_of(int fd, char path[PATH_MAX])
{
    char name[64];
    snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    ssize_t n = readlink(name, path, PATH_MAX - 1);
    path[n > 0 ? n : 0] = '\0';
}

int unlinkat(int directory, const char *name, int flags)
{
    char path[PATH_MAX], full[PATH_MAX + 256];
    path_of(directory, path);
    snprintf(full, sizeof(full), "%s/%s", path, name);
    return done(syscall(SYS_unlinkat, directory, name, flags), DISK_REMOVE, full, NULL);
}

static void tell_content(const char *path, size_t size)
{
    char *bytes = malloc(size + 1);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = read(fd, bytes, size);
    close(fd);
    disk_log_content(DISK_TRUNCATE, path, 0, NULL, 0);
    disk_log_content(DISK_WRITE, path, 0, bytes, n > 0 ? (size_t)n : 0);
    disk_log_content(DISK_SYNC, path, 0, NULL, 0);
    free(bytes);
}

static int sync_by(long number, int fd)
{
    char path[PATH_MAX];
    struct stat file;
    long rc = syscall(number, fd);
    if (rc < 0 || fstat(fd, &file) < 0)
        return (int)rc;
    path_of(fd, path);
    if (S_ISDIR(file.st_mode))
        disk_log_name(DISK_SYNC_DIR, path, NULL);
    else if (number == SYS_fsync)
        tell_content(path, (size_t)file.st_size);
    return (int)rc;
}

int fsync(int fd)
{
    return sync_by(SYS_fsync, fd);
}

int fdatasync(int fd)
{
    return sync_by(SYS_fdatasync, fd);
}
