/* loan.c - see loan.h. */
#include "base/loan.h"

#include "base/rate.h"

#define COUNT_BITS 24
#define COUNT_MASK ((UINT64_C(1) << COUNT_BITS) - 1)

_Static_assert(HL_RATE_MAX <= COUNT_MASK, "a purse has room for it");

/* Nothing is to be had: asked again after an eighth of the window, as far as that is within these. What is left alone
 * goes back likewise. */
#define AGAIN_MIN_MS 250
#define AGAIN_MAX_MS 2000
#define IDLE_MIN_MS  1000
#define IDLE_MAX_MS  60000

static uint64_t end_ms(uint64_t purse)
{
    return purse >> COUNT_BITS;
}

static uint32_t count_of(uint64_t purse)
{
    return (uint32_t)(purse & COUNT_MASK);
}

static uint64_t purse_of(uint64_t end_ms, uint32_t count)
{
    return end_ms << COUNT_BITS | count;
}

static uint64_t eighth(uint32_t window_ms, uint64_t min_ms, uint64_t max_ms)
{
    uint64_t ms = window_ms / 8;
    return ms < min_ms ? min_ms : ms > max_ms ? max_ms : ms;
}

/* ---- spending ---- */

uint64_t hl_loan_left_ms(const struct hl_loan *loan, uint64_t now_ms)
{
    uint64_t end = end_ms(atomic_load_explicit(&loan->purse, memory_order_relaxed));
    return end > now_ms ? end - now_ms : 0;
}

enum hl_loan_take hl_loan_take(struct hl_loan *loan, uint64_t now_ms)
{
    uint64_t purse = atomic_load_explicit(&loan->purse, memory_order_relaxed);
    do {
        if (end_ms(purse) <= now_ms)
            return HL_LOAN_EMPTY;
        if (count_of(purse) == 0)
            return now_ms < atomic_load(&loan->again_ms) ? HL_LOAN_SPENT : HL_LOAN_EMPTY;
    } while (!atomic_compare_exchange_weak(&loan->purse, &purse, purse - 1));
    return HL_LOAN_TAKEN;
}

bool hl_loan_is_low(const struct hl_loan *loan, uint64_t now_ms)
{
    uint64_t purse = atomic_load_explicit(&loan->purse, memory_order_relaxed);
    if (end_ms(purse) <= now_ms)
        return true;
    return count_of(purse) <= atomic_load_explicit(&loan->low, memory_order_relaxed) &&
           now_ms >= atomic_load_explicit(&loan->again_ms, memory_order_relaxed);
}

void hl_loan_give_back(struct hl_loan *loan, uint64_t now_ms)
{
    uint64_t purse = atomic_load_explicit(&loan->purse, memory_order_relaxed);
    while (end_ms(purse) > now_ms && count_of(purse) < COUNT_MASK &&
           !atomic_compare_exchange_weak(&loan->purse, &purse, purse + 1))
        continue;
}

/* All that is left, of a window that goes on. */
static uint32_t empty(struct hl_loan *loan)
{
    uint64_t purse = atomic_load(&loan->purse);
    while (!atomic_compare_exchange_weak(&loan->purse, &purse, purse_of(end_ms(purse), 0)))
        continue;
    return count_of(purse);
}

/* What was lent in this window is less than the share: the rest of that, once, however many threads ask. */
static bool top_up(struct hl_loan *loan, uint32_t share)
{
    uint32_t lent = atomic_load(&loan->lent);
    do {
        if (lent >= share)
            return false;
    } while (!atomic_compare_exchange_weak(&loan->lent, &lent, share));
    atomic_fetch_add(&loan->share, share - lent);
    atomic_fetch_add(&loan->purse, share - lent);
    return true;
}

static void begin_share(struct hl_loan *loan, uint64_t purse, uint32_t share, uint64_t end)
{
    if (!atomic_compare_exchange_strong(&loan->purse, &purse, purse_of(end, share)))
        return; /* another thread has */
    atomic_store(&loan->lent, share);
    atomic_store(&loan->share, share);
    atomic_store(&loan->back, 0);
}

bool hl_loan_take_share(struct hl_loan *loan, uint32_t share, uint32_t window_ms, uint64_t now_ms)
{
    while (hl_loan_take(loan, now_ms) != HL_LOAN_TAKEN) {
        uint64_t purse = atomic_load(&loan->purse);
        if (end_ms(purse) <= now_ms)
            begin_share(loan, purse, share, now_ms + window_ms);
        else if (count_of(purse) == 0 && !top_up(loan, share))
            return false;
    }
    return true;
}

void hl_loan_owe(struct hl_loan *loan)
{
    atomic_fetch_add(&loan->credit, 1);
}

void hl_loan_return(struct hl_loan *loan)
{
    if (atomic_load(&loan->share) == 0)
        atomic_fetch_add(&loan->back, empty(loan));
    atomic_store(&loan->again_ms, 0);
}

