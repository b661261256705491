/* rest_owner.h - what only admins and whoever made a run may do with it. */
#ifndef HL_API_REST_OWNER_H
#define HL_API_REST_OWNER_H

#include "api/rest_call.h"

struct hl_recent_run;

/* Of this project, or of every one. */
bool hl_rest_is_admin(const struct hl_rest_call *call);
/* Whether the asker is an admin, or made the run. */
bool hl_rest_is_his(const struct hl_rest_call *call, const struct hl_run_row *run);
bool hl_rest_is_his_recent(const struct hl_rest_call *call, const struct hl_recent_run *run);
/* Goes on with `then`, with nothing answered yet, if the asker is an admin or made the call's run, or if
 * nobody was asked who they are; else the call is refused. Nobody's run is for `then` to refuse. */
void hl_rest_as_owner(struct hl_rest_call *call, hl_rest_handler *then);

#endif
