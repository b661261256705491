/* failing_disk.c - preloaded into a sidecar: while the file $FAILING_DISK is there, writing to the database
 * or its log, and syncing them, fails with EIO; with "sync" in that file only syncing does. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* hookline.db, hookline.db-wal */
static int fails(int fd, int is_write)
{
    char link[32], path[512];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof(path) - 1);
    path[n > 0 ? n : 0] = '\0';
    if (!strstr(path, "/hookline.db"))
        return 0;
    int wish = open(getenv("FAILING_DISK"), O_RDONLY | O_CLOEXEC);
    char text[8] = "";
    n = wish < 0 ? 0 : read(wish, text, sizeof(text) - 1);
    if (wish >= 0)
        close(wish);
    return wish >= 0 && !(is_write && strcmp(text, "sync") == 0);
}

static void *find(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

int fsync(int fd)
{
    static int (*next)(int);
    if (!next)
        *(void **)&next = find("fsync");
    return fails(fd, 0) ? (errno = EIO, -1) : next(fd);
}

int fdatasync(int fd)
{
    static int (*next)(int);
    if (!next)
        *(void **)&next = find("fdatasync");
    return fails(fd, 0) ? (errno = EIO, -1) : next(fd);
}

/* Debian's SQLite calls the one, others the other. */
ssize_t pwrite64(int fd, const void *p, size_t n, off64_t at)
{
    static ssize_t (*next)(int, const void *, size_t, off64_t);
    if (!next)
        *(void **)&next = find("pwrite64");
    return fails(fd, 1) ? (errno = EIO, -1) : next(fd, p, n, at);
}

ssize_t pwrite(int fd, const void *p, size_t n, off_t at)
{
    return pwrite64(fd, p, n, at);
}