void hl_loan_clear(struct hl_loan *loan)
{
    atomic_store(&loan->purse, 0);
    atomic_store(&loan->again_ms, 0);
    atomic_store(&loan->lent, 0);
    atomic_store(&loan->share, 0);
    atomic_store(&loan->credit, 0);
    atomic_store(&loan->back, 0);
}

/* ---- borrowing ---- */

/* As many as last for a while, by how fast the last ones went; twice as many where they did not last. */
static uint32_t want(const struct hl_loan_book *book, uint32_t left, uint64_t now_ms)
{
    uint64_t used = book->left > left ? book->left - left : 0;
    uint64_t took_ms = now_ms > book->answered_ms ? now_ms - book->answered_ms : 1;
    uint64_t wanted = used * HL_LOAN_LASTS_MS / took_ms;
    if (left == 0 && took_ms < HL_LOAN_LASTS_MS && wanted < UINT64_C(2) * book->wanted)
        wanted = UINT64_C(2) * book->wanted;
    if (wanted < HL_LOAN_MIN)
        wanted = HL_LOAN_MIN;
    return wanted > HL_RATE_MAX ? HL_RATE_MAX : (uint32_t)wanted;
}

/* How many of the share were spent in a window that goes on. */
static uint32_t spent_of(uint32_t share, uint32_t left, bool goes_on)
{
    return goes_on && share > left ? share - left : 0;
}

struct hl_loan_ask hl_loan_ask(
    struct hl_loan *loan, const struct hl_loan_book *book, bool wants, uint64_t now_ms)
{
    bool goes_on = hl_loan_left_ms(loan, now_ms) > 0;
    uint32_t left = goes_on ? count_of(atomic_load(&loan->purse)) : 0;
    uint32_t share = atomic_load(&loan->share), lent = atomic_load(&loan->lent);
    uint32_t spent = spent_of(share, left, goes_on);
    return (struct hl_loan_ask){.wanted = wants ? want(book, left, now_ms) : 0,
        .had = goes_on && lent > share ? lent - share : 0,
        .back = atomic_exchange(&loan->back, 0),
        .spent = spent,
        .owed = spent + atomic_exchange(&loan->credit, 0),
        .until_ms = book->until_ms};
}

void hl_loan_ask_again(struct hl_loan *loan, const struct hl_loan_ask *ask)
{
    atomic_fetch_add(&loan->credit, ask->owed - ask->spent);
}

/* The lender is there again: what of the share was spent since it was told is owed, the rest was nobody's. */
static bool end_share(struct hl_loan *loan, const struct hl_loan_ask *ask, uint64_t now_ms)
{
    bool goes_on = hl_loan_left_ms(loan, now_ms) > 0;
    uint32_t share = atomic_exchange(&loan->share, 0);
    if (share == 0)
        return false;
    uint32_t spent = spent_of(share, empty(loan), goes_on);
    if (spent > ask->spent)
        atomic_fetch_add(&loan->credit, spent - ask->spent);
    return true;
}

void hl_loan_settle(struct hl_loan *loan, struct hl_loan_book *book, const struct hl_loan_ask *ask,
    const struct hl_loan_answer *answer, uint32_t window_ms, uint64_t now_ms)
{
    uint64_t end = now_ms + answer->left_ms;
    if (answer->until_ms == 0)
        return;
    bool is_same = answer->until_ms == ask->until_ms;
    if (!is_same)
        atomic_store(&loan->back, 0); /* that window's, and nobody's by now */
    if (end_share(loan, ask, now_ms) || !is_same) {
        atomic_store(&loan->lent, answer->lent + (is_same ? ask->had : 0));
        atomic_store(&loan->purse, purse_of(end, answer->lent));
    } else {
        atomic_fetch_add(&loan->lent, answer->lent);
        atomic_fetch_add(&loan->purse, answer->lent);
    }
    uint64_t again_ms = now_ms + eighth(window_ms, AGAIN_MIN_MS, AGAIN_MAX_MS);
    atomic_store(&loan->low, answer->lent / 8);
    atomic_store(&loan->again_ms, answer->rest > 0 ? 0 : again_ms < end ? again_ms : end);
    if (ask->wanted > 0)
        book->wanted = ask->wanted;
    book->until_ms = answer->until_ms;
    book->answered_ms = now_ms;
    book->left = count_of(atomic_load(&loan->purse));
}

bool hl_loan_is_idle(
    const struct hl_loan *loan, struct hl_loan_book *book, uint32_t window_ms, uint64_t now_ms)
{
    uint64_t purse = atomic_load(&loan->purse);
    uint64_t idle_ms = eighth(window_ms, IDLE_MIN_MS, IDLE_MAX_MS);
    uint32_t left = count_of(purse);
    if (left != book->seen || left == 0 || end_ms(purse) <= now_ms + IDLE_MIN_MS) {
        book->seen = left;
        book->moved_ms = now_ms;
        return false;
    }
    return atomic_load(&loan->share) == 0 && now_ms - book->moved_ms >= idle_ms;
}
