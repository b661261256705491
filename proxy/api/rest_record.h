/* rest_record.h - runs and deliveries as JSON. New references; NULL: out of memory. */
#ifndef HL_API_REST_RECORD_H
#define HL_API_REST_RECORD_H

#include <jansson.h>

#include "run/recent.h"
#include "store/record.h"

/* `deliveries` is taken, as the run's member: an array, or NULL: counts of them. */
json_t *hl_rest_run_json(const struct hl_run_row *run, json_t *deliveries);
json_t *hl_rest_recent_json(const struct hl_recent_run *run, json_t *deliveries);
json_t *hl_rest_delivery_json(const struct hl_delivery_row *delivery);

#endif
