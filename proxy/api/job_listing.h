/* job_listing.h - what a job's filter matches, page by page, as the lists of runs and deliveries have it. The control
 * thread. */
#ifndef HL_API_JOB_LISTING_H
#define HL_API_JOB_LISTING_H

#include "api/inner_call.h"
#include "api/job_plan.h"

struct hl_job_listing {
    struct hl_inner_call inner;
    const struct hl_job_plan *plan; /* borrowed, as is the project */
    const char *project;
    int64_t until_ms; /* nothing that is younger */
    /* of whose pieces, so many of which are written, a page says nothing again */
    struct hl_id job_id;
    int64_t pieces;
    unsigned pass;       /* the page that is asked for next, as is the cursor */
    struct hl_id cursor; /* nil: the first */
    bool is_over;        /* there is no further page */
    struct hl_rest_calls *calls;
    struct hl_rest_call sieve; /* asks for the pieces */
    bool is_sieving;
    struct {
        unsigned pass;
        struct hl_id cursor;
    } asked; /* of the page that is asked for */

    /* the page */
    /* UNAVAILABLE: ask again; INVALID: the filter is refused, the reply says how; else it is OK */
    enum hl_err err;
    struct hl_job_item items[HL_JOB_PIECE_ITEMS];
    size_t n;
    void (*on_page)(struct hl_job_listing *listing);
};

/* The next page; possibly before it returns. */
void hl_job_listing_ask(struct hl_rest_calls *calls, struct hl_job_listing *listing);
void hl_job_listing_fini(struct hl_job_listing *listing);

#endif
