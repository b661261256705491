/* priority.c - see priority.h. */
#include "base/priority.h"

#include "base/assert.h"
#include "base/str.h"

static const char *const texts[] = {
#define X(name, text) text,
    HL_PRIORITY_MAP(X)
#undef X
};

const char *hl_priority_text(enum hl_priority priority)
{
    return texts[priority];
}

bool hl_priority_parse(struct hl_str text, enum hl_priority *out)
{
    for (unsigned i = 0; i < HL_PRIORITIES; i++) {
        if (!hl_str_eq(text, hl_str_from(texts[i])))
            continue;
        *out = (enum hl_priority)i;
        return true;
    }
    return false;
}

static bool waits(unsigned waiting, unsigned priority)
{
    return waiting & hl_priority_bit((enum hl_priority)priority);
}

static enum hl_priority highest_of(unsigned waiting)
{
    unsigned i = 0;
    HL_ASSERT(waiting != 0);
    while (!waits(waiting, i))
        i++;
    return (enum hl_priority)i;
}

enum hl_priority hl_priority_pick(struct hl_priority_rule rule, unsigned waiting)
{
    enum hl_priority highest = highest_of(waiting);
    unsigned lower = waiting & ~hl_priority_bit(highest);
    if (lower == 0 || rule.passed < HL_PRIORITY_SHARE - 1)
        return highest;
    unsigned next = rule.last;
    do
        next = (next + 1) % HL_PRIORITIES;
    while (!waits(lower, next));
    return (enum hl_priority)next;
}

struct hl_priority_rule hl_priority_note(
    struct hl_priority_rule rule, unsigned waiting, enum hl_priority started)
{
    if (!(waiting & ~hl_priority_bit(started)))
        return rule;
    if (started != highest_of(waiting))
        return (struct hl_priority_rule){.passed = 0, .last = (unsigned char)started};
    if (rule.passed < HL_PRIORITY_SHARE - 1)
        rule.passed++;
    return rule;
}

uint64_t hl_priority_place(const uint64_t waiting[HL_PRIORITIES], enum hl_priority class)
{
    struct hl_priority_rule rule = {0};
    uint64_t left[HL_PRIORITIES], place = 0;
    for (int i = 0; i < HL_PRIORITIES; i++)
        left[i] = waiting[i];
    for (; left[class] > 0; place++) {
        unsigned set = 0;
        for (unsigned i = 0; i < HL_PRIORITIES; i++)
            set |= left[i] > 0 ? hl_priority_bit((enum hl_priority)i) : 0;
        enum hl_priority next = hl_priority_pick(rule, set);
        rule = hl_priority_note(rule, set, next);
        left[next]--;
    }
    return place;
}
