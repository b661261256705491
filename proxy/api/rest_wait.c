/* rest_wait.c - see rest_wait.h. The store has the run watched before it is asked how the run stands: an
 * end between the two is seen twice, never missed. Questions go another way than watches, and would
 * overtake them. */
#include "api/rest_wait.h"

#include <stdlib.h>

#include "store/op.h"
#include "store/question.h"

static void finish(struct hl_rest_call *call)
{
    call->wait.on_over = call->wait.on_watched = NULL;
    hl_rest_wait_leave(&call->wait);
    hl_rest_drop_answers(call);
    call->after_wait(call);
}

static void on_over(struct hl_rest_wait *wait)
{
    finish(HL_CONTAINER_OF(wait, struct hl_rest_call, wait));
}

/* What is no run of the store's is not waited for: it says so itself. */
static void look(struct hl_rest_call *call)
{
    const struct hl_get_run *g = (const struct hl_get_run *)call->answers[0];
    if (g->m.rc != HL_OK || hl_run_state_is_final(g->run.state) || call->wait.is_over)
        finish(call);
    else
        call->wait.on_over = on_over;
}

static void ask(struct hl_rest_wait *wait)
{
    struct hl_rest_call *call = HL_CONTAINER_OF(wait, struct hl_rest_call, wait);
    struct hl_get_run *g = calloc(1, sizeof(*g));
    wait->on_watched = NULL;
    if (!g) {
        finish(call);
        return;
    }
    g->run_id = call->id;
    hl_str_put(g->project, sizeof(g->project), call->project);
    hl_str_put(g->app, sizeof(g->app), call->app);
    hl_rest_ask_store(call, HL_STORE_GET_RUN, &g->m);
    hl_rest_then(call, look);
}

void hl_rest_wait(struct hl_rest_call *call, hl_rest_handler *then)
{
    uint64_t ms = call->params.wait_ms;
    struct hl_str subject = hl_str_from(call->asker.subject);
    call->after_wait = then;
    call->wait.on_watched = ask;
    if (ms == 0 ||
        !hl_rest_wait_begin(&call->wait, &call->all->waits, call->name, &call->id, subject, ms))
        then(call);
    else if (call->wait.is_over)
        finish(call);
}
