/* rest_redelivery.h - deliveries that are sent again: one, all in a state, those that are named. */
#ifndef HL_API_REST_REDELIVERY_H
#define HL_API_REST_REDELIVERY_H

#include "api/rest_call.h"

hl_rest_handler hl_rest_redeliver, hl_rest_redeliver_many;

#endif
