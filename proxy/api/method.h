/* method.h - the names of request methods. */
#ifndef HL_API_METHOD_H
#define HL_API_METHOD_H

#include "http/head.h"

/* "GET"; "other" for those that hookline has no name for. */
const char *hl_api_method_text(enum hl_method method);

#endif
