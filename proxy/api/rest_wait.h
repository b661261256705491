/* rest_wait.h - a call waits for its run's end before it is answered. The control thread. */
#ifndef HL_API_REST_WAIT_H
#define HL_API_REST_WAIT_H

#include "api/rest_call.h"

/* `then` when the run that call->id names has ended, or call->params.wait_ms are over, or nobody may wait;
 * at once where nothing is to be waited for. */
void hl_rest_wait(struct hl_rest_call *call, hl_rest_handler *then);

#endif
