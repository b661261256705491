/* rest_destination.h - where a project's webhooks go, and how that goes. */
#ifndef HL_API_REST_DESTINATION_H
#define HL_API_REST_DESTINATION_H

#include "api/rest_call.h"

struct hl_list_destinations;
struct hl_destination_row;

hl_rest_handler hl_rest_list_destinations;

/* One, with its members. A new reference, NULL: out of memory. */
json_t *hl_rest_destination_json(const struct hl_destination_row *row);
/* A page of them, as it is answered; a new reference, NULL: out of memory. */
json_t *hl_rest_destinations_json(const struct hl_list_destinations *list);

#endif
