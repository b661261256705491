/* job_news.c - what is said of a job that is carried out: lines of the log, and the row of its end in the audit log.
 * Thread: control. */
#include "api/job_news.h"

#include <stdlib.h>

#include "api/audit.h"
#include "api/json.h"
#include "base/clock.h"
#include "base/log.h"
#include "store/audit.h"

const char *hl_job_news_end(enum hl_job_phase phase)
{
    return phase == HL_JOB_ENDED     ? "done"
           : phase == HL_JOB_STOPPED ? "stopped"
                                     : "failed: its filter is refused";
}

void hl_job_news_log(const struct hl_job_walk *w, const char *line, const char *state)
{
    const struct hl_job_progress *p = &w->progress;
    HL_LOG(INFO, line, HL_LOG_ID("job_id", &w->job_id), HL_LOG_TEXT("project_id", w->project),
        HL_LOG_TEXT("what", hl_job_what_text(w->plan.what)), HL_LOG_TEXT("state", state),
        HL_LOG_INT("total", p->total), HL_LOG_INT("done", p->shown[HL_JOB_DONE]),
        HL_LOG_INT("skipped", p->shown[HL_JOB_SKIPPED]),
        HL_LOG_INT("failed", p->shown[HL_JOB_FAILED]));
}

struct hl_audit *hl_job_news_audit(struct hl_job_walk *w)
{
    int64_t now_ms = hl_clock_wall_ms();
    struct hl_audit what = {.id = hl_id_next(&w->calls->ids, now_ms),
        .action = HL_AUDIT_JOB_ENDED,
        .count = (int64_t)w->progress.shown[HL_JOB_DONE]};
    hl_str_put(what.project, sizeof(what.project), w->project);
    return hl_audit_make(&what, w->plan.author,
        hl_audit_target_json("job", &w->job_id, hl_str_from(hl_job_what_text(w->plan.what))),
        HL_JSON_OBJECT({"state", json_string(hl_job_news_end(w->progress.phase))}));
}
