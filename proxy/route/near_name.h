/* near_name.h - parameters that are hookline's but for their case, their separators or one letter. */
#ifndef HL_ROUTE_NEAR_NAME_H
#define HL_ROUTE_NEAR_NAME_H

#include <stdbool.h>

#include "base/str.h"

/* The first such parameter of a query: its name as it stands there, and ours. False: there is none. */
bool hl_near_name_find(struct hl_str query, struct hl_str *found, const char **ours);

#endif
