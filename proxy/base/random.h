/* random.h - bytes from the kernel's generator, and a hash keyed with them. */
#ifndef HL_BASE_RANDOM_H
#define HL_BASE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

struct hl_str;

/* Fills `out`. Never fails on a running Linux; asserts if it does. Any thread. Makes a system call.
 */
void hl_random_fill(void *out, size_t n);

/* ---- SipHash-2-4 (Aumasson, Bernstein 2012): a short keyed hash that nobody without the key can find
 * collisions for. For tables that strangers fill ---- */

uint64_t hl_siphash(const uint64_t key[2], struct hl_str text);

#endif
