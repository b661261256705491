/* health.h - /healthz: the process runs. /readyz: it takes calls, or why not, in words (contract 2,
 * 7).
 */
#ifndef HL_API_HEALTH_H
#define HL_API_HEALTH_H

#include "api/endpoint.h"

hl_api_handler hl_health_live;
hl_api_handler hl_health_ready;

#endif
