/* priority.h - the classes of calls, and which of them starts next (contract 7): of eight starts for which
 * several classes wait, the eighth goes to the lower ones in turn, the rest to the highest. */
#ifndef HL_BASE_PRIORITY_H
#define HL_BASE_PRIORITY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

struct hl_str;

/* Highest first. */
#define HL_PRIORITY_MAP(X)                                                                         \
    X(HIGH, "high")                                                                                \
    X(NORMAL, "normal")                                                                            \
    X(LOW, "low")

enum hl_priority {
#define X(name, text) HL_PRIORITY_##name,
    HL_PRIORITY_MAP(X)
#undef X
        HL_PRIORITIES
};

const char *hl_priority_text(enum hl_priority priority);
HL_MUST_CHECK bool hl_priority_parse(struct hl_str text, enum hl_priority *out);

/* As it stands in a database; normal, when that is none. */
static inline enum hl_priority hl_priority_of(int number)
{
    bool is_one = number >= 0 && number < HL_PRIORITIES;
    return is_one ? (enum hl_priority)number : HL_PRIORITY_NORMAL;
}

/* A set of classes. */
static inline unsigned hl_priority_bit(enum hl_priority priority)
{
    return 1u << priority;
}

/* Of a share of starts, one in so many goes to those that come second: lower classes, queued runs. */
#define HL_PRIORITY_SHARE 8

/* How far the starts have come. All zero is the beginning. */
struct hl_priority_rule {
    unsigned char passed; /* starts for which several classes waited, since the last lower one */
    unsigned char last;   /* the class that this one was of */
};

/* Whose start is next of those that wait, which are not none. */
enum hl_priority hl_priority_pick(struct hl_priority_rule rule, unsigned waiting);
/* The how manyth start is that of the last one of `class`, if so many of each wait and none comes later. */
uint64_t hl_priority_place(const uint64_t waiting[HL_PRIORITIES], enum hl_priority class);
/* `started` has started while those waited. */
struct hl_priority_rule hl_priority_note(
    struct hl_priority_rule rule, unsigned waiting, enum hl_priority started);

#endif
