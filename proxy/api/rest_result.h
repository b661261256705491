/* rest_result.h - the kept response of a run. */
#ifndef HL_API_REST_RESULT_H
#define HL_API_REST_RESULT_H

#include "api/rest_call.h"

hl_rest_handler hl_rest_show_result;

#endif
