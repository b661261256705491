/* call_tally.c - see call_tally.h. A call costs a few increments: the minutes of the apps that are called just now
 * are open, with a place for each bucket. Closed ones hold only what is not zero. */
#include "run/call_tally.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "loop/mailbox.h"
#include "store/notice.h"
#include "store/store.h"

#define REASONS 16

struct hl_open_minute {
    int64_t minute; /* -1: nothing is counted here */
    size_t project_n, app_n;
    char project[HL_STORE_NAME_MAX + 1], app[HL_STORE_NAME_MAX + 1];
    uint32_t ends[HL_RUN_CANCELLED + 1][REASONS];
    uint32_t run[HL_TALLY_BUCKETS], wait[HL_TALLY_BUCKETS];
};

static void on_timer(struct hl_timer *timer);

void hl_call_tally_init(struct hl_call_tally *t, struct hl_store *store, struct hl_wheel *wheel,
    struct hl_mailbox *box, struct hl_id_source *ids)
{
    *t = (struct hl_call_tally){.store = store, .wheel = wheel, .box = box, .ids = ids};
    hl_timer_init(&t->timer, on_timer);
}

void hl_call_tally_fini(struct hl_call_tally *t)
{
    for (size_t i = 0; i < t->n_open; i++)
        free(t->open[i]);
    for (size_t i = 0; i < t->n_minutes; i++)
        hl_tally_fini(&t->minutes[i].tally);
    free(t->minutes);
    hl_told_tally_free(t->again);
}

/* ---- closing ---- */

static void drop_oldest(struct hl_call_tally *t)
{
    if (!t->has_dropped)
        HL_LOG(WARN,
            "the store does not accept counts of synchronous calls: the overview will lack some");
    t->has_dropped = true;
    hl_tally_fini(&t->minutes[0].tally);
    memmove(t->minutes, t->minutes + 1, --t->n_minutes * sizeof(*t->minutes));
}

static bool has_room(struct hl_call_tally *t)
{
    if (t->n_minutes == HL_CALL_TALLY_MAX)
        drop_oldest(t);
    if (t->n_minutes < t->cap_minutes)
        return true;
    size_t cap = t->cap_minutes ? 2 * t->cap_minutes : 4;
    struct hl_told_minute *minutes = realloc(t->minutes, cap * sizeof(*minutes));
    if (!minutes)
        return false;
    t->minutes = minutes;
    t->cap_minutes = cap;
    return true;
}

/* NULL: out of memory. */
static struct hl_told_minute *closed_of(
    struct hl_call_tally *t, const char *project, const char *app, int64_t minute)
{
    for (size_t i = t->n_minutes; i-- > 0;) {
        struct hl_told_minute *m = &t->minutes[i];
        if (m->minute == minute && strcmp(m->app, app) == 0 && strcmp(m->project, project) == 0)
            return m;
    }
    if (!has_room(t))
        return NULL;
    struct hl_told_minute *fresh = &t->minutes[t->n_minutes++];
    *fresh = (struct hl_told_minute){.minute = minute};
    hl_str_put(fresh->project, sizeof(fresh->project), project);
    hl_str_put(fresh->app, sizeof(fresh->app), app);
    return fresh;
}

static enum hl_err add_buckets(
    struct hl_tally *to, enum hl_tally_kind kind, const uint32_t from[HL_TALLY_BUCKETS])
{
    enum hl_err err = HL_OK;
    for (uint32_t i = 0; i < HL_TALLY_BUCKETS && !err; i++)
        if (from[i] > 0)
            err = hl_tally_add(to, hl_tally_key(kind, false, i), from[i]);
    return err;
}

static enum hl_err add_ends(struct hl_tally *to, const struct hl_open_minute *from)
{
    enum hl_err err = HL_OK;
    for (int state = 0; state <= HL_RUN_CANCELLED && !err; state++)
        for (int reason = 0; reason < REASONS && !err; reason++)
            if (from->ends[state][reason] > 0)
                err = hl_tally_add(to,
                    hl_tally_end_key(false, (enum hl_run_state)state, (enum hl_run_reason)reason),
                    from->ends[state][reason]);
    return err;
}

/* Without memory its counts are lost. */
static void close_minute(struct hl_call_tally *t, struct hl_open_minute *open)
{
    if (open->minute < 0)
        return;
    struct hl_told_minute *to = closed_of(t, open->project, open->app, open->minute);
    enum hl_err err = to ? add_ends(&to->tally, open) : HL_ERR_NOMEM;
    if (!err)
        err = add_buckets(&to->tally, HL_TALLY_RUN, open->run);
    if (!err)
        err = add_buckets(&to->tally, HL_TALLY_WAIT, open->wait);
    open->minute = -1;
}

/* ---- counting ---- */

static bool is_of(const struct hl_open_minute *open, const struct hl_ended_call *ended)
{
    return open->app_n == ended->app.n && open->project_n == ended->project.n &&
           memcmp(open->app, ended->app.p, ended->app.n) == 0 &&
           memcmp(open->project, ended->project.p, ended->project.n) == 0;
}

