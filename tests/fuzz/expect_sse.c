/* expect_sse.c - where an event stream stands between two events, read naively from its beginning. */
#include "expect.h"

bool expect_is_between_events(const char *p, size_t n)
{
    bool is_empty_line = true, is_between = true, is_after_cr = false;
    for (size_t i = 0; i < n; i++) {
        if (p[i] != '\r' && p[i] != '\n') {
            is_empty_line = is_between = is_after_cr = false;
            continue;
        }
        bool may_be_half = p[i] == '\r' && i + 1 == n && !is_after_cr;
        is_between = is_empty_line && !may_be_half;
        is_empty_line = true;
        is_after_cr = p[i] == '\r';
        if (is_after_cr && i + 1 < n && p[i + 1] == '\n') {
            is_after_cr = false;
            i++;
        }
    }
    return is_between;
}
