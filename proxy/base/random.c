/* random.c - bytes from the kernel's generator. */
#include "base/random.h"

#include <errno.h>
#include <sys/random.h>
#include <sys/types.h>

#include "base/assert.h"

void hl_random_fill(void *out, size_t n)
{
    char *p = out;
    while (n > 0) {
        ssize_t got = getrandom(p, n, 0);
        if (got < 0 && errno == EINTR)
            continue;
        HL_ASSERT(got > 0);
        p += got;
        n -= (size_t)got;
    }
}
