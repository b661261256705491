/* herald.c - see herald.h.
 * Promise: one request is with the store at a time, which says what is kept of alerts before and after it, so that
 * none is told twice by those who share it; an event has one id however often it is tried.
 * Not here: when a condition holds (sight.c), what an alert may do next (alert.c), what is kept (book.c), what is said
 * (event.c). */
#include "alert/herald.h"

#include <stdlib.h>
#include <string.h>

#include "alert/event.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "config/alert_setting.h"
#include "config/config.h"
#include "run/service.h"
#include "store/accept.h"
#include "store/alert.h"
#include "store/claim.h"
#include "store/store.h"
#include "webhook/news.h"
#include "webhook/sender.h"

#define LOOK_MS    1000
#define AGAIN_MS   5000
#define ALERTS_MAX 1000 /* of destinations; there are few others */

static void on_timer(struct hl_timer *timer);
static void on_message(void *self, struct hl_msg *msg);

bool hl_herald_init(
    struct hl_herald *h, const struct hl_service *service, uv_loop_t *loop, struct hl_wheel *wheel)
{
    if (service->config->alert_url.n == 0)
        return true;
    if (hl_uv_mailbox_init(&h->mail, loop, on_message, h) != 0)
        return false;
    h->service = service;
    h->wheel = wheel;
    hl_list_init(&h->alerts);
    hl_id_source_init(&h->ids);
    hl_timer_init(&h->timer, on_timer);
    return true;
}

struct hl_mailbox *hl_herald_news(struct hl_herald *h)
{
    return h->service ? &h->mail.box : NULL;
}

void hl_herald_start(struct hl_herald *h, struct hl_store *store, struct hl_sender *sender)
{
    if (!h->service)
        return;
    h->store = store;
    h->sender = sender;
    if (hl_store_is_shared(store))
        h->replica = h->service->config->replica;
    hl_timer_arm(h->wheel, &h->timer, 0);
}

/* ---- alerts ---- */

static struct hl_alert *find(
    const struct hl_herald *h, enum hl_alert_kind kind, const char *subject)
{
    HL_LIST_EACH (node, &h->alerts) {
        struct hl_alert *a = HL_CONTAINER_OF(node, struct hl_alert, node);
        if (a->kind == kind && strcmp(a->subject, subject) == 0)
            return a;
    }
    return NULL;
}

/* NULL: there are too many, or no memory. */
static struct hl_alert *need(struct hl_herald *h, enum hl_alert_kind kind, const char *subject)
{
    struct hl_alert *a = find(h, kind, subject);
    if (a || (h->count >= ALERTS_MAX && hl_alert_is_of_many(kind)))
        return a;
    a = hl_alert_new(kind, subject);
    if (!a)
        return NULL;
    hl_list_push_back(&h->alerts, &a->node);
    h->count++;
    return a;
}

static void forget(struct hl_herald *h, struct hl_alert *a)
{
    hl_list_remove(&a->node);
    free(a);
    h->count--;
}

/* Of what is seen, and not told by events. */
static const char *subject_of(const struct hl_herald *h, enum hl_alert_kind kind)
{
    return hl_alert_is_own(kind) && h->replica.n > 0 ? h->replica.p : "";
}

static void look(struct hl_herald *h, uint64_t now_ms)
{
    hl_sight_look(&h->sight, h->service, hl_store_get_gauges(h->store), now_ms);
    for (int i = 0; i < HL_ALERT_KINDS; i++) {
        enum hl_alert_kind kind = (enum hl_alert_kind)i;
        struct hl_alert *a = find(h, kind, subject_of(h, kind));
        struct hl_alert_facts facts;
        enum hl_condition is = hl_sight_judge(&h->sight, kind, a && a->holds, &facts);
        if (is == HL_CONDITION_HOLDS && !a)
            a = need(h, kind, subject_of(h, kind));
        if (a && is != HL_CONDITION_UNKNOWN)
            hl_alert_hear(a, is == HL_CONDITION_HOLDS, &facts, now_ms);
    }
}

/* ---- what is kept ---- */

static void post(struct hl_herald *h, struct hl_store_msg *m, enum hl_store_op op)
{
    m->msg.type = op;
    m->reply_to = &h->mail.box;
    if (hl_store_post(h->store, m) != HL_OK)
        HL_ASSERT(!"only what brings work may be refused");
}

static void ask_for_book(struct hl_herald *h)
{
    struct hl_get_alerts *g = calloc(1, sizeof(*g));
    if (!g)
        return;
    h->is_asking = true;
    post(h, &g->m, HL_STORE_GET_ALERTS);
}

