/* follow_desk.c - see follow_desk.h.
 * Owns: the messages that come for followers, and what all of them read and write through. Thread: its loop.
 * Promise: of however many that are woken at once, some are served a turn of the loop: it stays free for others.
 * Not here: what a follower does once it is awake (follower.c), who follows which run (desk_tap.c). */
#include "body/follow_desk.h"

#include <stdlib.h>

#include "body/desk_tap.h"
#include "body/follower.h"
#include "body/follower_parts.h"
#include "net/stream.h"
#include "store/question.h"

#define TURN_MAX 32 /* followers that are served before the loop has another turn */

/* Several taps may be heard in one turn of the loop. */
static void serve_ready(struct hl_follow_desk *desk)
{
    struct hl_list *node = NULL;
    if (desk->turn != desk->reader->turn) {
        desk->turn = desk->reader->turn;
        desk->served = 0;
    }
    while (desk->served < TURN_MAX && (node = hl_list_pop_front(&desk->ready)) != NULL) {
        desk->served++;
        hl_follower_go_on(HL_CONTAINER_OF(node, struct hl_follower, in_ready));
    }
    if (hl_list_is_empty(&desk->ready) || desk->is_again_posted)
        return;
    desk->is_again_posted = true;
    desk->again.type = HL_DESK_AGAIN;
    hl_mailbox_post(&desk->mail.box, &desk->again);
}

static void wake_tap(struct hl_follow_desk *desk, struct hl_desk_tap *tap)
{
    if (!hl_desk_tap_heard(tap))
        return;
    HL_LIST_EACH (node, &tap->followers) {
        struct hl_follower *f = HL_CONTAINER_OF(node, struct hl_follower, in_tap);
        hl_list_remove(&f->in_ready);
        hl_list_push_back(&desk->ready, &f->in_ready);
    }
    serve_ready(desk);
}

static void take_reply(struct hl_follow_desk *desk, struct hl_store_msg *m)
{
    struct hl_follower *f = hl_slot_find(&desk->slots, m->from);
    if (f)
        hl_follower_hear(f, m);
    if (m->msg.type == HL_STORE_GET_RUN)
        hl_get_run_fini((struct hl_get_run *)m);
    free(m);
}

static void look_at_all(struct hl_follow_desk *desk)
{
    HL_LIST_EACH_SAFE (node, &desk->followers)
        hl_follower_look(HL_CONTAINER_OF(node, struct hl_follower, in_all));
}

static void on_message(void *self, struct hl_msg *msg)
{
    struct hl_follow_desk *desk = self;
    switch (msg->type) {
    case HL_DESK_TAP:
        wake_tap(desk, HL_CONTAINER_OF(msg, struct hl_desk_tap, tap.msg));
        break;
    case HL_DESK_AGAIN:
        desk->is_again_posted = false;
        serve_ready(desk);
        break;
    case HL_DESK_LOOK:
        hl_bell_heard(&desk->look);
        look_at_all(desk);
        break;
    default:
        take_reply(desk, HL_CONTAINER_OF(msg, struct hl_store_msg, msg));
    }
}

/* ---- its life ---- */

int hl_follow_desk_init(struct hl_follow_desk *desk)
{
    hl_relay_names_init(&desk->names, desk->loop);
    hl_slot_table_init(&desk->slots);
    hl_id_map_init(&desk->taps);
    hl_list_init(&desk->followers);
    hl_list_init(&desk->ready);
    hl_bell_init(&desk->look, &desk->mail.box, HL_DESK_LOOK);
    desk->in = malloc(HL_FOLLOW_READ);
    desk->out = malloc(HL_FOLLOW_ROOM);
    if (!desk->in || !desk->out)
        return UV_ENOMEM;
    return hl_uv_mailbox_init(&desk->mail, desk->loop, on_message, desk);
}

void hl_follow_desk_drain(struct hl_follow_desk *desk)
{
    desk->is_draining = true;
    HL_LIST_EACH_SAFE (node, &desk->followers)
        hl_follower_go_on(HL_CONTAINER_OF(node, struct hl_follower, in_all));
}

void hl_follow_desk_close(struct hl_follow_desk *desk)
{
    hl_relay_names_close(&desk->names);
    hl_uv_mailbox_close(&desk->mail);
}

void hl_follow_desk_fini(struct hl_follow_desk *desk)
{
    struct hl_msg *next;
    for (struct hl_msg *msg = hl_mailbox_take(&desk->mail.box); msg; msg = next) {
        next = msg->next;
        if (msg->type != HL_DESK_AGAIN && msg->type != HL_DESK_LOOK)
            on_message(desk, msg);
    }
    hl_slot_table_fini(&desk->slots);
    hl_id_map_fini(&desk->taps);
    free(desk->in);
    free(desk->out);
}
