/* waiting.h - what deliveries cost that wait for their next attempts. */
#ifndef BENCH_WAITING_H
#define BENCH_WAITING_H

/* Prints a line for each of 1,000, 100,000 … `most` of them. */
void waiting(const char *dir, unsigned long long most);

#endif
