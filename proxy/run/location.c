/* location.c - see location.h. Any thread. */
#include "run/location.h"

#include <stdio.h>

#include "config/config.h"

void hl_location_write(char out[HL_LOCATION_MAX], const struct hl_config *config,
    struct hl_str project, struct hl_str app, const struct hl_id *run_id)
{
    char id[HL_ID_TEXT];
    struct hl_str base = config->public_url;
    if (base.n > 0 && base.p[base.n - 1] == '/')
        base.n--;
    hl_id_format(run_id, id);
    snprintf(out, HL_LOCATION_MAX, "Location: %.*s/v2/projects/%.*s/apps/%.*s/runs/%.*s\r\n",
        HL_STR_ARG(base), HL_STR_ARG(project), HL_STR_ARG(app), HL_ID_TEXT, id);
}
