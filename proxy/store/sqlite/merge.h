/* merge.h - ids from several ordered parts of an index (apps, modes, states), newest first, as if
 * they were one. The reader's thread. */
#ifndef HL_STORE_SQLITE_MERGE_H
#define HL_STORE_SQLITE_MERGE_H

#include "base/id.h"
#include "store/listing.h"
#include "store/sqlite/reading.h"

struct hl_merge_part {
    int64_t app_id;
    bool is_async; /* of runs; what a statement does not ask for is of no meaning to it */
    int state;
    uint32_t at, n; /* of its ids: the next one, and how many were fetched */
    bool is_whole;  /* there are no more than were fetched */
};

struct hl_merge {
    struct hl_reading *reading;
    enum hl_ask which;
    struct hl_id run_id; /* where the statement asks for them */
    uint64_t lane;
    struct hl_str tag;
    struct hl_id before, from;
    uint32_t wanted;
    struct hl_merge_part *parts;
    size_t n_parts, cap_parts;
    struct hl_id *ids; /* `batch` for each part */
    uint32_t batch;
};

/* Ids in [from, before), of which about `wanted` will be asked for. */
void hl_merge_init(struct hl_merge *m, struct hl_reading *r, enum hl_ask which,
    const struct hl_id *before, const struct hl_id *from, uint32_t wanted);
void hl_merge_fini(struct hl_merge *m);
HL_MUST_CHECK enum hl_err hl_merge_add(
    struct hl_merge *m, int64_t app_id, bool is_async, int state);
/* NOT_FOUND: there are no more. */
HL_MUST_CHECK enum hl_err hl_merge_next(struct hl_merge *m, struct hl_id *id);

/* Where no index leads: each id is looked at, but no more than `looks` of those that do not fit. */
struct hl_merge_search {
    const void *list; /* what `fits` is told */
    /* NULL: all do. */
    enum hl_err (*fits)(struct hl_reading *r, const void *list, const struct hl_id *id, bool *fits);
    uint32_t looks;
    struct hl_listing *listing;
};
/* The next one that fits. NOT_FOUND: there is none, or the looks are used up, and the listing goes on behind the last. */
HL_MUST_CHECK enum hl_err hl_merge_next_fitting(
    struct hl_merge *m, struct hl_merge_search *search, struct hl_id *id);

/* Calls `add` for each app that the names fit (empty: any). */
HL_MUST_CHECK enum hl_err hl_merge_each_app(struct hl_merge *m, const char *project,
    const char *app, enum hl_err (*add)(struct hl_merge *m, int64_t app_id, const void *arg),
    const void *arg);

#endif
