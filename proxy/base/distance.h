/* distance.h - how far apart two names are: for "did you mean". */
#ifndef HL_BASE_DISTANCE_H
#define HL_BASE_DISTANCE_H

struct hl_str;

#define HL_DISTANCE_MAX 64

/* In how many letters they differ (Levenshtein). Names that have more than HL_DISTANCE_MAX are compared
 * by their beginning. */
unsigned hl_distance(struct hl_str a, struct hl_str b);

#endif
