/* random.h - bytes from the kernel's generator. */
#ifndef HL_BASE_RANDOM_H
#define HL_BASE_RANDOM_H

#include <stddef.h>

/* Fills `out`. Never fails on a running Linux; asserts if it does. Any thread. Makes a system call.
 */
void hl_random_fill(void *out, size_t n);

#endif
