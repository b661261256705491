/* inner_call.h - a request that this process makes of its own REST interface, as an admin of every project. The control
 * thread. */
#ifndef HL_API_INNER_CALL_H
#define HL_API_INNER_CALL_H

#include "api/rest_call.h"
#include "base/buf.h"

struct hl_inner_call {
    /* the reply is in it; the owner may set `part`, `before_ms` and the asker before it begins */
    struct hl_rest_call call;
    struct hl_buf path, query;
    bool is_under_way;
    /* The reply is there: hl_inner_call_fini, or the next request, is the owner's. Possibly inside
     * hl_inner_call_begin. */
    void (*on_end)(struct hl_inner_call *inner);
};

/* With what `path` and `query` hold. */
void hl_inner_call_begin(
    struct hl_rest_calls *calls, struct hl_inner_call *inner, enum hl_method method);
/* Under way or not. */
void hl_inner_call_fini(struct hl_inner_call *inner);
/* Of the answer's body. A new reference; NULL: it is none, or there is no memory. */
json_t *hl_inner_call_json(const struct hl_inner_call *inner);
/* It may work if it is asked again later. */
bool hl_inner_call_may_work(const struct hl_inner_call *inner);

#endif
