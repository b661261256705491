/* rest_run.h - runs: the list, one, cancelling. */
#ifndef HL_API_REST_RUN_H
#define HL_API_REST_RUN_H

#include "api/rest_call.h"

hl_rest_handler hl_rest_list_runs, hl_rest_show_run, hl_rest_cancel_run;

#endif
