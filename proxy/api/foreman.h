/* foreman.h - who carries out jobs (store/job.h): finds those that nobody walks, and walks them. The control thread. */
#ifndef HL_API_FOREMAN_H
#define HL_API_FOREMAN_H

#include "api/rest_call.h"
#include "base/list.h"
#include "loop/wheel.h"

#define HL_FOREMAN_TOLD 64

struct hl_foreman {
    struct hl_rest_calls *calls;
    struct hl_rest_call call; /* asks the store for jobs */
    struct hl_timer timer;
    struct hl_list walks; /* struct hl_job_walk */
    unsigned n;
    bool has_begun, is_over;
    bool is_asking, looks_again;
    struct hl_id told[HL_FOREMAN_TOLD]; /* that cannot be read, which was logged: the last ones */
    unsigned n_told;
};

void hl_foreman_init(struct hl_foreman *f, struct hl_rest_calls *calls);
/* The store is open. Twice is harmless. */
void hl_foreman_start(struct hl_foreman *f);
/* Nothing more is begun; what is walked is left to others, or to the next start. */
void hl_foreman_end(struct hl_foreman *f);
void hl_foreman_close(struct hl_foreman *f); /* frees what it holds; nothing answers any more */

/* There may be a new job; somebody wants that one to stop. NULL-safe. */
void hl_foreman_look(struct hl_foreman *f);
void hl_foreman_hear_stop(struct hl_foreman *f, const struct hl_id *job_id);

#endif
