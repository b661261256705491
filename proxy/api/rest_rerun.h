/* rest_rerun.h - POST …/runs/{id}/rerun: a new run with the request of one that has ended. */
#ifndef HL_API_REST_RERUN_H
#define HL_API_REST_RERUN_H

struct hl_rest_call;

void hl_rest_rerun(struct hl_rest_call *call);

#endif
