/* test_random.c - the reference vectors of its authors. */
#include <criterion/criterion.h>

#include "base/compiler.h"
#include "base/random.h"
#include "base/str.h"

Test(siphash, gives_the_authors_vectors)
{
    /* Key 00 01 … 0f; texts of 0, 1, 2 … bytes 00 01 02 …. */
    static const uint64_t key[2] = {UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)};
    static const struct {
        size_t n;
        uint64_t hash;
    } vectors[] = {
        {0, UINT64_C(0x726fdb47dd0e0e31)},
        {1, UINT64_C(0x74f839c593dc67fd)},
        {2, UINT64_C(0x0d6c8009d9a94f5a)},
        {3, UINT64_C(0x85676696d7fb7e2d)},
        {7, UINT64_C(0xab0200f58b01d137)},
        {8, UINT64_C(0x93f5f5799a932462)},
        {15, UINT64_C(0xa129ca6149be45e5)},
    };
    char text[16];
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)i;
    for (size_t i = 0; i < HL_ARRAY_LEN(vectors); i++)
        cr_expect_eq(hl_siphash(key, (struct hl_str){text, vectors[i].n}), vectors[i].hash,
            "%zu bytes", vectors[i].n);
}
