/* rest_series.h - the points of an overview as JSON. Objects are new references; NULL: out of memory. The control
 * thread. */
#ifndef HL_API_REST_SERIES_H
#define HL_API_REST_SERIES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct hl_overview;
struct hl_rest_call;

/* Of microseconds; null: there are none. */
json_t *hl_rest_ms_json(int64_t us);

json_t *hl_rest_series_json(const struct hl_overview *o);

/* The apps that most runs are of, and the rest: each of the former is asked about for itself, and its answer stands
 * behind that of all, the call's first. */
#define HL_REST_SERIES_APPS 5
bool hl_rest_ask_app_series(struct hl_rest_call *call); /* false: refused */
/* Once they have answered. */
json_t *hl_rest_app_series_json(const struct hl_rest_call *call);

#endif
