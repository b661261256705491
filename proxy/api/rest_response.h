/* rest_response.h - the answer to a call that waits for its own run: `Prefer: wait` (contract 3). */
#ifndef HL_API_REST_RESPONSE_H
#define HL_API_REST_RESPONSE_H

struct hl_rest_call;

/* Of the run that call->id, call->project and call->app name, after call->params.wait_ms at the most: its
 * response as a synchronous caller gets it, or the 202. */
void hl_rest_show_response(struct hl_rest_call *call);

#endif
