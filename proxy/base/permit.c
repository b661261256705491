/* permit.c - see permit.h.
 * Promise: `held` falls before it is said, and rises after the answer; who goes in counts itself before it looks at
 * `held`, and who lowers that looks at who is inside after it. So whoever went in by the old number is seen. */
#include "base/permit.h"

static uint32_t more_than(uint32_t a, uint32_t b)
{
    return a > b ? a - b : 0;
}

static uint32_t half_up(uint32_t n)
{
    return n / 2 + n % 2;
}

static uint32_t greatest(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

void hl_permit_want(struct hl_permit_book *book, uint64_t now_ms)
{
    if (!book->wants)
        book->since_ms = book->used_ms = now_ms;
    book->wants = true;
}

void hl_permit_hurry(struct hl_permit_book *book)
{
    if (!book->is_busy)
        book->next_ms = 0;
}

void hl_permit_hear(struct hl_permit_book *book, enum hl_permit_wish wish)
{
    if (wish > book->wish)
        book->wish = wish;
    hl_permit_hurry(book);
}

/* ---- saying ---- */

bool hl_permit_may_say(const struct hl_permit_book *book, uint64_t now_ms)
{
    return now_ms >= book->next_ms;
}

/* Where many calls come few questions are few for each. */
static void set_pace(const struct hl_permits *permits, struct hl_permit_book *book, uint64_t now_ms)
{
    uint32_t calls = atomic_load(&permits->calls);
    uint64_t past_ms = now_ms - book->said_ms;
    if (past_ms < HL_PERMIT_PACE_MS)
        past_ms = HL_PERMIT_PACE_MS;
    book->is_busy = UINT64_C(1000) * (calls - book->calls) > HL_PERMIT_BUSY_CALLS * past_ms;
    book->calls = calls;
    book->said_ms = now_ms;
    book->next_ms = now_ms + (book->is_busy ? HL_PERMIT_BUSY_PACE_MS : HL_PERMIT_PACE_MS);
}

static bool is_left_alone(const struct hl_permit_book *book, uint64_t now_ms)
{
    return !book->wants && now_ms - book->used_ms >= HL_PERMIT_IDLE_MS;
}

bool hl_permit_is_due(const struct hl_permits *permits, struct hl_permit_book *book,
    const _Atomic uint32_t *inside, uint64_t now_ms)
{
    uint32_t used = atomic_load(inside);
    if (used > 0 || book->used_ms == 0)
        book->used_ms = now_ms;
    bool has_any = book->must_tell || book->wish ||
                   book->told > greatest(atomic_load(&permits->held), used) ||
                   (book->told > 0 && is_left_alone(book, now_ms));
    return has_any && hl_permit_may_say(book, now_ms);
}

/* Half of it at a time: who asks may ask again, and who gives may need some itself. */
static uint32_t give(struct hl_permit_book *book, uint32_t held, uint32_t used, uint32_t share)
{
    uint32_t spare = book->wants ? 0 : more_than(held, used);
    uint32_t beyond = book->wish == HL_PERMIT_SHARE ? more_than(held, share) : 0;
    book->wish = HL_PERMIT_NONE_WISHED;
    book->must_tell = true; /* also that all are used */
    return held - greatest(half_up(spare), half_up(beyond));
}

bool hl_permit_say(struct hl_permits *permits, struct hl_permit_book *book,
    const _Atomic uint32_t *inside, uint32_t max, uint32_t share, uint64_t now_ms,
    struct hl_permit_ask *ask)
{
    uint32_t keeps = atomic_load(&permits->held);
    if (keeps > max)
        keeps = max;
    if (book->wish)
        keeps = give(book, keeps, atomic_load(inside), share);
    if (is_left_alone(book, now_ms))
        keeps = 0;
    atomic_store(&permits->held, keeps);
    uint32_t used = max > 0 ? atomic_load(inside) : 0;
    *ask = (struct hl_permit_ask){.keeps = keeps,
        .mine = greatest(keeps, used),
        .used = used,
        .wants = book->wants && max > 0};
    book->wants = ask->wants;
    set_pace(permits, book, now_ms);
    return ask->wants || book->must_tell || ask->mine != book->told;
}

void hl_permit_say_again(struct hl_permit_book *book)
{
    book->must_tell = true;
}

/* ---- the answer ---- */

enum hl_permit_outcome hl_permit_settle(struct hl_permits *permits, struct hl_permit_book *book,
    const _Atomic uint32_t *inside, const struct hl_permit_ask *ask,
    const struct hl_permit_answer *answer, uint32_t share, uint64_t now_ms)
{
    uint32_t held = ask->keeps + (answer->has - ask->mine);
    if (answer->rest < 0)
        held = answer->rest < -(int64_t)held ? 0 : held - (uint32_t)-answer->rest;
    atomic_store(&permits->held, held);
    book->told = answer->has;
    book->must_tell = false;
    if (!book->wants)
        return HL_PERMIT_NOTHING;
    bool has_some = held > atomic_load(inside);
    bool may_come = !book->is_busy && (answer->idle > 0 || answer->has < share);
    if (!has_some && may_come && now_ms - book->since_ms < HL_PERMIT_WAIT_MS)
        return HL_PERMIT_WAITS;
    book->wants = false;
    uint64_t again_ms = answer->idle > 0 ? HL_PERMIT_BUSY_PACE_MS : HL_PERMIT_AGAIN_MS;
    atomic_store(&permits->none_until_ms, has_some ? 0 : now_ms + again_ms);
    return has_some ? HL_PERMIT_HAS : HL_PERMIT_REFUSED;
}
