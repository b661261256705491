/* limits.h - the limits of whoever calls, a service account or a token from outside: calls inside the app, runs
 * in the queue, calls per time, and the highest class. */
#ifndef HL_BASE_LIMITS_H
#define HL_BASE_LIMITS_H

#include <stdint.h>

#include "base/priority.h"
#include "base/rate.h"
#include "base/str.h"

#define HL_LIMIT_MAX 1000000000

/* As the REST interface calls them. */
#define HL_LIMIT_MAP(X)                                                                            \
    X(MAX_RUNNING, "max_running")                                                                  \
    X(MAX_QUEUED, "max_queued")                                                                    \
    X(RATE, "rate")                                                                                \
    X(MAX_PRIORITY, "max_priority")

enum hl_limit {
#define X(name, text) HL_LIMIT_##name,
    HL_LIMIT_MAP(X)
#undef X
        HL_LIMIT_COUNT
};
const char *hl_limit_text(enum hl_limit limit);

struct hl_limits {
    uint32_t max_running, max_queued; /* 1 to HL_LIMIT_MAX; 0: none */
    struct hl_rate rate;              /* count 0: none */
    enum hl_priority max_priority;
    uint32_t revision; /* how often they were changed: of two, the later ones */
    /* they count whatever was known: another database says them, with numbers of its own */
    bool overrules;
};

/* Whoever's for whom nothing was said. */
#define HL_LIMITS_NONE ((struct hl_limits){.max_priority = HL_PRIORITY_NORMAL})

/* Some of them, anew. */
struct hl_limits_change {
    unsigned which;      /* 1 << enum hl_limit, for each that changes */
    struct hl_limits to; /* the others mean nothing */
};
void hl_limits_apply(struct hl_limits *limits, const struct hl_limits_change *change);

/* ---- as an operator writes them: `max_running=4,rate=100/m`, each at most once. False: no such list. Nothing
 * is changed by those that it does not name ---- */

HL_MUST_CHECK bool hl_limits_parse(struct hl_str text, struct hl_limits *limits);
/* The same with a name of its own in the place of each limit's value: where it is found. `names` are slices. */
HL_MUST_CHECK bool hl_limit_names_parse(struct hl_str text, struct hl_str names[HL_LIMIT_COUNT]);

/* ---- as numbers, in the order of the columns. Of such as no limits give, the others' are made ---- */

#define HL_LIMITS_NUMBERS 6
void hl_limits_to_numbers(const struct hl_limits *limits, int64_t out[HL_LIMITS_NUMBERS]);
void hl_limits_from_numbers(struct hl_limits *limits, const int64_t numbers[HL_LIMITS_NUMBERS]);

#endif
