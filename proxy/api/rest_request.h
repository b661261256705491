/* rest_request.h - the request of an asynchronous run, for admins and who made it: its body, its fields. */
#ifndef HL_API_REST_REQUEST_H
#define HL_API_REST_REQUEST_H

#include "api/rest_call.h"

struct hl_kept_request;

void hl_rest_show_request(struct hl_rest_call *call);

/* Asks for the call's run with its request; `then` finds it in answers[0], asynchronous and with a request
 * that can be read: in any other case the call is refused. */
void hl_rest_with_request(struct hl_rest_call *call, hl_rest_handler *then);

/* Adds `request_fields`: null if the request is not there. Takes `run`, which may be NULL. */
json_t *hl_rest_add_request_fields(json_t *run, const struct hl_kept_request *request);

#endif
