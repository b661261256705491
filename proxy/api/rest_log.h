/* rest_log.h - what was logged about a run. */
#ifndef HL_API_REST_LOG_H
#define HL_API_REST_LOG_H

#include "api/rest_call.h"

hl_rest_handler hl_rest_show_log;

#endif
