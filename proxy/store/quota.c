/* quota.c - see quota.h. */
#include "store/quota.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "store/key.h"
#include "store/lender.h"
#include "store/op.h"

static uint64_t pack(struct hl_rate rate)
{
    return (uint64_t)rate.count << 32 | rate.window_s;
}

static struct hl_rate unpack(uint64_t packed)
{
    return (struct hl_rate){.count = (uint32_t)(packed >> 32), .window_s = (uint32_t)packed};
}

static void ring(struct hl_quota *quota)
{
    if (!atomic_load(&quota->bell))
        return;
    struct hl_quota_bell *bell = atomic_exchange(&quota->bell, NULL);
    if (bell && !atomic_exchange(&bell->is_rung, true))
        hl_mailbox_post(bell->box, &bell->msg);
}

/* The messages stay the quota's: each is posted once until it has been answered. */
static void borrow(struct hl_quota *quota)
{
    if (atomic_exchange(&quota->is_asked, true))
        return;
    quota->ask.type = HL_STORE_BORROW;
    hl_mailbox_post(quota->lender->box, &quota->ask);
}

static void hold(struct hl_quota *quota)
{
    if (atomic_exchange(&quota->permits_call.is_out, true))
        return;
    quota->permits_call.msg.type = HL_STORE_HOLD;
    hl_mailbox_post(quota->lender->box, &quota->permits_call.msg);
}

static void tell(struct hl_quota *quota)
{
    atomic_store(&quota->permits_call.must_say, true);
    hold(quota);
}

/* More may be had than before, or others may have what is held beyond the limit. */
static void set_max_running(struct hl_quota *quota, uint32_t max)
{
    if (atomic_exchange(&quota->max_running, max) == max || !quota->lender)
        return;
    atomic_store(&quota->permits.none_until_ms, 0);
    if (atomic_load(&quota->permits.held) > 0)
        tell(quota);
}

void hl_quota_set(struct hl_quota *quota, const struct hl_limits *limits)
{
    if (!limits->overrules && limits->revision < atomic_load(&quota->revision))
        return;
    atomic_store(&quota->revision, limits->revision);
    set_max_running(quota, limits->max_running);
    atomic_store(&quota->max_queued, limits->max_queued);
    if (atomic_exchange(&quota->rate, pack(limits->rate)) != pack(limits->rate))
        hl_loan_return(&quota->loan);
    atomic_store(&quota->max_priority, limits->max_priority);
    atomic_store(&quota->has_limits,
        limits->max_running > 0 || limits->max_queued > 0 || limits->rate.count > 0);
    ring(quota);
}

void hl_quota_renew(struct hl_quota *quota, struct hl_limits limits)
{
    limits.overrules = true;
    hl_quota_set(quota, &limits);
    atomic_store(&quota->window.state, 0);
}

/* Whoever uses the loan meanwhile takes from the one or from the other. Permits of the name before go back. */
void hl_quota_share(struct hl_quota *quota, struct hl_lender *lender, const struct hl_id *name)
{
    uint64_t halves[2];
    if (!lender)
        return;
    memcpy(halves, name->b, sizeof(halves));
    atomic_fetch_add(&quota->name.version, 1);
    hl_loan_clear(&quota->loan);
    atomic_store(&quota->name.halves[0], halves[0]);
    atomic_store(&quota->name.halves[1], halves[1]);
    atomic_fetch_add(&quota->name.version, 1);
    quota->lender = lender;
    atomic_store(&quota->permits.none_until_ms, 0);
    if (atomic_exchange(&quota->permits.held, 0) > 0)
        tell(quota);
}

bool hl_quota_read_name(const struct hl_quota *quota, struct hl_id *name, uint32_t *version)
{
    *version = atomic_load(&quota->name.version);
    uint64_t halves[2] = {atomic_load(&quota->name.halves[0]), atomic_load(&quota->name.halves[1])};
    memcpy(name->b, halves, sizeof(name->b));
    return *version % 2 == 0 && atomic_load(&quota->name.version) == *version;
}

enum hl_priority hl_quota_max_priority(const struct hl_quota *quota)
{
    return (enum hl_priority)atomic_load_explicit(&quota->max_priority, memory_order_relaxed);
}

