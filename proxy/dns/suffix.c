/* suffix.c - by libpsl's built-in list, or by count. Any thread; no state. */
#include "dns/suffix.h"

#include <string.h>

#ifdef HL_HAS_PSL
#include <libpsl.h>
#endif

static const char *last_labels(const char *name, int n)
{
    const char *at = name + strlen(name);
    while (at > name && (at[-1] != '.' || --n > 0))
        at--;
    return at;
}

/* NULL: it is a public suffix itself. */
static const char *registered(const char *name)
{
#ifdef HL_HAS_PSL
    const psl_ctx_t *list = psl_builtin();
    if (list)
        return psl_registrable_domain(list, name);
#endif
    return last_labels(name, 2);
}

struct hl_str hl_suffix_of(struct hl_str host, char room[HL_SUFFIX_MAX + 1])
{
    size_t n = host.n;
    if (n > 0 && host.p[n - 1] == '.')
        n--;
    if (n > HL_SUFFIX_MAX)
        n = HL_SUFFIX_MAX;
    for (size_t i = 0; i < n; i++) {
        char c = host.p[i];
        room[i] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
    room[n] = '\0';
    const char *suffix = registered(room);
    return hl_str_from(suffix ? suffix : room);
}
