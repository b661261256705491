/* inner_call.c - a request that this process makes of its own REST interface.
 * Owns: its texts and the reply. Thread: control.
 * Not here: who makes them (job_listing.c, job_walk.c). */
#include "api/inner_call.h"

#include "auth/json_load.h"

static void on_reply(struct hl_rest_call *call)
{
    struct hl_inner_call *inner = HL_CONTAINER_OF(call, struct hl_inner_call, call);
    inner->is_under_way = false;
    inner->on_end(inner);
}

void hl_inner_call_begin(
    struct hl_rest_calls *calls, struct hl_inner_call *inner, enum hl_method method)
{
    const struct hl_rest_part *part = inner->call.part;
    struct hl_asker asker = inner->call.asker;
    int64_t before_ms = inner->call.before_ms;
    hl_reply_fini(&inner->call.reply);
    inner->call = (struct hl_rest_call){.method = method,
        .path = hl_buf_str(&inner->path),
        .query = hl_buf_str(&inner->query),
        .is_operator = true,
        .asker = asker,
        .part = part,
        .before_ms = before_ms,
        .on_reply = on_reply};
    inner->is_under_way = true;
    calls->begin(calls, &inner->call);
}

void hl_inner_call_fini(struct hl_inner_call *inner)
{
    if (inner->is_under_way)
        hl_rest_abandon(&inner->call);
    else
        hl_reply_fini(&inner->call.reply);
    inner->is_under_way = false;
    hl_buf_fini(&inner->path);
    hl_buf_fini(&inner->query);
}

json_t *hl_inner_call_json(const struct hl_inner_call *inner)
{
    return hl_json_load(hl_buf_str(&inner->call.reply.body), 0, NULL);
}

bool hl_inner_call_may_work(const struct hl_inner_call *inner)
{
    return inner->call.reply.status == 429 || inner->call.reply.status >= 500;
}
