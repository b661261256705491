/* file.c - opens the files that an operator names. Any thread.
 * Promise: opening never waits, whatever is at the path. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

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
