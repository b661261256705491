/* test_tally.c - buckets of times and counts by key. */
#include <criterion/criterion.h>

#include "store/overview.h"

Test(tally, no_bucket_is_wider_than_a_sixteenth_of_what_is_in_it)
{
    uint32_t before = 0;
    for (uint64_t us = 1; us < UINT64_C(1) << 37; us += us / 64 + 1) {
        uint32_t bucket = hl_tally_bucket(us);
        int64_t off = (int64_t)hl_tally_bucket_us(bucket) - (int64_t)us;
        cr_assert_geq(bucket, before);
        cr_assert_leq((uint64_t)(off < 0 ? -off : off) * 32, us, "%llu us is said to be %llu us",
            (unsigned long long)us, (unsigned long long)hl_tally_bucket_us(bucket));
        before = bucket;
    }
}

Test(tally, what_is_longer_than_any_bucket_is_in_the_last)
{
    cr_assert_eq(hl_tally_bucket(UINT64_MAX), (uint32_t)HL_TALLY_BUCKETS - 1);
    cr_assert_eq(hl_tally_bucket((UINT64_C(1) << 37) - 1), (uint32_t)HL_TALLY_BUCKETS - 1);
}

Test(tally, each_bucket_is_that_of_its_own_middle)
{
    for (uint32_t bucket = 0; bucket < HL_TALLY_BUCKETS; bucket++)
        cr_assert_eq(hl_tally_bucket(hl_tally_bucket_us(bucket)), bucket);
}

Test(tally, counts_of_a_key_are_added_and_stand_in_order)
{
    struct hl_tally t = {0};
    for (uint32_t key = 200; key-- > 0;) {
        cr_assert_eq(hl_tally_add(&t, key, 1), HL_OK);
        cr_assert_eq(hl_tally_add(&t, key, 2), HL_OK);
    }
    cr_assert_eq(hl_tally_add(&t, HL_TALLY_NONE, 1), HL_OK);
    cr_assert_eq(t.n, (size_t)200);
    for (uint32_t i = 0; i < 200; i++) {
        cr_assert_eq(hl_tally_count_key(t.counts[i]), i);
        cr_assert_eq(hl_tally_count_n(t.counts[i]), (uint64_t)3);
    }
    hl_tally_fini(&t);
}

Test(tally, what_was_written_is_read_again)
{
    struct hl_tally t = {0}, other = {0};
    char bytes[64];
    cr_assert_eq(hl_tally_add_end(&t, true, HL_RUN_FAILURE, HL_REASON_TIMEOUT, 1500, -1), HL_OK);
    hl_tally_write(&t, bytes);
    cr_assert_eq(t.n, (size_t)2);
    cr_assert_eq(hl_tally_read(&other, (struct hl_str){bytes, 16}), HL_OK);
    cr_assert_arr_eq(other.counts, t.counts, 16);
    cr_assert_eq(hl_tally_read(&other, (struct hl_str){bytes, 15}), HL_ERR_CORRUPT);
    hl_tally_fini(&t);
    hl_tally_fini(&other);
}

Test(tally, a_quantile_is_the_least_that_so_many_do_not_exceed)
{
    static uint32_t buckets[HL_TALLY_BUCKETS];
    cr_assert_eq(hl_overview_quantile(buckets, 50), -1);
    for (uint32_t us = 1; us <= 20; us++)
        buckets[hl_tally_bucket(us)]++;
    cr_assert_eq(hl_overview_quantile(buckets, 50), 10);
    cr_assert_eq(hl_overview_quantile(buckets, 90), 18);
    cr_assert_eq(hl_overview_quantile(buckets, 99), 20);
}
