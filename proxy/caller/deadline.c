/* deadline.c - the one deadline of a caller's connection that counts (contract 7).
 * Owns: when c->timer fires. Thread: the worker's.
 * Promise: a connection waits for nothing without end, except for an answer.
 * Not here: what becomes of a connection whose deadline has passed (client.c). */
#include "caller/deadline.h"

#include "caller/callers.h"
#include "caller/client.h"
#include "config/config.h"

#define SPARE_MS 1000

void hl_deadline_arm(struct hl_client *c)
{
    struct hl_callers *callers = c->callers;
    const struct hl_config *config = callers->config;
    if (c->is_spare) {
        if (!hl_timer_is_armed(&c->timer))
            hl_timer_arm(callers->wheel, &c->timer, SPARE_MS);
        if (c->state == HL_CLIENT_LINGER && !hl_list_is_linked(&c->idle))
            hl_list_push_back(&callers->answered, &c->idle);
        return;
    }
    if (hl_stream_is_blocked(&c->stream)) {
        hl_stall_watch(&c->stall, &c->stream, callers->wheel, &c->timer, config->write_timeout_ms);
        return;
    }
    hl_stall_end(&c->stall);
    if (c->state == HL_CLIENT_CALL && !c->body_done && c->stream.is_reading && !c->owes_continue) {
        hl_timer_arm(callers->wheel, &c->timer, config->body_timeout_ms);
    } else if (c->state == HL_CLIENT_LINGER) {
        hl_linger_arm(&c->linger, callers->wheel, &c->timer);
    } else if (c->state != HL_CLIENT_HEAD) {
        hl_timer_disarm(&c->timer);
    } else if (!c->has_head_begun) {
        hl_list_remove(&c->idle);
        hl_list_push_back(&callers->idle, &c->idle);
        hl_timer_arm(callers->wheel, &c->timer, config->keepalive_timeout_ms);
    }
}
