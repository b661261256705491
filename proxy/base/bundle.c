/* bundle.c - see bundle.h. Main thread, before there are others; what it notes never changes again. */
#include "base/bundle.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define AUTHORITIES "ca-certificates.crt"

static const char *launcher; /* in the environment's memory; NULL: this is no bundle */
static char authorities[PATH_MAX];

static const char *text_after(const char *entry, const char *prefix)
{
    size_t n = strlen(prefix);
    return strncmp(entry, prefix, n) == 0 ? entry + n : NULL;
}

void hl_bundle_enter(char **environment)
{
    char **to = environment;
    for (char **from = environment; *from; from++) {
        const char *program = text_after(*from, HL_BUNDLE_PROGRAM);
        if (program)
            launcher = program;
        else
            *to++ = text_after(*from, HL_BUNDLE_HIDDEN) ? *from + strlen(HL_BUNDLE_HIDDEN) : *from;
    }
    *to = NULL;
    const char *slash = launcher ? strrchr(launcher, '/') : NULL;
    if (!slash)
        return;
    prctl(PR_SET_NAME, slash + 1); /* it was the loader's */
    if (snprintf(authorities, sizeof(authorities), "%.*s/" AUTHORITIES, (int)(slash - launcher),
            launcher) >= (int)sizeof(authorities))
        authorities[0] = '\0';
}

bool hl_bundle_program(char *out, size_t out_len)
{
    if (launcher)
        return snprintf(out, out_len, "%s", launcher) < (int)out_len ||
               (errno = ENAMETOOLONG, false);
    ssize_t n = readlink("/proc/self/exe", out, out_len - 1);
    out[n < 0 ? 0 : n] = '\0';
    return n > 0;
}

const char *hl_bundle_authorities(void)
{
    return launcher && authorities[0] ? authorities : NULL;
}
