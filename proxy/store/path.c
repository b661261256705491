/* path.c - paths inside the data directory. Any thread that may block. */
#include "store/path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"

enum hl_err hl_path(char *out, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(out, HL_PATH_MAX, fmt, args);
    va_end(args);
    return n > 0 && n < HL_PATH_MAX ? HL_OK : HL_ERR_INVALID;
}

enum hl_err hl_path_sync(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return hl_err_from_errno(errno);
    enum hl_err err = fsync(fd) < 0 ? hl_err_from_errno(errno) : HL_OK;
    close(fd);
    return err;
}

enum hl_err hl_path_read(const char *path, char *out, size_t cap, size_t *n)
{
    int fd;
    enum hl_err err = hl_file_open(path, &fd);
    *n = 0;
    if (err)
        return err;
    while (*n < cap) {
        ssize_t got = read(fd, out + *n, cap - *n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            err = hl_err_from_errno(errno);
        if (got <= 0)
            break;
        *n += (size_t)got;
    }
    close(fd);
    if (!err && *n == cap)
        err = HL_ERR_TOO_LARGE;
    if (!err)
        out[*n] = '\0';
    return err;
}

enum hl_err hl_path_parent(char *out, const char *path)
{
    enum hl_err err = hl_path(out, "%s", path);
    if (err)
        return err;
    for (size_t n = strlen(out); n > 1 && out[n - 1] == '/'; n--)
        out[n - 1] = '\0';
    char *slash = strrchr(out, '/');
    if (slash)
        slash[slash == out] = '\0';
    else
        memcpy(out, ".", sizeof("."));
    return HL_OK;
}

/* Rights are not the whole truth: root has them in /proc, too, where nothing can be made. A file
 * without a name is gone with its descriptor; where the file system knows none, an empty directory
 * is made and removed. */
static enum hl_err try_to_make(const char *dir)
{
    char name[HL_PATH_MAX];
    int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0) {
        close(fd);
        return HL_OK;
    }
    enum hl_err err = hl_path(name, "%s/.hookline-XXXXXX", dir);
    if (err)
        return err;
    if (!mkdtemp(name))
        return hl_err_from_errno(errno);
    return rmdir(name) == 0 ? HL_OK : hl_err_from_errno(errno);
}

enum hl_err hl_path_may_make(const char *path)
{
    char dir[HL_PATH_MAX];
    enum hl_err err = hl_path_parent(dir, path);
    if (!err && faccessat(AT_FDCWD, dir, W_OK | X_OK, AT_EACCESS) < 0)
        err = hl_err_from_errno(errno);
    return err ? err : try_to_make(dir);
}

enum hl_err hl_path_may_write(const char *path)
{
    struct stat st;
    if (faccessat(AT_FDCWD, path, R_OK | W_OK, AT_EACCESS) == 0) {
        errno = EISDIR;
        return stat(path, &st) == 0 && S_ISDIR(st.st_mode) ? hl_err_from_errno(errno) : HL_OK;
    }
    return errno == ENOENT ? hl_path_may_make(path) : hl_err_from_errno(errno);
}

static enum hl_err sync_dir_of(const char *path)
{
    char dir[HL_PATH_MAX];
    enum hl_err err = hl_path_parent(dir, path);
    return err ? err : hl_path_sync(dir);
}

/* A write that stops short leaves errno as it was: what stopped it is said by the next one. */
static enum hl_err write_all(int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t done = write(fd, p, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return done < 0 ? hl_err_from_errno(errno) : HL_ERR_IO;
        p += done;
        n -= (size_t)done;
    }
    return fsync(fd) < 0 ? hl_err_from_errno(errno) : HL_OK;
}

enum hl_err hl_path_write(const char *path, const void *bytes, size_t n)
{
    char tmp[HL_PATH_MAX];
    enum hl_err err = hl_path(tmp, "%s.new", path);
    if (err)
        return err;
    int fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return hl_err_from_errno(errno);
    err = write_all(fd, bytes, n);
    close(fd);
    if (!err && rename(tmp, path) < 0)
        err = hl_err_from_errno(errno);
    if (err)
        unlink(tmp);
    return err ? err : sync_dir_of(path);
}

void hl_path_warn_if_shared(const char *path, const char *what)
{
    struct stat st;
    char mode[8];
    const mode_t others = S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH;
    if (stat(path, &st) < 0 || !(st.st_mode & others))
        return;
    snprintf(mode, sizeof(mode), "%04o", (unsigned)(st.st_mode & 07777));
    HL_LOG(WARN, "users other than its owner may read or write it", HL_LOG_TEXT("what", what),
        HL_LOG_TEXT("path", path), HL_LOG_TEXT("mode", mode));
}
