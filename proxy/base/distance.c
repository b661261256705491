/* distance.c - names by their distance. Pure. */
#include "base/distance.h"

#include "base/str.h"

static unsigned least_of(unsigned a, unsigned b, unsigned c)
{
    unsigned least = a < b ? a : b;
    return least < c ? least : c;
}

/* One row of the table at a time. */
unsigned hl_distance(struct hl_str a, struct hl_str b)
{
    unsigned row[HL_DISTANCE_MAX + 1];
    if (a.n > HL_DISTANCE_MAX)
        a.n = HL_DISTANCE_MAX;
    if (b.n > HL_DISTANCE_MAX)
        b.n = HL_DISTANCE_MAX;
    for (unsigned j = 0; j <= b.n; j++)
        row[j] = j;
    for (unsigned i = 1; i <= a.n; i++) {
        unsigned diagonal = row[0];
        row[0] = i;
        for (unsigned j = 1; j <= b.n; j++) {
            unsigned replaced = diagonal + (a.p[i - 1] != b.p[j - 1]);
            diagonal = row[j];
            row[j] = least_of(replaced, row[j] + 1, row[j - 1] + 1);
        }
    }
    return row[b.n];
}
