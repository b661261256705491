/* tally.h - how the runs of an app ended in one minute, in numbers: counts by state, reason and mode, and how
 * long they ran and had waited, in buckets.
 *
 * Buckets are the same everywhere, for they are stored: up to 32 us one each, from there on 16 to each
 * doubling. None is wider than 6.25 % of what is in it, and its middle, which stands for it, is never off by more
 * than half of that. */
#ifndef HL_STORE_TALLY_H
#define HL_STORE_TALLY_H

#include "base/compiler.h"
#include "store/record.h"

struct hl_str;

#define HL_TALLY_MINUTE_MS INT64_C(60000)
#define HL_TALLY_BUCKETS   544 /* the last holds what took longer than 2^37 us, a day and a half */

uint32_t hl_tally_bucket(uint64_t us);
uint64_t hl_tally_bucket_us(uint32_t bucket); /* its middle */

/* What is counted: kind, is_async, and state and reason, or a bucket. Where they stand in a key: PostgreSQL's statements
 * make keys, too. */
#define HL_TALLY_KIND_SHIFT  12
#define HL_TALLY_ASYNC_SHIFT 11
#define HL_TALLY_STATE_SHIFT 6

enum hl_tally_kind {
    HL_TALLY_END,
    HL_TALLY_RUN,  /* inside the app, of those that were in it to their end */
    HL_TALLY_WAIT, /* before that, likewise */
    HL_TALLY_KINDS
};
#define HL_TALLY_NONE UINT32_MAX

static inline uint32_t hl_tally_key(enum hl_tally_kind kind, bool is_async, uint32_t low)
{
    return (uint32_t)kind << HL_TALLY_KIND_SHIFT | (uint32_t)is_async << HL_TALLY_ASYNC_SHIFT | low;
}
static inline uint32_t hl_tally_end_key(
    bool is_async, enum hl_run_state state, enum hl_run_reason reason)
{
    return hl_tally_key(
        HL_TALLY_END, is_async, (uint32_t)state << HL_TALLY_STATE_SHIFT | (uint32_t)reason);
}
static inline enum hl_tally_kind hl_tally_kind_of(uint32_t key)
{
    return (enum hl_tally_kind)(key >> HL_TALLY_KIND_SHIFT);
}
static inline bool hl_tally_is_async(uint32_t key)
{
    return key >> HL_TALLY_ASYNC_SHIFT & 1;
}
/* The rest: a bucket, or the two that follow. */
static inline uint32_t hl_tally_low(uint32_t key)
{
    return key & ((1u << HL_TALLY_ASYNC_SHIFT) - 1);
}
static inline uint32_t hl_tally_state(uint32_t key)
{
    return hl_tally_low(key) >> HL_TALLY_STATE_SHIFT;
}
static inline uint32_t hl_tally_reason(uint32_t key)
{
    return key & ((1u << HL_TALLY_STATE_SHIFT) - 1);
}
/* `us` negative: not known, HL_TALLY_NONE. */
static inline uint32_t hl_tally_time_key(enum hl_tally_kind kind, bool is_async, int64_t us)
{
    return us < 0 ? HL_TALLY_NONE : hl_tally_key(kind, is_async, hl_tally_bucket((uint64_t)us));
}

/* A count: its key in the upper 24 bits, the number in the lower 40. */
#define HL_TALLY_COUNT_BITS 40
static inline uint64_t hl_tally_count(uint32_t key, uint64_t n)
{
    return (uint64_t)key << HL_TALLY_COUNT_BITS | n;
}
static inline uint32_t hl_tally_count_key(uint64_t count)
{
    return (uint32_t)(count >> HL_TALLY_COUNT_BITS);
}
static inline uint64_t hl_tally_count_n(uint64_t count)
{
    return count & ((UINT64_C(1) << HL_TALLY_COUNT_BITS) - 1);
}

/* Counts in the order of their keys, each key once. Zeroed is empty. */
struct hl_tally {
    uint64_t *counts; /* owned */
    size_t n, cap;
};
void hl_tally_fini(struct hl_tally *t);
/* HL_TALLY_NONE: nothing. HL_ERR_NOMEM: as it was. */
HL_MUST_CHECK enum hl_err hl_tally_add(struct hl_tally *t, uint32_t key, uint64_t n);
/* HL_ERR_NOMEM: a part of them was added. */
HL_MUST_CHECK enum hl_err hl_tally_add_all(struct hl_tally *t, const uint64_t *counts, size_t n);
/* An end with its times; negative: not known. */
HL_MUST_CHECK enum hl_err hl_tally_add_end(struct hl_tally *t, bool is_async,
    enum hl_run_state state, enum hl_run_reason reason, int64_t run_us, int64_t queued_us);

/* As a database keeps them: eight bytes each, the lowest first. `out` has 8 * t->n. */
void hl_tally_write(const struct hl_tally *t, char *out);
/* Adds those that were written. HL_ERR_CORRUPT: they were not. */
HL_MUST_CHECK enum hl_err hl_tally_read(struct hl_tally *t, struct hl_str bytes);
/* The count at `at`, of bytes that were written. */
uint64_t hl_tally_read_one(const char *at);

#endif
