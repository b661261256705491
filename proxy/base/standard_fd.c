/* standard_fd.c - see standard_fd.h. libuv aborts when it closes one of these numbers, the log would
 * be written into a database, and a child's streams would be mixed up. Thread: main, before others. */
#include "base/standard_fd.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

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
