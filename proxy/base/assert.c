/* assert.c - what happens when one of our own invariants is broken. Any thread. */
#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log_sink.h"

void hl_assert_failed(const char *claim, const char *file, int line)
{
    char text[512]; /* written in one piece, and not at all where it would wait forever */
    snprintf(text, sizeof(text), "hookline: bug: %s:%d: assertion failed: %s\n", file, line, claim);
    hl_log_sink_put_last(text, strlen(text));
    abort();
}
