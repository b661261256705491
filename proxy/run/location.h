/* location.h - where a run is found in the REST interface: the Location of a 202. */
#ifndef HL_RUN_LOCATION_H
#define HL_RUN_LOCATION_H

#include "config/choice.h"
#include "store/record.h"

struct hl_config;

struct hl_id;
struct hl_str;

/* Of a field line with its CRLF and NUL. */
#define HL_LOCATION_MAX (HL_PUBLIC_URL_MAX + 2 * HL_STORE_NAME_MAX + 128)

/* Writes the line: with HOOKLINE_PUBLIC_URL it is absolute. */
void hl_location_write(char out[HL_LOCATION_MAX], const struct hl_config *config,
    struct hl_str project, struct hl_str app, const struct hl_id *run_id);

#endif
