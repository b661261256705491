/* search.h - further conditions that listed runs and deliveries must meet (question.h). All zero:
 * none.
 *
 * An id's beginning is a range of ids, for which the lists' indexes are enough. For its end an index is walked, for a tag
 * those that have it, and for the rest the records themselves: one request looks at a bounded number of them, newest first, and its reply
 * says from where to go on. */
#ifndef HL_STORE_SEARCH_H
#define HL_STORE_SEARCH_H

#include "store/record.h"

#define HL_SEARCH_PATH_MAX 255
#define HL_SEARCH_FIND_MAX 255
#define HL_SEARCH_TAIL     4 /* bytes at an id's end */

/* How many ids one request compares, and how many records it looks at. */
#define HL_SEARCH_IDS     1000000
#define HL_SEARCH_RECORDS 100000
/* Of several tags the one is looked for that the fewest runs have: of each so many are counted. */
#define HL_SEARCH_TAG_COUNT 1000

/* Of a status: from … to; 0 to 0 is none (there was no answer). */
struct hl_status_range {
    bool is_set;
    uint16_t from, to;
};

enum hl_search_webhook {
    HL_SEARCH_ANY_WEBHOOK,
    HL_SEARCH_NO_WEBHOOK,
    HL_SEARCH_PENDING,
    HL_SEARCH_OK,
    HL_SEARCH_DEAD,
};

struct hl_run_search {
    bool has_prefix, has_tail;
    struct hl_id first, last; /* has_prefix: the ids that begin so */
    uint8_t tail[HL_SEARCH_TAIL];
    enum hl_run_reason reason; /* NONE: any */
    enum hl_search_webhook webhook;
    struct hl_status_range status;     /* of the app's answer */
    char path[HL_SEARCH_PATH_MAX + 1]; /* is part of the run's; empty: any */
    char error[HL_ERROR_LINE_MAX + 1]; /* is the run's; empty: any */
    char find[HL_SEARCH_FIND_MAX + 1]; /* is part of its path, its error or its tags; empty: any */
    char tags[HL_TAGS_TEXT + 1];       /* "tier=gold,order": it has each, or one of that name */
};

/* What a search looks at in a run. */
struct hl_searched_run {
    enum hl_run_reason reason;
    uint16_t http_status;
    bool has_webhook;
    uint32_t pending, ok, dead; /* its deliveries */
    struct hl_str path, error, tags;
};

/* `text`: hex digits with or without dashes, at most 32 of them. False: it is something else. */
HL_MUST_CHECK bool hl_search_read_prefix(struct hl_str text, struct hl_run_search *s);
/* Eight hex digits. */
HL_MUST_CHECK bool hl_search_read_tail(struct hl_str text, struct hl_run_search *s);
/* "404", "5xx", or "none". */
HL_MUST_CHECK bool hl_status_range_read(struct hl_str text, struct hl_status_range *range);

static inline bool hl_status_range_fits(const struct hl_status_range *range, uint16_t status)
{
    return !range->is_set || (status >= range->from && status <= range->to);
}

/* One more tag, or name of one, that a run must have. False: it is none, or there are HL_TAGS_MAX already. */
HL_MUST_CHECK bool hl_search_add_tag(struct hl_str text, struct hl_run_search *s);

/* Whether ids or records have to be looked at one by one. */
bool hl_run_search_walks(const struct hl_run_search *s);
/* Whether it is in what the records say, not only in their ids. */
bool hl_run_search_reads(const struct hl_run_search *s);
/* The ids that a list has, `from` included and `before` not: by its times (until_ms 0: no bound) and where it goes on,
 * `at`; nil: at the newest. */
void hl_list_bounds(const struct hl_id *at, int64_t since_ms, int64_t until_ms,
    struct hl_id *before, struct hl_id *from);
/* The same drawn closer. */
void hl_run_search_narrow(const struct hl_run_search *s, struct hl_id *before, struct hl_id *from);
bool hl_run_search_fits_id(const struct hl_run_search *s, const struct hl_id *id);
bool hl_run_search_fits(const struct hl_run_search *s, const struct hl_searched_run *run);
/* Both, of a whole row. */
bool hl_run_search_fits_row(const struct hl_run_search *s, const struct hl_run_row *row);

#endif