static void begin(struct hl_call_tally *t, struct hl_open_minute *open,
    const struct hl_ended_call *ended, int64_t minute)
{
    close_minute(t, open);
    memset(open, 0, sizeof(*open));
    open->minute = minute;
    hl_str_put_cut(open->project, sizeof(open->project), ended->project);
    hl_str_put_cut(open->app, sizeof(open->app), ended->app);
    open->project_n = ended->project.n;
    open->app_n = ended->app.n;
    if (!hl_timer_is_armed(&t->timer))
        hl_timer_arm(t->wheel, &t->timer, HL_CALL_TALLY_EVERY_MS);
}

/* The app's own, a new one, or that whose turn it is to go, of which nothing is left. NULL: out of memory. */
static struct hl_open_minute *choose(struct hl_call_tally *t, const struct hl_ended_call *ended)
{
    for (size_t i = 0; i < t->n_open; i++) {
        if (is_of(t->open[t->last], ended))
            return t->open[t->last];
        t->last = t->last + 1 < t->n_open ? t->last + 1 : 0;
    }
    if (t->n_open == HL_CALL_TALLY_OPEN) {
        t->last = (t->last + 1) % t->n_open;
        close_minute(t, t->open[t->last]);
        return t->open[t->last];
    }
    struct hl_open_minute *fresh = malloc(sizeof(*fresh));
    if (!fresh)
        return NULL;
    fresh->minute = -1;
    fresh->app_n = fresh->project_n = SIZE_MAX;
    t->last = t->n_open;
    return t->open[t->n_open++] = fresh;
}

void hl_call_tally_add(struct hl_call_tally *t, const struct hl_ended_call *ended)
{
    int64_t minute = ended->finished_ms / HL_TALLY_MINUTE_MS;
    struct hl_open_minute *open = choose(t, ended);
    if (!open || ended->reason >= REASONS)
        return;
    if (open->minute != minute)
        begin(t, open, ended, minute);
    open->ends[ended->state][ended->reason]++;
    if (ended->run_us >= 0)
        open->run[hl_tally_bucket((uint64_t)ended->run_us)]++;
    if (ended->queued_us >= 0)
        open->wait[hl_tally_bucket((uint64_t)ended->queued_us)]++;
}

/* ---- telling ---- */

static void close_all(struct hl_call_tally *t)
{
    for (size_t i = 0; i < t->n_open; i++)
        close_minute(t, t->open[i]);
}

static void post(struct hl_call_tally *t, struct hl_told_tally *told)
{
    t->is_telling = true;
    enum hl_err err = hl_store_post(t->store, &told->m);
    (void)err; /* only ACCEPT and RECORD can be refused */
}

/* NULL: nothing is closed, or out of memory. */
static struct hl_told_tally *take_closed(struct hl_call_tally *t)
{
    struct hl_told_tally *told = t->n_minutes > 0 ? calloc(1, sizeof(*told)) : NULL;
    if (!told)
        return NULL;
    if (hl_id_is_nil(&t->source))
        t->source = hl_id_next(t->ids, hl_clock_wall_ms());
    told->m.msg.type = HL_STORE_TALLY;
    told->m.reply_to = t->box;
    told->source = t->source;
    told->id = hl_id_next(t->ids, hl_clock_wall_ms());
    told->minutes = t->minutes;
    told->n = t->n_minutes;
    t->minutes = NULL;
    t->n_minutes = t->cap_minutes = 0;
    return told;
}

/* What the store did not take comes first, as it was: it may have taken it after all. */
static void tell(struct hl_call_tally *t)
{
    close_all(t);
    struct hl_told_tally *told = t->again ? t->again : take_closed(t);
    t->again = NULL;
    if (told)
        post(t, told);
}

static void arm_if_left(struct hl_call_tally *t)
{
    if ((t->again || t->n_minutes > 0) && !hl_timer_is_armed(&t->timer))
        hl_timer_arm(t->wheel, &t->timer, HL_CALL_TALLY_EVERY_MS);
}

static void on_timer(struct hl_timer *timer)
{
    struct hl_call_tally *t = HL_CONTAINER_OF(timer, struct hl_call_tally, timer);
    if (t->is_telling)
        close_all(t); /* the answer is waited for */
    else
        tell(t);
    arm_if_left(t);
}

void hl_call_tally_on_reply(struct hl_call_tally *t, struct hl_told_tally *told, bool has_ended)
{
    bool is_told = told->m.rc == HL_OK;
    t->is_telling = false;
    t->has_dropped = t->has_dropped && !is_told;
    if (is_told || has_ended || t->again)
        hl_told_tally_free(told);
    else
        t->again = told;
    if (!has_ended)
        arm_if_left(t);
}

void hl_call_tally_end(struct hl_call_tally *t)
{
    hl_timer_disarm(&t->timer);
    if (t->again)
        tell(t);
    tell(t); /* two at once: the store takes them in their order */
}