struct hl_rate hl_quota_rate(const struct hl_quota *quota)
{
    return unpack(atomic_load_explicit(&quota->rate, memory_order_relaxed));
}

struct hl_quota_hit hl_quota_look(
    const struct hl_quota *quota, enum hl_limit limit, uint64_t now_ms)
{
    if (limit == HL_LIMIT_MAX_RUNNING)
        return (struct hl_quota_hit){.max = atomic_load(&quota->max_running)};
    if (limit == HL_LIMIT_MAX_QUEUED)
        return (struct hl_quota_hit){.max = atomic_load(&quota->max_queued)};
    struct hl_rate rate = hl_quota_rate(quota);
    uint64_t left_ms = quota->lender ? hl_loan_left_ms(&quota->loan, now_ms)
                                     : hl_rate_left(&quota->window, rate, now_ms);
    return (struct hl_quota_hit){.max = rate.count,
        .window_s = rate.window_s,
        .wait_s = left_ms > 0 ? (uint32_t)((left_ms + 999) / 1000) : 1};
}

/* How many may be inside. */
static uint32_t most_inside(const struct hl_quota *quota)
{
    uint32_t max = atomic_load_explicit(&quota->max_running, memory_order_relaxed);
    if (max == 0)
        return UINT32_MAX;
    if (!quota->lender)
        return max;
    uint32_t held = atomic_load(&quota->permits.held);
    if (atomic_load(&quota->lender->is_cut_off))
        held = hl_lender_share(quota->lender, max);
    return held < max ? held : max;
}

/* Counted first, looked at then: as permit.c wants it. */
bool hl_quota_enter(struct hl_quota *quota)
{
    uint32_t running = atomic_fetch_add(&quota->running, 1);
    if (quota->lender)
        atomic_fetch_add_explicit(&quota->permits.calls, 1, memory_order_relaxed);
    uint32_t most = most_inside(quota);
    if (running < most)
        return true;
    /* Somebody may have found no place for this moment, and who left it found nobody who waits. */
    if (atomic_fetch_sub(&quota->running, 1) <= most)
        ring(quota);
    return false;
}

bool hl_quota_may_have_more(const struct hl_quota *quota, uint64_t now_ms)
{
    return quota->lender && !atomic_load(&quota->lender->is_cut_off) &&
           now_ms >= atomic_load(&quota->permits.none_until_ms);
}

int64_t hl_quota_room(const struct hl_quota *quota)
{
    return (int64_t)most_inside(quota) - (int64_t)atomic_load(&quota->running);
}

/* Asked once more behind the bell: who leaves looks for it when the place is free. */
bool hl_quota_enter_or_wait(struct hl_quota *quota, struct hl_quota_bell *bell)
{
    if (hl_quota_enter(quota))
        return true;
    if (!bell)
        return false;
    atomic_store(&quota->bell, bell);
    return hl_quota_enter(quota);
}

void hl_quota_leave(struct hl_quota *quota)
{
    atomic_fetch_sub(&quota->running, 1);
    ring(quota);
}

/* What is known to be on its way is not asked for: nobody waits for it. */
static void borrow_ahead(struct hl_quota *quota)
{
    if (!atomic_load_explicit(&quota->is_asked, memory_order_relaxed))
        borrow(quota);
}

static enum hl_quota_count count_share(struct hl_quota *quota, struct hl_rate rate, uint64_t now_ms)
{
    uint32_t share = hl_lender_share(quota->lender, rate.count);
    borrow_ahead(quota);
    return hl_loan_take_share(&quota->loan, share, 1000 * rate.window_s, now_ms) ? HL_QUOTA_COUNTED
                                                                                 : HL_QUOTA_OVER;
}

static enum hl_quota_count count_lent(struct hl_quota *quota, struct hl_rate rate, uint64_t now_ms)
{
    switch (hl_loan_take(&quota->loan, now_ms)) {
    case HL_LOAN_TAKEN:
        if (hl_loan_is_low(&quota->loan, now_ms))
            borrow_ahead(quota);
        return HL_QUOTA_COUNTED;
    case HL_LOAN_SPENT:
        return HL_QUOTA_OVER;
    case HL_LOAN_EMPTY:
        break;
    }
    if (atomic_load(&quota->lender->is_cut_off))
        return count_share(quota, rate, now_ms);
    return HL_QUOTA_UNKNOWN;
}

