/* screen.c - terminals: their width, whether they have colours, and times as people say them. */
#include "cli/screen.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/compiler.h"

#define WIDTH_DEFAULT 80 /* of a terminal that does not know its own */

/* https://no-color.org: whatever it says, unless it is empty. */
static bool wants_color(void)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    return !(no_color && *no_color) && !(term && strcmp(term, "dumb") == 0);
}

struct hl_cli_screen hl_cli_screen_of(FILE *out)
{
    struct winsize size = {.ws_col = 0};
    struct hl_cli_screen screen = {.is_terminal = isatty(fileno(out)) == 1};
    if (!screen.is_terminal)
        return screen;
    screen.has_color = wants_color();
    screen.width =
        ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : WIDTH_DEFAULT;
    return screen;
}

const char *hl_cli_color_of(const struct hl_cli_screen *screen, const char *word)
{
    static const struct {
        const char *word, *color;
    } colors[] = {{"failure", "\033[31m"}, {"dead", "\033[31m"}, {"failed", "\033[31m"},
        {"error", "\033[31m"}, {"success", "\033[32m"}, {"delivered", "\033[32m"},
        {"good", "\033[32m"}, {"queued", "\033[33m"}, {"running", "\033[33m"},
        {"pending", "\033[33m"}, {"retry", "\033[33m"}, {"warn", "\033[33m"},
        {"cancelled", "\033[2m"}, {"revoked", "\033[2m"}, {"expired", "\033[2m"}};
    for (size_t i = 0; screen->has_color && i < HL_ARRAY_LEN(colors); i++)
        if (strcmp(word, colors[i].word) == 0)
            return colors[i].color;
    return "";
}

const char *hl_cli_color_faint(const struct hl_cli_screen *screen)
{
    return screen->has_color ? "\033[2m" : "";
}

const char *hl_cli_color_end(const struct hl_cli_screen *screen)
{
    return screen->has_color ? "\033[0m" : "";
}

const char *hl_cli_ago(int64_t wall_ms, int64_t now_ms, char *into)
{
    static const struct {
        int64_t ms;
        const char *name;
    } units[] = {{24 * 3600000, "d"}, {3600000, "h"}, {60000, "min"}, {1000, "s"}};
    int64_t off = now_ms > wall_ms ? now_ms - wall_ms : wall_ms - now_ms;
    size_t i = 0;
    while (i < HL_ARRAY_LEN(units) - 1 && off < units[i].ms)
        i++;
    snprintf(into, HL_CLI_AGO, wall_ms > now_ms ? "in %" PRId64 " %s" : "%" PRId64 " %s ago",
        off / units[i].ms, units[i].name);
    return into;
}
