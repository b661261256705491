/* rest_log.c - what was logged about a run, oldest first: what is in memory, and of one that failed
 * before that what the store has.
 * Thread: control.
 * Not here: which lines are a run's (loop/run_log.c). */
#include "api/rest_handler.h"

#include <string.h>

#include "config/config.h"
#include "config/endpoint.h"
#include "loop/run_log.h"
#include "store/op.h"
#include "store/question.h"
#include "store/store.h"

static void look_up(struct hl_rest_call *call);
static void show_stored(struct hl_rest_call *call);
static void show_recent(struct hl_rest_call *call);

void hl_rest_show_log(struct hl_rest_call *call)
{
    call->reply.run_id = call->id;
    hl_rest_as_owner(call, look_up);
}

static void look_up(struct hl_rest_call *call)
{
    struct hl_get_run *g = hl_rest_get_run(call);
    if (!g)
        return;
    g->with_log = true;
    hl_rest_ask_store(call, HL_STORE_GET_RUN, &g->m);
    hl_rest_then(call, show_stored);
}

/* A member's name has its quotes; what an app wrote has them escaped. */
bool hl_rest_is_delivery_line(struct hl_str line)
{
    static const char mark[] = ",\"delivery_id\":\"";
    return memmem(line.p, line.n, mark, sizeof(mark) - 1) != NULL;
}

static void leave_out_deliveries(struct hl_buf *lines)
{
    size_t kept = 0, n;
    for (size_t at = 0; at < lines->n; at += n) {
        const char *line = lines->p + at, *end = memchr(line, '\n', lines->n - at);
        n = end ? (size_t)(end - line) + 1 : lines->n - at;
        if (hl_rest_is_delivery_line((struct hl_str){line, n}))
            continue;
        memmove(lines->p + kept, line, n);
        kept += n;
    }
    lines->n = kept;
}

/* The body is there. */
static void end(struct hl_rest_call *call, enum hl_err err)
{
    struct hl_reply *reply = &call->reply;
    if (err == HL_OK)
        err = hl_buf_append_str(&reply->fields, HL_STR("X-Content-Type-Options: nosniff\r\n"));
    if (err != HL_OK) {
        hl_rest_refuse_memory(call);
        return;
    }
    if (!hl_rest_sees_all(call))
        leave_out_deliveries(&reply->body);
    hl_run_log_trim(&reply->body);
    reply->status = 200;
    hl_str_put(reply->content_type, sizeof(reply->content_type), "application/x-ndjson");
    hl_rest_end(call);
}

/* Its lines, if there were any, are in another replica's memory: those of a run that failed are in the
 * store. */
static bool is_elsewhere(const struct hl_rest_call *call, const struct hl_run_row *run)
{
    const struct hl_rest_parts *parts = hl_rest_get_parts(call);
    return hl_store_is_shared(parts->store) && run->state != HL_RUN_FAILURE && run->replica.n > 0 &&
           !hl_str_eq(run->replica, parts->config->replica);
}

static void show_stored(struct hl_rest_call *call)
{
    const struct hl_get_run *g = (const struct hl_get_run *)call->answers[0];
    if (g->m.rc == HL_ERR_NOT_FOUND) {
        hl_rest_ask_recent(call, show_recent);
        return;
    }
    if (g->m.rc != HL_OK && g->m.rc != HL_ERR_CORRUPT) {
        hl_rest_refuse_store(call, g->m.rc, "run");
        return;
    }
    struct hl_buf *body = &call->reply.body;
    enum hl_err err = hl_buf_append_str(body, hl_buf_str(&g->log));
    if (err == HL_OK)
        err =
            g->log.n > 0 ? hl_run_log_read_rest(&call->id, body) : hl_run_log_read(&call->id, body);
    if (err == HL_OK && body->n == 0 && is_elsewhere(call, &g->run)) {
        char name[HL_REPLICA_MAX + 1];
        hl_str_put_cut(name, sizeof(name), g->run.replica);
        hl_rest_refuse_saying(call, HL_REFUSAL_LOG_ELSEWHERE, name, NULL);
        return;
    }
    end(call, err);
}

static void show_recent(struct hl_rest_call *call)
{
    if (hl_rest_recent(call))
        end(call, hl_run_log_read(&call->id, &call->reply.body));
    else
        hl_rest_refuse_store(call, HL_ERR_NOT_FOUND, "run");
}
