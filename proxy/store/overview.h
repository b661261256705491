/* overview.h - what the store says of a span of time in numbers (question.h, OVERVIEW): filled by the drivers row by
 * row. Any thread; the message's. */
#ifndef HL_STORE_OVERVIEW_H
#define HL_STORE_OVERVIEW_H

#include "base/err.h"
#include "store/tally.h"

struct hl_overview;
struct hl_overview_figures;
struct hl_str;

/* Rows of a minute and an app that one answer looks at, the newest first: about a tenth of a second. */
#define HL_OVERVIEW_LOOKS 50000
/* Queued and running runs, and deliveries of a state, are counted so far. */
#define HL_OVERVIEW_COUNTED 10000
/* Failing destinations that are looked at. */
#define HL_OVERVIEW_LANES 200

/* Room for what will be added. HL_ERR_NOMEM; hl_overview_fini then, too. */
HL_MUST_CHECK enum hl_err hl_overview_begin(struct hl_overview *o);

/* The first minute that is asked for, and the first that is not. */
int64_t hl_overview_first_minute(const struct hl_overview *o);
int64_t hl_overview_last_minute(const struct hl_overview *o);

/* A count of an app, in the whole and at its time. */
void hl_overview_add_app(
    struct hl_overview *o, struct hl_str project, struct hl_str app, uint64_t count);
void hl_overview_add_point(struct hl_overview *o, int64_t minute, uint64_t count);
/* Both, for each count of a row, `counts` as hl_tally_write has written them. */
void hl_overview_add_row(struct hl_overview *o, struct hl_str project, struct hl_str app,
    int64_t minute, struct hl_str counts);
/* Nothing is known of what ended before: the counting began then, or older rows are gone or were not looked
 * at. The latest of all that are said. */
void hl_overview_begins(struct hl_overview *o, int64_t ms);

/* How many ended so; -1: however. */
uint64_t hl_overview_count(
    const struct hl_overview_figures *f, int is_async, int state, int reason);
/* What is left without `part`; of a part that was counted later, none is less than none. */
void hl_overview_subtract(struct hl_overview_figures *f, const struct hl_overview_figures *part);

/* Of `p` percent of them it is at most so long, in us; -1: there are none. */
int64_t hl_overview_quantile(const uint32_t buckets[HL_TALLY_BUCKETS], unsigned p);
uint64_t hl_overview_sum(const uint32_t buckets[HL_TALLY_BUCKETS]);

#endif
