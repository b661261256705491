/* rest_delivery.h - deliveries: the list, one. */
#ifndef HL_API_REST_DELIVERY_H
#define HL_API_REST_DELIVERY_H

#include "api/rest_call.h"

hl_rest_handler hl_rest_list_deliveries, hl_rest_count_deliveries, hl_rest_show_delivery;

#endif
