/* versus.h - the store beside the floor, in turns. */
#ifndef BENCH_VERSUS_H
#define BENCH_VERSUS_H

#include <stdbool.h>

/* Prints how many runs a second are acknowledged, how soon, and how that compares. */
void versus(const char *dir, int rounds, double seconds, bool is_json);

#endif