/* What holds still is not told twice. */
static void adopt_all(struct hl_herald *h)
{
    struct hl_book_entry e;
    for (size_t i = 0; i < hl_book_count(&h->book); i++) {
        struct hl_alert_facts facts;
        if (!hl_book_at(&h->book, i, &e) || strcmp(e.subject, subject_of(h, e.kind)) != 0)
            continue;
        struct hl_alert *a = need(h, e.kind, e.subject);
        if (a && a->state == HL_ALERT_QUIET) {
            hl_alert_adopt(a, &e.id, e.since_ms);
            (void)hl_sight_judge(&h->sight, e.kind, true, &facts);
            a->facts = facts;
        }
    }
}

/* Destinations that have answered, of which only what is kept says whether that is worth telling. */
static void end_answered(struct hl_herald *h)
{
    struct hl_book_entry e;
    HL_LIST_EACH (node, &h->alerts) {
        struct hl_alert *a = HL_CONTAINER_OF(node, struct hl_alert, node);
        if (!a->has_answered)
            continue;
        a->has_answered = false;
        if (a->state == HL_ALERT_QUIET && hl_book_find(&h->book, a->kind, a->subject, &e))
            hl_alert_adopt(a, &e.id, e.since_ms);
        hl_alert_end(a);
    }
}

static void on_book(struct hl_herald *h, struct hl_get_alerts *g, uint64_t now_ms)
{
    h->is_asking = false;
    if ((g->m.rc == HL_OK || g->m.rc == HL_ERR_NOT_FOUND) &&
        hl_book_read(&h->book, hl_buf_str(&g->value)) == HL_OK) {
        h->has_book = true;
        if (!h->has_adopted)
            adopt_all(h);
        h->has_adopted = true;
        end_answered(h);
    } else {
        h->store_again_ms = now_ms + AGAIN_MS;
    }
    hl_get_alerts_fini(g);
    free(g);
}

/* ---- telling ---- */

static void log_told(const struct hl_alert *a, const char *how)
{
    bool is_end = a->state == HL_ALERT_ENDING;
    HL_LOG(INFO, how, HL_LOG_TEXT("alert", hl_alert_kind_text(a->kind)),
        HL_LOG_TEXT("subject", a->subject), HL_LOG_TEXT("status", is_end ? "resolved" : "firing"),
        HL_LOG_ID("event_id", &a->event));
}

/* The run whose webhook it is. */
static enum hl_err add_run(
    struct hl_herald *h, const struct hl_alert *a, int64_t now_ms, struct hl_tell_alert *t)
{
    const struct hl_config *config = h->service->config;
    char path[64];
    struct hl_buf body = {0};
    hl_event_path(a, path);
    struct hl_accept run = {.run_id = a->event,
        .created_ms = now_ms,
        .project = hl_alert_project(config),
        .app = HL_STR(HL_ALERT_APP),
        .method = HL_STR("POST"),
        .target = hl_str_from(path),
        .webhook_url = config->alert_url,
        .terms = {.max_attempts = 1}};
    struct hl_finish *end = calloc(1, sizeof(*end));
    t->run = hl_accept_new(HL_STORE_RECORD, &run);
    t->end = end;
    if (!t->run || !end)
        return HL_ERR_NOMEM;
    end->m.msg.type = HL_STORE_FINISH;
    end->run_id = a->event;
    end->epoch = 1;
    end->run_us = end->queued_us = -1;
    end->outcome = (struct hl_outcome){.state = HL_RUN_SUCCESS,
        .http_status = 200,
        .finished_ms = now_ms,
        .content_type = "application/json",
        .encoding = HL_ENCODING_JSON,
        .body.where = HL_BODY_INLINE};
    enum hl_err err = hl_event_write(a, h->replica, now_ms, &body);
    if (!err)
        err = hl_body_copy(&end->outcome.body, hl_buf_str(&body));
    hl_digest_short(hl_buf_str(&body), end->outcome.body.digest);
    hl_buf_fini(&body);
    return err;
}

/* What is kept then. One that was told without the store, and is of interest only while that fails, is never noted. */
static enum hl_err add_book(
    struct hl_herald *h, const struct hl_alert *a, int64_t now_ms, struct hl_tell_alert *t)
{
    struct hl_book_entry e;
    bool is_end = a->state == HL_ALERT_ENDING;
    enum hl_err err = hl_buf_append_str(&t->former, hl_buf_str(&h->book.text));
    if (err)
        return err;
    if (is_end && !hl_book_find(&h->book, a->kind, a->subject, &e))
        return hl_buf_append_str(&t->value, hl_buf_str(&h->book.text));
    return hl_book_write(&h->book, a, is_end, now_ms, &t->value);
}

