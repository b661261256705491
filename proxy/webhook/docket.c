/* docket.c - who is where. Every change of state passes through enter and leave, so the lists, the
 * counts and the gauges cannot disagree.
 * Thread: the sender's. */
#include "webhook/docket.h"

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/metric.h"
#include "webhook/sender.h"

void hl_docket_init(struct hl_docket *k, struct hl_sender_gauges *gauges)
{
    *k = (struct hl_docket){.gauges = gauges};
    for (size_t i = 0; i < HL_ARRAY_LEN(k->lists); i++)
        hl_list_init(&k->lists[i]);
    hl_due_ring_init(&k->due, hl_clock_mono_ms());
    k->backlog_end = &k->backlog;
}

void hl_docket_add(struct hl_docket *k, struct hl_msg *leased)
{
    leased->next = NULL;
    *k->backlog_end = leased;
    k->backlog_end = &leased->next;
    k->backlog_count++;
}

static void enter(struct hl_docket *k, struct hl_parcel *p, enum hl_parcel_state to);

struct hl_parcel *hl_docket_adopt(struct hl_docket *k)
{
    struct hl_msg *msg = k->backlog;
    if (!msg)
        return NULL;
    struct hl_msg *rest = msg->next;
    struct hl_parcel *p = hl_parcel_new(HL_CONTAINER_OF(msg, struct hl_leased, msg));
    if (!p)
        return NULL;
    k->backlog = rest;
    if (!rest)
        k->backlog_end = &k->backlog;
    k->backlog_count--;
    enter(k, p, HL_PARCEL_SIGNING);
    return p;
}

struct hl_parcel *hl_docket_add_direct(
    struct hl_docket *k, struct hl_leased *leased, struct hl_direct *direct)
{
    struct hl_parcel *p = hl_parcel_new(leased);
    if (!p)
        return NULL;
    p->direct = direct;
    enter(k, p, HL_PARCEL_SIGNING);
    return p;
}

/* legal[from]: the states it may go to. */
#define TO(name) (1U << HL_PARCEL_##name)
static const unsigned legal[HL_PARCEL_STATE_COUNT] = {
    [HL_PARCEL_SIGNING] = TO(RESOLVING) | TO(SENDING) | TO(WAITING) | TO(DUE) | TO(RECORDING),
    [HL_PARCEL_RESOLVING] = TO(SENDING) | TO(UNRESOLVED) | TO(WAITING) | TO(RECORDING),
    [HL_PARCEL_UNRESOLVED] = TO(DUE) | TO(RECORDING),
    [HL_PARCEL_SENDING] = TO(RESOLVING) | TO(WAITING) | TO(RECORDING),
    [HL_PARCEL_WAITING] = TO(DUE),
    [HL_PARCEL_DUE] = TO(QUEUED) | TO(ASKING) | TO(RECORDING),
    [HL_PARCEL_QUEUED] = TO(DUE) | TO(RECORDING),
    [HL_PARCEL_ASKING] = TO(SIGNING) | TO(DUE) | TO(WAITING) | TO(RECORDING),
    [HL_PARCEL_RECORDING] = TO(UNRECORDED),
    [HL_PARCEL_UNRECORDED] = TO(RECORDING),
};
#undef TO

static bool waits(enum hl_parcel_state state)
{
    return state == HL_PARCEL_WAITING || state == HL_PARCEL_DUE || state == HL_PARCEL_QUEUED ||
           state == HL_PARCEL_UNRESOLVED;
}

static uint32_t *places_of(struct hl_docket *k, const struct hl_parcel *p)
{
    return p->is_retry ? &k->placed_retries : &k->placed;
}

static bool is_timed(enum hl_parcel_state state)
{
    return state == HL_PARCEL_WAITING || state == HL_PARCEL_UNRECORDED;
}

static void enter(struct hl_docket *k, struct hl_parcel *p, enum hl_parcel_state to)
{
    p->state = to;
    k->counts[to]++;
    if (!is_timed(to))
        hl_list_push_back(&k->lists[to], &p->node);
    if (hl_parcel_is_placed(p)) {
        hl_counter_add(&k->gauges->in_flight, 1);
        *places_of(k, p) += 1;
    }
    if (waits(to))
        hl_counter_add(&k->gauges->waiting_retry, 1);
}

static void leave(struct hl_docket *k, struct hl_parcel *p)
{
    hl_list_remove(&p->node);
    k->counts[p->state]--;
    if (hl_parcel_is_placed(p)) {
        hl_counter_sub(&k->gauges->in_flight, 1);
        *places_of(k, p) -= 1;
    }
    if (waits(p->state))
        hl_counter_sub(&k->gauges->waiting_retry, 1);
}

void hl_docket_move(struct hl_docket *k, struct hl_parcel *p, enum hl_parcel_state to)
{
    HL_ASSERT(legal[p->state] & 1U << to);
    HL_LOG(DEBUG, "parcel changes state", HL_LOG_ID("delivery_id", &p->outcome.delivery_id),
        HL_LOG_TEXT("from", hl_parcel_state_text(p->state)),
        HL_LOG_TEXT("to", hl_parcel_state_text(to)));
    leave(k, p);
    enter(k, p, to);
}

void hl_docket_move_for(
    struct hl_docket *k, struct hl_parcel *p, enum hl_parcel_state to, uint64_t ms)
{
    HL_ASSERT(is_timed(to));
    hl_docket_move(k, p, to);
    hl_due_ring_add(&k->due, &p->node, hl_clock_mono_ms(), ms);
}

struct hl_parcel *hl_docket_take_due(struct hl_docket *k, uint64_t now_ms, bool is_early)
{
    struct hl_list *node =
        is_early ? hl_due_ring_take_any(&k->due) : hl_due_ring_take(&k->due, now_ms);
    return node ? HL_CONTAINER_OF(node, struct hl_parcel, node) : NULL;
}

uint32_t hl_docket_waiting(const struct hl_docket *k)
{
    return k->counts[HL_PARCEL_WAITING] + k->counts[HL_PARCEL_DUE] + k->counts[HL_PARCEL_QUEUED] +
           k->counts[HL_PARCEL_UNRESOLVED];
}

void hl_docket_drop(struct hl_docket *k, struct hl_parcel *p)
{
    leave(k, p);
    hl_parcel_free(p);
}

void hl_docket_fini(struct hl_docket *k)
{
    for (size_t i = 0; i < HL_ARRAY_LEN(k->lists); i++)
        for (struct hl_list *node; (node = hl_list_pop_front(&k->lists[i]));)
            hl_parcel_free(HL_CONTAINER_OF(node, struct hl_parcel, node));
    for (struct hl_list *node; (node = hl_due_ring_take_any(&k->due));)
        hl_parcel_free(HL_CONTAINER_OF(node, struct hl_parcel, node));
    for (struct hl_msg *msg = k->backlog, *next; msg; msg = next) {
        next = msg->next;
        hl_leased_free(HL_CONTAINER_OF(msg, struct hl_leased, msg));
    }
}
