/* rest_waits.c - see rest_waits.h. */
#include "api/rest_waits.h"

#include <stdlib.h>

#include "base/random.h"
#include "base/str.h"
#include "config/config.h"
#include "loop/mailbox.h"
#include "store/claim.h"
#include "store/lane.h"
#include "store/store.h"

#define SHARE 4 /* a subject has this part of all places at the most */

int hl_rest_waits_init(struct hl_rest_waits *waits, uv_loop_t *loop, struct hl_store *store,
    struct hl_mailbox *mail, const struct hl_config *config)
{
    *waits = (struct hl_rest_waits){.store = store, .mail = mail, .max = config->max_waiters};
    hl_list_init(&waits->list);
    hl_id_map_init(&waits->subjects);
    hl_random_fill(waits->key, sizeof(waits->key));
    int rc = hl_wheel_init(&waits->wheel, loop);
    waits->has_wheel = rc == 0;
    return rc;
}

static void be_over(struct hl_rest_wait *wait)
{
    wait->is_over = true;
    hl_timer_disarm(&wait->timer);
    if (wait->on_over)
        wait->on_over(wait);
}

void hl_rest_waits_end(struct hl_rest_waits *waits)
{
    waits->is_over = true;
    HL_LIST_EACH_SAFE (node, &waits->list) {
        struct hl_rest_wait *wait = HL_CONTAINER_OF(node, struct hl_rest_wait, node);
        if (!wait->is_call)
            be_over(wait);
    }
}

void hl_rest_waits_close(struct hl_rest_waits *waits)
{
    if (waits->has_wheel)
        hl_wheel_close(&waits->wheel);
    waits->has_wheel = false;
}

void hl_rest_waits_fini(struct hl_rest_waits *waits)
{
    for (size_t i = 0; i < waits->subjects.cap; i++)
        free(waits->subjects.entries[i].value);
    hl_id_map_fini(&waits->subjects);
}

/* ---- subjects ---- */

static bool enter_subject(struct hl_rest_wait *wait, struct hl_str subject)
{
    struct hl_rest_waits *waits = wait->waits;
    wait->subject = (struct hl_id){{0}};
    if (subject.n == 0)
        return true;
    struct hl_id id = hl_lane_key(hl_siphash(waits->key, subject));
    uint32_t *n = hl_id_map_find(&waits->subjects, &id);
    if (!n && hl_id_map_reserve(&waits->subjects, 1) == HL_OK && (n = calloc(1, sizeof(*n))))
        hl_id_map_put(&waits->subjects, &id, n);
    if (!n || *n >= (waits->max + SHARE - 1) / SHARE)
        return false;
    ++*n;
    wait->subject = id;
    return true;
}

static void leave_subject(struct hl_rest_wait *wait)
{
    struct hl_rest_waits *waits = wait->waits;
    uint32_t *n = hl_id_map_find(&waits->subjects, &wait->subject);
    if (n && --*n == 0)
        free(hl_id_map_remove(&waits->subjects, &wait->subject));
}

/* ---- one ---- */

void hl_rest_wait_init(struct hl_rest_wait *wait)
{
    *wait = (struct hl_rest_wait){.waits = NULL};
    hl_list_init(&wait->node);
}

static void on_timer(struct hl_timer *timer)
{
    be_over(HL_CONTAINER_OF(timer, struct hl_rest_wait, timer));
}

static bool post(struct hl_rest_wait *wait, enum hl_store_op op, const struct hl_id *run_id)
{
    struct hl_watch *watch = calloc(1, sizeof(*watch));
    if (!watch)
        return false;
    watch->m.msg.type = op;
    watch->m.reply_to = wait->waits->mail;
    watch->m.from = wait->name;
    watch->run_id = *run_id;
    watch->wants_head = wait->is_call;
    enum hl_err err = hl_store_post(wait->waits->store, &watch->m);
    (void)err; /* only ACCEPT and RECORD can be refused */
    return true;
}

static const struct hl_id nobody;

void hl_rest_wait_on_watched(struct hl_rest_wait *wait)
{
    if (wait->on_watched)
        wait->on_watched(wait);
}

bool hl_rest_wait_begin(struct hl_rest_wait *wait, struct hl_rest_waits *waits,
    struct hl_slot_name name, const struct hl_id *run_id, struct hl_str subject, uint64_t ms)
{
    wait->waits = waits;
    wait->name = name;
    wait->run_id = *run_id;
    bool is_over = waits->is_over && !wait->is_call;
    if (is_over || waits->n >= waits->max || !enter_subject(wait, subject))
        return false;
    if (!post(wait, HL_STORE_WATCH, run_id)) {
        leave_subject(wait);
        return false;
    }
    wait->is_watched = true;
    wait->is_over =
        !post(wait, HL_STORE_UNWATCH, &nobody); /* its answer says that the first is there */
    waits->n++;
    hl_list_push_back(&waits->list, &wait->node);
    hl_timer_init(&wait->timer, on_timer);
    hl_timer_arm(&waits->wheel, &wait->timer, ms);
    return true;
}

void hl_rest_wait_on_watch(struct hl_rest_wait *wait, enum hl_err rc)
{
    (void)rc; /* whatever it is: there is something to be looked at */
    wait->is_watched = false;
    be_over(wait);
}

void hl_rest_wait_leave(struct hl_rest_wait *wait)
{
    struct hl_rest_waits *waits = wait->waits;
    if (!hl_list_is_linked(&wait->node))
        return;
    hl_list_remove(&wait->node);
    hl_timer_fini(&waits->wheel, &wait->timer);
    waits->n--;
    leave_subject(wait);
    if (wait->is_watched) /* short of memory its answer will find nobody */
        (void)post(wait, HL_STORE_UNWATCH, &wait->run_id);
    wait->is_watched = false;
}
