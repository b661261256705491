/* rest_overview.h - how the runs of a span of time ended and how long they took, in numbers, and what waits for
 * somebody's attention. */
#ifndef HL_API_REST_OVERVIEW_H
#define HL_API_REST_OVERVIEW_H

#include "api/rest_call.h"

hl_rest_handler hl_rest_show_overview;

#endif