enum hl_quota_count hl_quota_count(struct hl_quota *quota, uint64_t now_ms)
{
    struct hl_rate rate = hl_quota_rate(quota);
    if (rate.count == 0)
        return HL_QUOTA_COUNTED;
    if (quota->lender)
        return count_lent(quota, rate, now_ms);
    return hl_rate_take(&quota->window, rate, now_ms) == 0 ? HL_QUOTA_COUNTED : HL_QUOTA_OVER;
}

/* Said first, asked then, looked last: an answer that was not heard of rings. */
bool hl_quota_await(struct hl_quota *quota, enum hl_limit limit, struct hl_lender_desk *desk)
{
    atomic_store(&desk->waits, true);
    if (limit == HL_LIMIT_RATE) {
        borrow(quota);
    } else {
        atomic_store(&quota->permits_call.wants, true);
        hold(quota);
    }
    return !atomic_load(&quota->lender->is_cut_off);
}

void hl_quota_count_anyway(struct hl_quota *quota)
{
    hl_loan_owe(&quota->loan);
    borrow_ahead(quota);
}

void hl_quota_uncount(struct hl_quota *quota, uint64_t now_ms)
{
    struct hl_rate rate = hl_quota_rate(quota);
    if (rate.count > 0 && quota->lender)
        hl_loan_give_back(&quota->loan, now_ms);
    else if (rate.count > 0)
        hl_rate_give_back(&quota->window, rate, now_ms);
}

void hl_quotas_add(struct hl_quotas *quotas, struct hl_quota *quota)
{
    if (quota->is_listed)
        return;
    quota->is_listed = true;
    quota->next = atomic_load(&quotas->first);
    atomic_store(&quotas->first, quota);
}

/* --- who is blocked by one ----------------------------------------------------------------------- */

void hl_quota_blocked_fini(struct hl_quota_blocked *b)
{
    free(b->subjects);
}

void hl_quota_blocked_forget(struct hl_quota_blocked *b)
{
    b->n = 0;
    memset(b->queued, 0, sizeof(b->queued));
}

bool hl_quota_blocked_has(const struct hl_quota_blocked *b, uint64_t subject)
{
    for (size_t i = 0; i < b->n; i++)
        if (b->subjects[i] == subject)
            return true;
    return false;
}

uint64_t hl_quota_subject_by(const struct hl_quota *quota, const struct hl_key *key)
{
    char text[HL_ID_TEXT];
    hl_id_format(&quota->account, text);
    return hl_key_subject(key, (struct hl_str){text, sizeof(text)});
}

uint64_t hl_quota_blocked_subject(struct hl_quota *quota, const struct hl_key *key)
{
    if (!quota->has_subject) {
        quota->subject = hl_quota_subject_by(quota, key);
        quota->has_subject = true;
    }
    return quota->subject;
}

/* Whose subject that is; NULL: nobody's with such a limit. */
static struct hl_quota *find_blocked(
    struct hl_quotas *quotas, const struct hl_key *key, uint64_t subject)
{
    struct hl_quota *quota = hl_quota_blocked_first(quotas);
    while (quota && hl_quota_blocked_subject(quota, key) != subject)
        quota = quota->next;
    return quota;
}

static enum hl_err add(struct hl_quota_blocked *b, uint64_t subject)
{
    if (b->n == b->cap) {
        size_t cap = b->cap ? 2 * b->cap : 16;
        uint64_t *more = reallocarray(b->subjects, cap, sizeof(*more));
        if (!more)
            return HL_ERR_NOMEM;
        b->subjects = more;
        b->cap = cap;
    }
    b->subjects[b->n++] = subject;
    return HL_ERR_BUSY;
}

enum hl_err hl_quota_blocked_ask(
    struct hl_quota_blocked *b, const struct hl_key *key, uint64_t subject, struct hl_quota **place)
{
    *place = find_blocked(b->quotas ? atomic_load(b->quotas) : NULL, key, subject);
    if (!*place || hl_quota_enter_or_wait(*place, b->bell))
        return HL_OK;
    *place = NULL;
    return add(b, subject);
}
