/* siphash.h - SipHash-2-4 (Aumasson, Bernstein 2012): a short keyed hash that nobody without the key
 * can find collisions for. For tables that strangers fill. */
#ifndef HL_BASE_SIPHASH_H
#define HL_BASE_SIPHASH_H

#include <stdint.h>

struct hl_str;

uint64_t hl_siphash(const uint64_t key[2], struct hl_str text);

#endif
