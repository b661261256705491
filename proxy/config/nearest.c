/* nearest.c - names of settings by their distance. Runs at start. */
#include "config/nearest.h"

#include "base/assert.h"

#define LONGEST_NAME 64 /* longer ones are compared by their beginning */

static unsigned least_of(unsigned a, unsigned b, unsigned c)
{
    unsigned least = a < b ? a : b;
    return least < c ? least : c;
}

/* Levenshtein's distance, one row of the table at a time. */
static unsigned distance(struct hl_str a, struct hl_str b)
{
    unsigned row[LONGEST_NAME + 1];
    if (b.n > LONGEST_NAME)
        b.n = LONGEST_NAME;
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

const struct hl_option *hl_nearest_option(struct hl_str name)
{
    const struct hl_option *nearest = NULL;
    unsigned least = 0;
    if (name.n > LONGEST_NAME)
        name.n = LONGEST_NAME;
    for (size_t i = 0; i < hl_option_count; i++) {
        unsigned d = distance(name, hl_str_from(hl_options[i].name));
        if (!nearest || d < least) {
            nearest = &hl_options[i];
            least = d;
        }
    }
    HL_ASSERT(nearest);
    return nearest;
}
