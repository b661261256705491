/* watch.c - see watch.h.
 * Not here: when a destination fails (health.c), what is asked of the store (recall.c). */
#include "webhook/watch.h"

#include "base/clock.h"
#include "webhook/news.h"
#include "webhook/parcel.h"
#include "webhook/shares.h"
#include "webhook/transfer_result.h"
#include "webhook/verdict.h"

void hl_watch_init(struct hl_watch *w, struct hl_store *store, struct hl_mailbox *replies)
{
    *w = (struct hl_watch){.news = NULL};
    hl_healths_init(&w->healths);
    hl_recalls_init(&w->recalls, store, replies);
}

void hl_watch_fini(struct hl_watch *w)
{
    hl_healths_fini(&w->healths);
}

static void note_change(struct hl_watch *w, uint64_t lane)
{
    hl_counter_set(w->failing, w->healths.failing);
    hl_shares_note(w->shares, lane);
}

static struct hl_health note(
    struct hl_watch *w, const struct hl_parcel *p, const struct hl_transfer_result *result)
{
    bool was_failing, is_answered = result->http_status > 0;
    bool is_first = !hl_healths_knows(&w->healths, p->lane);
    uint64_t ms = (hl_clock_mono_us() - p->started_us) / 1000;
    struct hl_health now =
        hl_healths_note(&w->healths, p->lane, p->started_ms, is_answered, ms, &was_failing);
    hl_verdict_note_health(p, now, was_failing, result);
    if (now.health == HL_LANE_FAILING && !was_failing)
        hl_news_tell(w->news, HL_NEWS_FAILING, now.failing_since_ms, p, result);
    else if (is_answered && (is_first || was_failing))
        hl_news_tell(w->news, HL_NEWS_ANSWERS, 0, p, result);
    note_change(w, p->lane);
    if (is_first && !is_answered)
        hl_recalls_ask(&w->recalls, p);
    return now;
}

void hl_watch_judge(
    struct hl_watch *w, struct hl_parcel *p, const struct hl_transfer_result *result)
{
    bool says_nothing = result->is_permanent || result->is_ours;
    struct hl_health now =
        says_nothing ? hl_healths_find(&w->healths, p->lane) : note(w, p, result);
    p->outcome.health = now.health;
    p->outcome.failing_since_ms = now.failing_since_ms;
}

void hl_watch_confirm(struct hl_watch *w, const struct hl_parcel *p)
{
    if (p->outcome.m.rc == HL_OK && p->outcome.verdict != HL_ATTEMPT_ABANDONED &&
        p->outcome.health == HL_LANE_FAILING)
        hl_healths_confirm(&w->healths, p->lane);
}

void hl_watch_learn(struct hl_watch *w, const struct hl_leased *leased)
{
    if (hl_healths_learn(&w->healths, leased->lane, leased->failing_since_ms))
        note_change(w, leased->lane);
}

void hl_watch_recall(struct hl_watch *w, struct hl_msg *reply)
{
    struct hl_silence silence;
    hl_recalls_take(&w->recalls, reply, &silence);
    if (!hl_healths_recall(&w->healths, silence.lane, silence.n, silence.since_ms))
        return;
    hl_verdict_log_failing(silence.to, silence.since_ms, silence.error);
    hl_news_post(w->news, HL_NEWS_FAILING, silence.since_ms, silence.to, silence.error);
    note_change(w, silence.lane);
}
