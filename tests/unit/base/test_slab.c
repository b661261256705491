#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

#include "base/compiler.h"
#include "base/slab.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

Test(slab, hands_out_distinct_aligned_objects_over_many_chunks)
{
    struct hl_slab slab;
    unsigned char *objects[50];
    hl_slab_init(&slab, 24, 7);
    for (size_t i = 0; i < HL_ARRAY_LEN(objects); i++) {
        objects[i] = hl_slab_get(&slab);
        cr_assert_eq((uintptr_t)objects[i] % 16, 0);
        for (int j = 0; j < 24; j++)
            objects[i][j] = (unsigned char)i;
    }
    cr_assert_eq(slab.in_use, HL_ARRAY_LEN(objects));
    for (size_t i = 0; i < HL_ARRAY_LEN(objects); i++)
        cr_assert(objects[i][0] == i && objects[i][23] == i);
    hl_slab_fini(&slab);
}

Test(slab, of_zeros_has_nothing_to_free)
{
    struct hl_slab slab = {.size = 0};
    hl_slab_fini(&slab);
    cr_assert_null(slab.chunks);
}

Test(slab, reuses_what_was_freed_last_first)
{
    struct hl_slab slab;
    hl_slab_init(&slab, 100, 4);
    void *a = hl_slab_get(&slab), *b = hl_slab_get(&slab);
    hl_slab_put(&slab, a);
    hl_slab_put(&slab, b);
    hl_slab_put(&slab, NULL);
    cr_assert_eq(slab.in_use, 0);
    cr_assert_eq(hl_slab_get(&slab), b);
    cr_assert_eq(hl_slab_get(&slab), a);
    hl_slab_fini(&slab);
}

Test(slab, zeroes_a_used_object_when_asked_to)
{
    struct hl_slab slab;
    hl_slab_init(&slab, 100, 4);
    unsigned char *object = hl_slab_get(&slab);
    memset(object, 0xaa, 100);
    hl_slab_put(&slab, object);
    cr_assert_eq(hl_slab_get_zeroed(&slab), object);
    for (int i = 0; i < 100; i++)
        cr_assert_eq(object[i], 0);
    hl_slab_fini(&slab);
}

#if defined(__SANITIZE_ADDRESS__)
Test(slab, poisons_free_objects_under_address_sanitizer)
{
    struct hl_slab slab;
    hl_slab_init(&slab, 32, 4);
    char *object = hl_slab_get(&slab);
    cr_assert_null(__asan_region_is_poisoned(object, 32));
    cr_assert_not_null(__asan_region_is_poisoned(object + 32, 1));
    hl_slab_put(&slab, object);
    cr_assert_eq(__asan_region_is_poisoned(object, 32), object);
    hl_slab_fini(&slab);
}
#endif
