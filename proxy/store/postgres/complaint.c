/* complaint.c - see thread.h.
 *
 * What the server refuses is tried again many times a second, and for as long as it refuses.
 * Promise: at most two lines a minute for each kind, the first at once; each refusal is in a line of its own or in a
 * count.
 * Not here: what becomes of what was refused (refusal.c and who sent it), a connection that is lost (link.c). */
#include "store/postgres/thread.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"

#define MINUTE_MS 60000
/* What small is written to a disk that is nearly full still passes: that it has room again is said when nothing was
 * refused for so long. What has ended is tried more often than that. */
#define FULL_MS 5000

static bool is_of_kind(
    const struct hl_pg_complaint *kind, const char *what, const struct hl_pg_flight *flight)
{
    return kind->what == what && strcmp(kind->sqlstate, flight->sqlstate) == 0 &&
           strcmp(kind->message, flight->message) == 0;
}

/* False: it was counted. */
static bool is_first(
    struct hl_pg_complaints *c, const char *what, const struct hl_pg_flight *flight)
{
    for (size_t i = 0; i < c->n; i++) {
        if (!is_of_kind(&c->kinds[i], what, flight))
            continue;
        c->kinds[i].left_out++;
        return false;
    }
    if (c->n == HL_ARRAY_LEN(c->kinds)) {
        c->left_out++;
        return false;
    }
    struct hl_pg_complaint *kind = &c->kinds[c->n++];
    *kind = (struct hl_pg_complaint){.what = what};
    snprintf(kind->sqlstate, sizeof(kind->sqlstate), "%s", flight->sqlstate);
    snprintf(kind->message, sizeof(kind->message), "%s", flight->message);
    return true;
}

void hl_pg_complain(struct hl_pg_store *s, const char *what, const struct hl_pg_flight *flight)
{
    struct hl_pg_complaints *c = &s->complaints;
    uint64_t now_ms = hl_clock_mono_ms();
    if (flight->is_full)
        s->full_until_ms = now_ms + FULL_MS;
    if (c->n == 0)
        c->until_ms = now_ms + MINUTE_MS;
    if (is_first(c, what, flight))
        HL_LOG(WARN, what, HL_LOG_TEXT("why", flight->message),
            HL_LOG_TEXT("sqlstate", flight->sqlstate));
}

void hl_pg_complaints_end(struct hl_pg_store *s)
{
    struct hl_pg_complaints *c = &s->complaints;
    for (size_t i = 0; i < c->n; i++) {
        const struct hl_pg_complaint *kind = &c->kinds[i];
        if (kind->left_out > 0)
            HL_LOG(WARN, kind->what, HL_LOG_TEXT("why", kind->message),
                HL_LOG_TEXT("sqlstate", kind->sqlstate), HL_LOG_INT("left_out", kind->left_out));
    }
    if (c->left_out > 0)
        HL_LOG(WARN, "store: PostgreSQL refused more, for other reasons",
            HL_LOG_INT("left_out", c->left_out));
    c->n = 0;
    c->left_out = 0;
}

void hl_pg_complaints_turn(struct hl_pg_store *s, uint64_t now_ms)
{
    if (now_ms >= hl_pg_complaints_due_ms(s))
        hl_pg_complaints_end(s);
}

uint64_t hl_pg_complaints_due_ms(const struct hl_pg_store *s)
{
    return s->complaints.n > 0 ? s->complaints.until_ms : UINT64_MAX;
}
