/* own_param.h - hookline's own parameters in a query; all others are the app's. */
#ifndef HL_ROUTE_OWN_PARAM_H
#define HL_ROUTE_OWN_PARAM_H

#include "http/url.h"

struct hl_own_params {
    struct hl_param async, webhook;
    bool has_async, has_webhook;
};

/* False: one of them is there twice. */
HL_MUST_CHECK bool hl_own_params_find(struct hl_str query, struct hl_own_params *out);

/* `query` without those that were found in it, each other byte as it is. Returns the length; out
 * has room for query.n. */
size_t hl_own_params_cut(struct hl_str query, const struct hl_own_params *found, char *out);

#endif
