/* reserve.c - descriptors that are held back, by a soft limit of open files below the one that holds.
 * Thread: any; one at a time raises the limit, for as long as an accept takes.
 * Not here: whose connection may have one (the listeners' owners). */
#include "net/reserve.h"

#include <errno.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/socket.h>

#define SHARE 8 /* at most one of so many that the process may have */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct rlimit with_reserve, without;

void hl_reserve_hold(unsigned most)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return;
    with_reserve = without = limit;
    without.rlim_cur -= limit.rlim_cur / SHARE < most ? limit.rlim_cur / SHARE : most;
    setrlimit(RLIMIT_NOFILE, &without);
}

int hl_reserve_accept(int listening_fd)
{
    if (with_reserve.rlim_cur == without.rlim_cur) {
        errno = EMFILE;
        return -1;
    }
    pthread_mutex_lock(&lock);
    setrlimit(RLIMIT_NOFILE, &with_reserve);
    int fd = accept4(listening_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC), err = errno;
    setrlimit(RLIMIT_NOFILE, &without);
    pthread_mutex_unlock(&lock);
    errno = err;
    return fd;
}
