/* job_news.h - what is said of a job that is carried out. The control thread. */
#ifndef HL_API_JOB_NEWS_H
#define HL_API_JOB_NEWS_H

#include "api/job_walk.h"

/* How it ended, in words. */
const char *hl_job_news_end(enum hl_job_phase phase);
void hl_job_news_log(const struct hl_job_walk *walk, const char *line, const char *state);
/* Of its end. NULL: out of memory, or nobody knows whose it was. */
struct hl_audit *hl_job_news_audit(struct hl_job_walk *walk);

#endif
