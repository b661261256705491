/* assert.c - what happens when one of our own invariants is broken. Any thread. */
#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>

void hl_assert_failed(const char *claim, const char *file, int line)
{
    fprintf(stderr, "hookline: bug: %s:%d: not true: %s\n", file, line, claim);
    abort();
}