static void put_off(struct hl_herald *h, struct hl_alert *a, uint64_t now_ms)
{
    h->store_again_ms = now_ms + AGAIN_MS;
    if (!h->is_note)
        hl_alert_on_told(a, false, now_ms);
    h->telling = NULL;
}

/* Its begin or its end is stored as a delivery; or `is_note`: what was told without that is noted. */
static void tell_store(struct hl_herald *h, struct hl_alert *a, bool is_note, uint64_t now_ms)
{
    int64_t wall_ms = hl_clock_wall_ms();
    struct hl_tell_alert *t = calloc(1, sizeof(*t));
    h->telling = a;
    h->is_note = is_note;
    if (!is_note)
        hl_alert_tell(a, false, &h->ids);
    enum hl_err err = t ? add_book(h, a, wall_ms, t) : HL_ERR_NOMEM;
    if (!err && !is_note)
        err = add_run(h, a, wall_ms, t);
    if (!err) {
        post(h, &t->m, HL_STORE_TELL_ALERT);
        return;
    }
    hl_tell_alert_free(t);
    put_off(h, a, now_ms);
}

static void on_stored(struct hl_herald *h, struct hl_tell_alert *t, uint64_t now_ms)
{
    struct hl_alert *a = h->telling;
    bool is_told = t->m.rc == HL_OK;
    if (is_told && hl_book_read(&h->book, hl_buf_str(&t->value)) != HL_OK)
        h->has_book = false;
    if (!is_told && t->m.rc == HL_ERR_STALE)
        h->has_book = false; /* others have told something: perhaps this */
    else if (!is_told)
        h->store_again_ms = now_ms + AGAIN_MS;
    if (is_told && !h->is_note)
        log_told(a, "alert");
    if (h->is_note)
        a->is_unnoted = a->is_unnoted && !is_told;
    else
        hl_alert_on_told(a, is_told, now_ms);
    h->telling = NULL;
    hl_tell_alert_free(t);
}

static void tell_directly(struct hl_herald *h, struct hl_alert *a, uint64_t now_ms)
{
    hl_alert_tell(a, true, &h->ids);
    h->body.n = 0;
    if (hl_event_write(a, h->replica, hl_clock_wall_ms(), &h->body) != HL_OK) {
        h->direct_again_ms = now_ms + AGAIN_MS;
        hl_alert_on_told(a, false, now_ms);
        return;
    }
    h->sending = a;
    h->direct = (struct hl_direct){.reply_to = &h->mail.box,
        .run_id = a->event,
        .url = h->service->config->alert_url,
        .body = hl_buf_str(&h->body)};
    hl_sender_send(h->sender, &h->direct);
}

static void on_sent(struct hl_herald *h, uint64_t now_ms)
{
    struct hl_alert *a = h->sending;
    h->sending = NULL;
    free(h->direct.report);
    h->direct.report = NULL;
    if (h->direct.is_delivered)
        log_told(a, "alert, sent without the store");
    else
        h->direct_again_ms = now_ms + AGAIN_MS;
    hl_alert_on_told(a, h->direct.is_delivered, now_ms);
}

/* ---- turns ---- */

/* Whether others have told it, or an earlier process: then so has this one. */
static bool is_told(struct hl_herald *h, struct hl_alert *a, uint64_t now_ms)
{
    struct hl_book_entry e;
    if (!h->has_book || !hl_book_find(&h->book, a->kind, a->subject, &e))
        return false;
    if (a->kind == HL_ALERT_DEAD_LETTERS) {
        int64_t age_ms = hl_clock_wall_ms() - e.at_ms;
        if (age_ms < 0 || age_ms >= HL_ALERT_WINDOW_MS)
            return false;
        a->quiet_until = now_ms + (uint64_t)(HL_ALERT_WINDOW_MS - age_ms);
    }
    hl_alert_adopt(a, &e.id, e.since_ms);
    return true;
}

/* Others have told its end. */
static bool has_ended(const struct hl_herald *h, const struct hl_alert *a)
{
    struct hl_book_entry e;
    return h->has_book && !a->is_unnoted && a->kind != HL_ALERT_STORE_FAILING &&
           !hl_book_find(&h->book, a->kind, a->subject, &e);
}

static bool store_takes(const struct hl_herald *h, uint64_t now_ms)
{
    return h->has_book && !h->telling && !h->is_asking && !h->sight.is_failing &&
           now_ms >= h->store_again_ms;
}

static bool may_send(const struct hl_herald *h, uint64_t now_ms)
{
    return !h->sending && now_ms >= h->direct_again_ms &&
           (h->sight.is_failing || now_ms < h->store_again_ms);
}

