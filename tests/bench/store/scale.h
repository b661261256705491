/* scale.h - whether the store keeps its speed when there is much in it. */
#ifndef BENCH_SCALE_H
#define BENCH_SCALE_H

/* Prints a line for each of 1,000, 100,000 … `most` finished runs. */
void scale(const char *dir, unsigned long long most, double seconds);

#endif
