/* coding.c - see coding.h. */
#include "http/coding.h"

#include <string.h>

#include "base/str.h"

/* RFC 9110 12.4.2: 0, 0.0, 0.00 and 0.000 stand for "not acceptable". */
static bool is_zero_weight(struct hl_str parameter)
{
    if (parameter.n < 3 || (parameter.p[0] | 0x20) != 'q' || parameter.p[1] != '=')
        return false;
    for (size_t i = 2; i < parameter.n; i++)
        if (parameter.p[i] != '0' && parameter.p[i] != '.')
            return false;
    return true;
}

bool hl_coding_is_accepted(struct hl_str accept_encoding, struct hl_str coding)
{
    bool takes_any = false;
    struct hl_str element;
    while (hl_str_next_element(&accept_encoding, &element)) {
        const char *semicolon = memchr(element.p, ';', element.n);
        size_t n = semicolon ? (size_t)(semicolon - element.p) : element.n;
        struct hl_str name = hl_str_trim((struct hl_str){element.p, n});
        struct hl_str weight = {NULL, 0};
        if (semicolon)
            weight = hl_str_trim((struct hl_str){semicolon + 1, element.n - n - 1});
        if (hl_str_eq_nocase(name, coding))
            return !is_zero_weight(weight);
        if (hl_str_eq(name, HL_STR("*")))
            takes_any = !is_zero_weight(weight);
    }
    return takes_any;
}
