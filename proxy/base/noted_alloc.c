/* noted_alloc.c - see noted_alloc.h. */
#include "base/noted_alloc.h"

#include <stdlib.h>

static _Thread_local bool has_failed;

void *hl_noted_malloc(size_t n)
{
    void *p = malloc(n);
    if (!p && n > 0)
        has_failed = true;
    return p;
}

bool hl_noted_failure(void)
{
    bool is = has_failed;
    has_failed = false;
    return is;
}
