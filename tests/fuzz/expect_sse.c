/* expect_sse.c - where an event stream stands between two events, read naively from its beginning. */
#include "expect.h"

bool expect_is_between_events(const char *p, size_t n)
{
    bool is_empty_line = true, is_between = true;
    for (size_t i = 0; i < n; i++) {
        if (p[i] != '\r' && p[i] != '\n') {
            is_empty_line = is_between = false;
            continue;
        }
        is_between = is_empty_line;
        is_empty_line = true;
        if (p[i] == '\r' && i + 1 < n && p[i + 1] == '\n')
            i++;
    }
    return is_between;
}