static void tell(struct hl_herald *h, struct hl_alert *a, uint64_t now_ms)
{
    bool is_stored = store_takes(h, now_ms);
    if (a->state == HL_ALERT_RISING && !is_told(h, a, now_ms)) {
        if (is_stored)
            tell_store(h, a, false, now_ms);
        else if (may_send(h, now_ms))
            tell_directly(h, a, now_ms);
    } else if (a->state == HL_ALERT_FALLING && has_ended(h, a)) {
        hl_alert_drop(a);
    } else if (a->state == HL_ALERT_FALLING && is_stored) {
        tell_store(h, a, false, now_ms);
    } else if (a->state == HL_ALERT_FIRING && a->is_unnoted && is_stored) {
        tell_store(h, a, true, now_ms);
    }
}

static void turn(struct hl_herald *h, uint64_t now_ms)
{
    if (!h->has_book && !h->is_asking && !h->telling && !h->sight.is_failing &&
        now_ms >= h->store_again_ms)
        ask_for_book(h);
    HL_LIST_EACH_SAFE (node, &h->alerts) {
        struct hl_alert *a = HL_CONTAINER_OF(node, struct hl_alert, node);
        hl_alert_tick(a, now_ms);
        tell(h, a, now_ms);
        if (hl_alert_is_over(a, now_ms) && !a->has_answered)
            forget(h, a);
    }
}

static void on_timer(struct hl_timer *timer)
{
    struct hl_herald *h = HL_CONTAINER_OF(timer, struct hl_herald, timer);
    uint64_t now_ms = hl_clock_mono_ms();
    look(h, now_ms);
    turn(h, now_ms);
    hl_timer_arm(h->wheel, timer, LOOK_MS);
}

static void hear(struct hl_herald *h, const struct hl_news *news, uint64_t now_ms)
{
    bool is_dead = news->kind == HL_NEWS_DEAD;
    struct hl_alert *a =
        need(h, is_dead ? HL_ALERT_DEAD_LETTERS : HL_ALERT_DESTINATION_FAILING, news->destination);
    struct hl_alert_facts facts = {0};
    if (!a)
        return;
    hl_str_put_cut(facts.text, sizeof(facts.text), hl_str_from(news->error));
    if (is_dead) {
        hl_alert_count(a, 1, news->error);
    } else if (news->kind == HL_NEWS_FAILING) {
        hl_alert_hear(a, true, &facts, now_ms);
    } else if (a->state != HL_ALERT_QUIET) {
        hl_alert_end(a);
    } else {
        a->has_answered = true;
        if (h->has_book && !hl_store_is_shared(h->store))
            end_answered(h);
        else
            h->has_book = false;
    }
}

static void on_message(void *self, struct hl_msg *msg)
{
    struct hl_herald *h = self;
    uint64_t now_ms = hl_clock_mono_ms();
    bool is_over = h->is_stopped;
    switch (msg->type) {
    case HL_NEWS:
        if (!is_over)
            hear(h, (const struct hl_news *)msg, now_ms);
        free(msg);
        break;
    case HL_DIRECT:
        on_sent(h, now_ms);
        break;
    case HL_STORE_GET_ALERTS:
        on_book(h, (struct hl_get_alerts *)msg, now_ms);
        break;
    default:
        on_stored(h, (struct hl_tell_alert *)msg, now_ms);
    }
    if (!is_over)
        turn(h, now_ms);
}

/* ---- the end ---- */

void hl_herald_stop(struct hl_herald *h)
{
    if (!h->service)
        return;
    h->is_stopped = true;
    hl_timer_fini(h->wheel, &h->timer);
}

void hl_herald_close(struct hl_herald *h)
{
    if (h->service)
        hl_uv_mailbox_close(&h->mail);
}

void hl_herald_fini(struct hl_herald *h)
{
    if (!h->service)
        return;
    for (struct hl_msg *msg = hl_mailbox_take(&h->mail.box), *next; msg; msg = next) {
        next = msg->next;
        if (msg->type == HL_STORE_GET_ALERTS)
            hl_get_alerts_fini((struct hl_get_alerts *)msg);
        if (msg->type == HL_STORE_TELL_ALERT)
            hl_tell_alert_free((struct hl_tell_alert *)msg);
        else if (msg->type == HL_DIRECT)
            free(h->direct.report);
        else
            free(msg);
    }
    HL_LIST_EACH_SAFE (node, &h->alerts)
        forget(h, HL_CONTAINER_OF(node, struct hl_alert, node));
    hl_book_fini(&h->book);
    hl_buf_fini(&h->body);
}
