/* slow_disk.c - preloaded into a sidecar: each write to a body's file takes as many milliseconds as
 * the file $SLOW_DISK says at that time. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int read_delay_ms(void)
{
    char text[16] = "";
    int fd = open(getenv("SLOW_DISK"), O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    return n > 0 ? atoi(text) : 0;
}

/* <data directory>/tmp/<id> */
static int is_body(int fd)
{
    char link[32], path[512];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof(path) - 1);
    path[n > 0 ? n : 0] = '\0';
    char *name = strrchr(path, '/');
    return name && name - path > 4 && memcmp(name - 4, "/tmp", 4) == 0 &&
           strstr(path, "/hookline-test-");
}

ssize_t write(int fd, const void *p, size_t n)
{
    static ssize_t (*next)(int, const void *, size_t);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "write");
    if (is_body(fd))
        for (int past = 0; past < read_delay_ms(); past++)
            usleep(1000);
    return next(fd, p, n);
}
