/* alert.c - see alert.h. All changes of state pass through move. Thread: control. */
#include "alert/alert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"

static const struct {
    const char *text;
    bool is_own;
} kinds[] = {
#define X(name, text, is_own) [HL_ALERT_##name] = {(text), (is_own)},
    HL_ALERT_KIND_MAP(X)
#undef X
};

const char *hl_alert_kind_text(enum hl_alert_kind kind)
{
    return kinds[kind].text;
}

bool hl_alert_kind_parse(const char *text, enum hl_alert_kind *out)
{
    for (int kind = 0; kind < HL_ALERT_KINDS; kind++) {
        if (strcmp(kinds[kind].text, text) == 0) {
            *out = (enum hl_alert_kind)kind;
            return true;
        }
    }
    return false;
}

bool hl_alert_is_own(enum hl_alert_kind kind)
{
    return kinds[kind].is_own;
}

struct hl_alert *hl_alert_new(enum hl_alert_kind kind, const char *subject)
{
    struct hl_alert *a = calloc(1, sizeof(*a));
    if (!a)
        return NULL;
    hl_list_init(&a->node);
    a->kind = kind;
    hl_str_put(a->subject, sizeof(a->subject), subject);
    return a;
}

/* legal[from]: the states it may go to. */
#define TO(name) (1U << HL_ALERT_##name)
static const unsigned legal[HL_ALERT_STATES] = {
    [HL_ALERT_QUIET] = TO(RISING) | TO(FIRING),
    [HL_ALERT_RISING] = TO(QUIET) | TO(TELLING) | TO(SENDING) | TO(FIRING),
    [HL_ALERT_TELLING] = TO(RISING) | TO(FIRING),
    [HL_ALERT_SENDING] = TO(RISING) | TO(FIRING),
    [HL_ALERT_FIRING] = TO(QUIET) | TO(RISING) | TO(FALLING),
    [HL_ALERT_FALLING] = TO(FIRING) | TO(ENDING) | TO(QUIET),
    [HL_ALERT_ENDING] = TO(FALLING) | TO(QUIET),
};
#undef TO

static const char *const state_texts[] = {
#define X(name, text) [HL_ALERT_##name] = (text),
    HL_ALERT_STATE_MAP(X)
#undef X
};

static void move(struct hl_alert *a, enum hl_alert_state to)
{
    HL_ASSERT(legal[a->state] & 1U << to);
    HL_LOG(DEBUG, "alert changes state", HL_LOG_TEXT("alert", kinds[a->kind].text),
        HL_LOG_TEXT("subject", a->subject), HL_LOG_TEXT("from", state_texts[a->state]),
        HL_LOG_TEXT("to", state_texts[to]));
    a->state = to;
}

static void rise(struct hl_alert *a)
{
    a->since_ms = hl_clock_wall_ms();
    a->until_ms = 0;
    a->was_tried = false;
    a->event = a->id = (struct hl_id){{0}};
    move(a, HL_ALERT_RISING);
}

void hl_alert_hear(
    struct hl_alert *a, bool holds, const struct hl_alert_facts *facts, uint64_t now_ms)
{
    if (holds && facts)
        a->facts = *facts;
    if (!holds && a->holds)
        a->calm_ms = now_ms;
    else if (holds)
        a->calm_ms = 0;
    a->holds = holds;
    if (holds && a->state == HL_ALERT_QUIET)
        rise(a);
    else if (holds && a->state == HL_ALERT_FALLING)
        move(a, HL_ALERT_FIRING);
}

static void fall(struct hl_alert *a)
{
    if (a->state == HL_ALERT_RISING && !a->was_tried) {
        move(a, HL_ALERT_QUIET);
    } else if (a->state == HL_ALERT_FIRING) {
        a->until_ms = hl_clock_wall_ms();
        a->event = (struct hl_id){{0}};
        move(a, HL_ALERT_FALLING);
    }
}

void hl_alert_end(struct hl_alert *a)
{
    a->holds = false;
    a->calm_ms = 0;
    fall(a);
}

void hl_alert_count(struct hl_alert *a, int64_t n, const char *error)
{
    a->facts.value += n;
    hl_str_put_cut(a->facts.text, sizeof(a->facts.text), hl_str_from(error));
    if (a->state == HL_ALERT_QUIET)
        rise(a);
}

/* Dead letters are told, and that is all: the next ones are told again. */
static void tick_letters(struct hl_alert *a, uint64_t now_ms)
{
    if (a->state != HL_ALERT_FIRING || now_ms < a->quiet_until)
        return;
    if (a->facts.value > 0)
        rise(a);
    else
        move(a, HL_ALERT_QUIET);
}

void hl_alert_tick(struct hl_alert *a, uint64_t now_ms)
{
    if (a->kind == HL_ALERT_DEAD_LETTERS)
        tick_letters(a, now_ms);
    else if (!a->holds && a->kind != HL_ALERT_DESTINATION_FAILING &&
             now_ms >= a->calm_ms + HL_ALERT_CALM_MS)
        fall(a);
    else if (!a->holds && a->kind == HL_ALERT_DESTINATION_FAILING)
        fall(a);
}

void hl_alert_adopt(struct hl_alert *a, const struct hl_id *id, int64_t since_ms)
{
    a->id = *id;
    a->since_ms = since_ms;
    a->holds = a->kind != HL_ALERT_DEAD_LETTERS;
    if (a->state == HL_ALERT_QUIET || a->state == HL_ALERT_RISING)
        move(a, HL_ALERT_FIRING);
}

void hl_alert_tell(struct hl_alert *a, bool is_direct, struct hl_id_source *ids)
{
    bool is_begin = a->state == HL_ALERT_RISING;
    if (hl_id_is_nil(&a->event))
        a->event = hl_id_next(ids, hl_clock_wall_ms());
    if (is_begin) {
        a->id = a->event;
        a->was_tried = true;
        a->said = a->facts.value;
    }
    move(a, !is_begin ? HL_ALERT_ENDING : is_direct ? HL_ALERT_SENDING : HL_ALERT_TELLING);
}

static void on_begin_told(struct hl_alert *a, uint64_t now_ms)
{
    a->is_unnoted = a->state == HL_ALERT_SENDING && a->kind != HL_ALERT_STORE_FAILING;
    if (a->kind == HL_ALERT_DEAD_LETTERS) {
        a->facts.value -= a->said; /* more may have come meanwhile */
        a->quiet_until = now_ms + HL_ALERT_WINDOW_MS;
    }
    move(a, HL_ALERT_FIRING);
}

void hl_alert_on_told(struct hl_alert *a, bool is_told, uint64_t now_ms)
{
    if (a->state == HL_ALERT_ENDING)
        move(a, is_told ? HL_ALERT_QUIET : HL_ALERT_FALLING);
    else if (is_told)
        on_begin_told(a, now_ms);
    else
        move(a, HL_ALERT_RISING);
}

void hl_alert_drop(struct hl_alert *a)
{
    move(a, HL_ALERT_QUIET);
}

bool hl_alert_is_over(const struct hl_alert *a, uint64_t now_ms)
{
    bool waits = a->kind == HL_ALERT_DEAD_LETTERS && now_ms < a->quiet_until;
    return a->state == HL_ALERT_QUIET && !a->holds && !waits;
}
