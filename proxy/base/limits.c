/* limits.c - see limits.h. Any thread. */
#include "base/limits.h"

#include <string.h>

static const char *const texts[] = {
#define X(name, text) [HL_LIMIT_##name] = (text),
    HL_LIMIT_MAP(X)
#undef X
};

/* The numbers are on disk. */
_Static_assert(HL_PRIORITY_HIGH == 0 && HL_PRIORITY_NORMAL == 1 && HL_PRIORITY_LOW == 2,
    "priorities are stored");

const char *hl_limit_text(enum hl_limit limit)
{
    return texts[limit];
}

void hl_limits_apply(struct hl_limits *limits, const struct hl_limits_change *change)
{
    if (change->which & 1u << HL_LIMIT_MAX_RUNNING)
        limits->max_running = change->to.max_running;
    if (change->which & 1u << HL_LIMIT_MAX_QUEUED)
        limits->max_queued = change->to.max_queued;
    if (change->which & 1u << HL_LIMIT_RATE)
        limits->rate = change->to.rate;
    if (change->which & 1u << HL_LIMIT_MAX_PRIORITY)
        limits->max_priority = change->to.max_priority;
    limits->revision++;
}

/* ---- as an operator writes them ---- */

static bool find_limit(struct hl_str name, enum hl_limit *limit)
{
    for (unsigned i = 0; i < HL_LIMIT_COUNT; i++) {
        *limit = (enum hl_limit)i;
        if (hl_str_eq(name, hl_str_from(texts[i])))
            return true;
    }
    return false;
}

/* Each element's text behind its `=`; those that are not named are left alone. */
bool hl_limit_names_parse(struct hl_str text, struct hl_str names[HL_LIMIT_COUNT])
{
    struct hl_str element;
    unsigned seen = 0;
    while (hl_str_next_element(&text, &element)) {
        const char *sign = memchr(element.p, '=', element.n);
        size_t before = sign ? (size_t)(sign - element.p) : element.n;
        enum hl_limit limit;
        if (before + 1 >= element.n || !find_limit((struct hl_str){element.p, before}, &limit) ||
            seen & 1u << limit)
            return false;
        seen |= 1u << limit;
        names[limit] = (struct hl_str){element.p + before + 1, element.n - before - 1};
    }
    return seen != 0;
}

static bool parse_count(struct hl_str text, uint32_t *count)
{
    uint64_t number;
    if (!hl_str_to_u64(text, &number) || number < 1 || number > HL_LIMIT_MAX)
        return false;
    *count = (uint32_t)number;
    return true;
}

bool hl_limits_parse(struct hl_str text, struct hl_limits *limits)
{
    struct hl_str of[HL_LIMIT_COUNT] = {{0}};
    return hl_limit_names_parse(text, of) &&
           (of[HL_LIMIT_MAX_RUNNING].n == 0 ||
               parse_count(of[HL_LIMIT_MAX_RUNNING], &limits->max_running)) &&
           (of[HL_LIMIT_MAX_QUEUED].n == 0 ||
               parse_count(of[HL_LIMIT_MAX_QUEUED], &limits->max_queued)) &&
           (of[HL_LIMIT_RATE].n == 0 || hl_rate_parse(of[HL_LIMIT_RATE], &limits->rate)) &&
           (of[HL_LIMIT_MAX_PRIORITY].n == 0 ||
               hl_priority_parse(of[HL_LIMIT_MAX_PRIORITY], &limits->max_priority));
}

/* ---- as numbers ---- */

void hl_limits_to_numbers(const struct hl_limits *limits, int64_t out[HL_LIMITS_NUMBERS])
{
    out[0] = limits->max_running;
    out[1] = limits->max_queued;
    out[2] = limits->rate.count;
    out[3] = limits->rate.window_s;
    out[4] = limits->max_priority;
    out[5] = limits->revision;
}

/* What is too large limits nothing that is smaller. */
static uint32_t limit_from(int64_t number)
{
    return number < 0 ? 0 : number > HL_LIMIT_MAX ? HL_LIMIT_MAX : (uint32_t)number;
}

void hl_limits_from_numbers(struct hl_limits *limits, const int64_t numbers[HL_LIMITS_NUMBERS])
{
    *limits = HL_LIMITS_NONE;
    limits->max_running = limit_from(numbers[0]);
    limits->max_queued = limit_from(numbers[1]);
    struct hl_rate rate = {.count = limit_from(numbers[2]), .window_s = limit_from(numbers[3])};
    if (hl_rate_is_valid(rate))
        limits->rate = rate;
    if (numbers[4] >= 0 && numbers[4] < HL_PRIORITIES)
        limits->max_priority = (enum hl_priority)numbers[4];
    limits->revision = (uint32_t)numbers[5];
}
