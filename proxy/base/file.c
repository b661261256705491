/* file.c - opens the files that an operator names, and what stands for standard streams that are not there.
 * Promise: opening never waits, whatever is at the path. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* ---- files that an operator names ---- */

enum hl_err hl_file_open(const char *path, int *fd)
{
    struct stat st;
    *fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* a FIFO's open(2) waits for a writer */
    if (*fd < 0)
        return errno == ENXIO ? HL_ERR_NO_FILE : hl_err_from_errno(errno); /* ENXIO: a socket */
    enum hl_err err = fstat(*fd, &st) < 0 ? hl_err_from_errno(errno) : HL_OK;
    if (!err && !S_ISREG(st.st_mode))
        err = HL_ERR_NO_FILE;
    if (err) {
        close(*fd);
        *fd = -1;
    }
    return err;
}

enum hl_err hl_file_append(const char *path, struct hl_buf *out)
{
    int fd;
    enum hl_err err = hl_file_open(path, &fd);
    if (err)
        return err;
    char chunk[16 * 1024];
    ssize_t n;
    while (!err && (n = read(fd, chunk, sizeof(chunk))) != 0)
        err = n < 0 ? hl_err_from_errno(errno) : hl_buf_append(out, chunk, (size_t)n);
    close(fd);
    explicit_bzero(chunk, sizeof(chunk));
    return err;
}

void hl_file_look(const char *path, struct stat *seen)
{
    if (stat(path, seen) != 0)
        *seen = (struct stat){.st_size = -1};
}

bool hl_file_has_changed(const struct stat *a, const struct stat *b)
{
    return a->st_ino != b->st_ino || a->st_dev != b->st_dev || a->st_size != b->st_size ||
           a->st_mtim.tv_sec != b->st_mtim.tv_sec || a->st_mtim.tv_nsec != b->st_mtim.tv_nsec;
}

/* ---- descriptors 0 to 2, which a program may be started without ---- */

/* libuv aborts when it closes one of these numbers, the log would be written into a database, and a child's
 * streams would be mixed up. Thread: main, before others. */
bool hl_standard_fds_fill(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF)
            continue;
        /* The lowest number that is free: this one. Open for what nobody does with it. */
        if (open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
            return false;
    }
    return true;
}
