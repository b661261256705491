/* tally.c - see tally.h. Any thread. */
#include "store/tally.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#define EXACT    32 /* us: below it a bucket each */
#define EXACT_2  5  /* its power of two */
#define SHARES   16 /* of a doubling */
#define SHARES_2 4

uint32_t hl_tally_bucket(uint64_t us)
{
    if (us < EXACT)
        return (uint32_t)us;
    unsigned power = 63 - (unsigned)__builtin_clzll(us);
    uint32_t bucket =
        EXACT + (power - EXACT_2) * SHARES + (uint32_t)(us >> (power - SHARES_2)) - SHARES;
    return bucket < HL_TALLY_BUCKETS ? bucket : HL_TALLY_BUCKETS - 1;
}

uint64_t hl_tally_bucket_us(uint32_t bucket)
{
    if (bucket < EXACT)
        return bucket;
    unsigned power = EXACT_2 + (bucket - EXACT) / SHARES;
    uint64_t least = (uint64_t)(SHARES + (bucket - EXACT) % SHARES) << (power - SHARES_2);
    return least + (UINT64_C(1) << (power - SHARES_2)) / 2;
}

void hl_tally_fini(struct hl_tally *t)
{
    free(t->counts);
    *t = (struct hl_tally){0};
}

static enum hl_err reserve(struct hl_tally *t)
{
    if (t->n < t->cap)
        return HL_OK;
    size_t cap = t->cap ? 2 * t->cap : 32;
    uint64_t *counts = realloc(t->counts, cap * sizeof(*counts));
    if (!counts)
        return HL_ERR_NOMEM;
    t->counts = counts;
    t->cap = cap;
    return HL_OK;
}

/* Where the key is, or would be. What is read back comes in order: behind the last. */
static size_t find(const struct hl_tally *t, uint32_t key)
{
    size_t from = 0, to = t->n;
    if (to > 0 && hl_tally_count_key(t->counts[to - 1]) < key)
        return to;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (hl_tally_count_key(t->counts[middle]) < key)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

enum hl_err hl_tally_add(struct hl_tally *t, uint32_t key, uint64_t n)
{
    if (key == HL_TALLY_NONE)
        return HL_OK;
    size_t at = find(t, key);
    if (at < t->n && hl_tally_count_key(t->counts[at]) == key) {
        t->counts[at] = hl_tally_count(key, hl_tally_count_n(t->counts[at]) + n);
        return HL_OK;
    }
    enum hl_err err = reserve(t);
    if (err)
        return err;
    memmove(t->counts + at + 1, t->counts + at, (t->n - at) * sizeof(*t->counts));
    t->counts[at] = hl_tally_count(key, n);
    t->n++;
    return HL_OK;
}

enum hl_err hl_tally_add_all(struct hl_tally *t, const uint64_t *counts, size_t n)
{
    enum hl_err err = HL_OK;
    for (size_t i = 0; i < n && !err; i++)
        err = hl_tally_add(t, hl_tally_count_key(counts[i]), hl_tally_count_n(counts[i]));
    return err;
}

enum hl_err hl_tally_add_end(struct hl_tally *t, bool is_async, enum hl_run_state state,
    enum hl_run_reason reason, int64_t run_us, int64_t queued_us)
{
    enum hl_err err = hl_tally_add(t, hl_tally_end_key(is_async, state, reason), 1);
    if (!err)
        err = hl_tally_add(t, hl_tally_time_key(HL_TALLY_RUN, is_async, run_us), 1);
    if (!err)
        err = hl_tally_add(t, hl_tally_time_key(HL_TALLY_WAIT, is_async, queued_us), 1);
    return err;
}

void hl_tally_write(const struct hl_tally *t, char *out)
{
    for (size_t i = 0; i < t->n; i++) {
        uint64_t count = htole64(t->counts[i]);
        memcpy(out + 8 * i, &count, sizeof(count));
    }
}

uint64_t hl_tally_read_one(const char *at)
{
    uint64_t count;
    memcpy(&count, at, sizeof(count));
    return le64toh(count);
}

enum hl_err hl_tally_read(struct hl_tally *t, struct hl_str bytes)
{
    enum hl_err err = bytes.n % 8 == 0 ? HL_OK : HL_ERR_CORRUPT;
    for (size_t i = 0; i + 8 <= bytes.n && !err; i += 8) {
        uint64_t count = hl_tally_read_one(bytes.p + i);
        err = hl_tally_add(t, hl_tally_count_key(count), hl_tally_count_n(count));
    }
    return err;
}
