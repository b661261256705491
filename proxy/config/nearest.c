/* nearest.c - names of settings by their distance, and by words that mean the same. Runs at start. */
#include "config/nearest.h"

#include <string.h>

#include "base/assert.h"
#include "base/compiler.h"
#include "base/str.h"
#include "config/option.h"

struct guess {
    const struct hl_option *option;
    unsigned distance;
};

static void guess_by_letters(struct hl_str name, struct guess *best)
{
    for (size_t i = 0; i < hl_option_count; i++) {
        unsigned d = hl_distance(name, hl_str_from(hl_options[i].name));
        if (!best->option || d < best->distance)
            *best = (struct guess){&hl_options[i], d};
    }
}

/* Words of other programs' settings, and ours. */
static const struct {
    struct hl_str theirs, ours;
} meanings[] = {
#define ROW(theirs, ours)                                                                          \
    {                                                                                              \
        {theirs, sizeof(theirs) - 1},                                                              \
        {                                                                                          \
            ours, sizeof(ours) - 1                                                                 \
        }                                                                                          \
    }
    ROW("RETRIES", "ATTEMPTS"),
    ROW("MAX_RETRIES", "ATTEMPTS"),
    ROW("TRIES", "ATTEMPTS"),
    ROW("BACKOFF", "RETRY_DELAY"),
    ROW("PARALLELISM", "CONCURRENCY"),
    ROW("MAX_CONCURRENCY", "CONCURRENCY"),
    ROW("THREADS", "WORKERS"),
    ROW("PORT", "LISTEN"),
    ROW("BIND", "LISTEN"),
    ROW("ADDRESS", "LISTEN"),
    ROW("UPSTREAM", "APP_URL"),
    ROW("UPSTREAM_URL", "APP_URL"),
    ROW("BACKEND", "APP_URL"),
    ROW("BACKEND_URL", "APP_URL"),
    ROW("TARGET", "APP_URL"),
    ROW("CMD", "COMMAND"),
    ROW("COMMAND", "APP_COMMAND"),
    ROW("DATABASE_URL", "POSTGRES_URL"),
    ROW("DB_URL", "POSTGRES_URL"),
    ROW("PG_URL", "POSTGRES_URL"),
    ROW("TTL", "RETENTION"),
    ROW("ENCRYPTION_KEY", "KEY"),
    ROW("SECRET_KEY", "KEY"),
    ROW("PROJECT", "PROJECT_ID"),
    ROW("HOOK", "WEBHOOK"),
    ROW("WEBHOOKS", "WEBHOOK"),
    ROW("DEBUG", "LOG_LEVEL"),
#undef ROW
};

/* Where the words stand in the name, between underscores; its length: nowhere. */
static size_t find_words(struct hl_str name, struct hl_str words)
{
    for (size_t at = 0; at + words.n <= name.n; at++) {
        size_t end = at + words.n;
        bool begins = at == 0 || name.p[at - 1] == '_';
        if (begins && (end == name.n || name.p[end] == '_') &&
            memcmp(name.p + at, words.p, words.n) == 0)
            return at;
    }
    return name.n;
}

static void guess_by_meaning(
    struct hl_str name, struct hl_str theirs, struct hl_str ours, struct guess *best)
{
    char meant[2 * HL_DISTANCE_MAX];
    size_t at = find_words(name, theirs);
    if (at == name.n || name.n > HL_DISTANCE_MAX)
        return;
    struct hl_str rest = {name.p + at + theirs.n, name.n - at - theirs.n};
    memcpy(meant, name.p, at);
    memcpy(meant + at, ours.p, ours.n);
    memcpy(meant + at + ours.n, rest.p, rest.n);
    guess_by_letters((struct hl_str){meant, at + ours.n + rest.n}, best);
}

const struct hl_option *hl_nearest_option(struct hl_str name)
{
    struct guess best = {NULL, 0};
    for (size_t i = 0; i < HL_ARRAY_LEN(meanings); i++)
        guess_by_meaning(name, meanings[i].theirs, meanings[i].ours, &best);
    guess_by_letters(name, &best);
    HL_ASSERT(best.option);
    return best.option;
}
