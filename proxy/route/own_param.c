/* own_param.c - hookline's own parameters in a query. Thread: any; no allocation.
 * Not here: what they ask for (mode.c). */
#include "route/own_param.h"

bool hl_own_params_find(struct hl_str query, struct hl_own_params *out)
{
    struct hl_param param;
    *out = (struct hl_own_params){0};
    while (hl_query_next(&query, &param)) {
        if (hl_param_is(&param, HL_STR("async"))) {
            if (out->has_async)
                return false;
            out->has_async = true;
            out->async = param;
        } else if (hl_param_is(&param, HL_STR("webhookEndpoint"))) {
            if (out->has_webhook)
                return false;
            out->has_webhook = true;
            out->webhook = param;
        }
    }
    return true;
}

size_t hl_own_params_cut(struct hl_str query, const struct hl_own_params *found, char *out)
{
    struct hl_param param;
    size_t n = 0;
    bool is_first = true;
    while (hl_query_next(&query, &param)) {
        bool is_own = (found->has_async && param.raw.p == found->async.raw.p) ||
                      (found->has_webhook && param.raw.p == found->webhook.raw.p);
        if (is_own)
            continue;
        if (!is_first)
            out[n++] = '&';
        if (param.raw.n > 0)
            memcpy(out + n, param.raw.p, param.raw.n);
        n += param.raw.n;
        is_first = false;
    }
    return n;
}
