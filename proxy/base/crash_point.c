/* crash_point.c - ends the process where HOOKLINE_CRASH_AT says. The variable is read before main
 * and taken out of the environment: it is not a setting, and what the process starts must not have
 * it. Any thread passes points; what is asked for does not change after the start. */
#include "base/crash_point.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VARIABLE "HOOKLINE_CRASH_AT"

static const char *const texts[] = {
#define X(name, text) [HL_CRASH_##name] = (text),
    HL_CRASH_POINT_MAP(X)
#undef X
};

static enum hl_crash_point armed = HL_CRASH_POINT_COUNT; /* none */
static atomic_ulong passages_left;

const char *hl_crash_point_text(enum hl_crash_point point)
{
    return texts[point];
}

static void list(void)
{
    for (int i = 0; i < HL_CRASH_POINT_COUNT; i++)
        puts(texts[i]);
    exit(EXIT_SUCCESS);
}

__attribute__((constructor)) static void read_wish(void)
{
    const char *wish = getenv(VARIABLE);
    if (!wish)
        return;
    if (strcmp(wish, "list") == 0)
        list();
    if (!hl_crash_point_arm(wish)) {
        fprintf(stderr, VARIABLE ": \"%s\" is not <point>:<n>; \"list\" prints the points\n", wish);
        exit(EXIT_FAILURE);
    }
    unsetenv(VARIABLE);
}

bool hl_crash_point_arm(const char *wish)
{
    size_t n = strcspn(wish, ":");
    char *end;
    unsigned long count = wish[n] ? strtoul(wish + n + 1, &end, 10) : 0;
    if (count == 0 || *end)
        return false;
    for (int i = 0; i < HL_CRASH_POINT_COUNT; i++) {
        if (strlen(texts[i]) != n || strncmp(texts[i], wish, n) != 0)
            continue;
        armed = (enum hl_crash_point)i;
        atomic_store(&passages_left, count);
        return true;
    }
    return false;
}

void hl_crash_point_pass(enum hl_crash_point point)
{
    if (point == armed && atomic_fetch_sub(&passages_left, 1) == 1)
        kill(getpid(), SIGKILL);
}
