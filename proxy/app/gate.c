/* gate.c - whether calls go into the app, and whether queued runs are claimed for it.
 * Owns: the state, in one word. Thread: any; a seat's waits are its thread's.
 * Promise: a check that began before the gate was closed does not open it. A thread that is told looks
 * at the state behind the message, so that it misses no turn: who turns it changes the word before it
 * looks whether the message is on its way, who takes the message takes it off before it looks at the
 * word.
 * Not here: the checks (readiness.c), how long a call waits (run/admission.c), claims
 * (run/demand.c). */
#include "app/gate.h"

#include "app/cause.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/log.h"

void hl_gate_init(struct hl_gate *gate)
{
    *gate = (struct hl_gate){.rule = HL_APP_GATE_OFF};
    hl_list_init(&gate->seats);
}

void hl_gate_close_at_start(struct hl_gate *gate, enum hl_app_gate rule)
{
    gate->rule = rule;
    atomic_store(&gate->word, gate->rule == HL_APP_GATE_OFF ? HL_GATE_LOST : HL_GATE_SHUT);
    atomic_store(&gate->closed_ms, hl_clock_mono_ms());
}

void hl_gate_seat_init(struct hl_gate_seat *seat, struct hl_gate *gate, struct hl_mailbox *mailbox)
{
    *seat =
        (struct hl_gate_seat){.gate = gate, .mailbox = mailbox, .turned = {.type = HL_GATE_TURNED}};
    hl_list_init(&seat->waits);
    hl_list_push_back(&gate->seats, &seat->node);
}

uint64_t hl_gate_closed_for(const struct hl_gate *gate)
{
    enum hl_gate_state state = hl_gate_state(gate);
    bool is_missed = state != HL_GATE_OPEN && state != HL_GATE_ASLEEP;
    return is_missed ? hl_clock_mono_ms() - atomic_load(&gate->closed_ms) : 0;
}

/* ---- turning ---- */

static void tell(struct hl_gate *gate)
{
    HL_LIST_EACH (node, &gate->seats) {
        struct hl_gate_seat *seat = HL_CONTAINER_OF(node, struct hl_gate_seat, node);
        if (!atomic_exchange(&seat->is_told, true))
            hl_mailbox_post(seat->mailbox, &seat->turned);
    }
}

static enum hl_gate_state state_of(uint32_t word)
{
    return (enum hl_gate_state)(word & HL_GATE_STATE_MASK);
}

static uint32_t count_of(uint32_t word)
{
    return word >> HL_GATE_STATE_BITS;
}

/* Closed once more. */
static uint32_t closed_word(uint32_t word, enum hl_gate_state to)
{
    return (count_of(word) + 1) << HL_GATE_STATE_BITS | to;
}

static void say(enum hl_gate_state to, enum hl_gate_state from, const char *why)
{
    if (to == HL_GATE_SHUT)
        HL_LOG(WARN, "the health gate is shut: calls wait", HL_LOG_TEXT("cause", why));
    else if (to == HL_GATE_LOST)
        HL_LOG(WARN, "queued runs are not claimed: the app is not accepting calls",
            HL_LOG_TEXT("cause", why));
    else if (from == HL_GATE_SHUT)
        HL_LOG(INFO, "the health gate is open");
    else
        HL_LOG(INFO, "queued runs are claimed: the app is accepting calls");
}

/* From any state that is not as closed as that already. Without a `why` nothing is said of it. */
static void close_to(struct hl_gate *gate, enum hl_gate_state to, const char *why)
{
    uint32_t word = atomic_load(&gate->word), next;
    enum hl_gate_state from;
    do {
        from = state_of(word);
        if (from >= to)
            return;
        next = closed_word(word, to);
        if (from == HL_GATE_OPEN)
            atomic_store(&gate->closed_ms, hl_clock_mono_ms());
    } while (!atomic_compare_exchange_weak(&gate->word, &word, next));
    if (why)
        say(to, from, why);
    tell(gate);
}

static void reopen(struct hl_gate *gate, uint32_t check)
{
    uint32_t word = atomic_load(&gate->word);
    enum hl_gate_state from = state_of(word);
    if (count_of(word) != check || from == HL_GATE_OPEN || from == HL_GATE_ASLEEP ||
        !atomic_compare_exchange_strong(
            &gate->word, &word, check << HL_GATE_STATE_BITS | HL_GATE_OPEN))
        return;
    if (from == HL_GATE_SHUT || (from == HL_GATE_LOST && check > 0)) /* else it was not lost */
        say(HL_GATE_OPEN, from, NULL);
    tell(gate);
}

bool hl_gate_is_refusal(struct hl_cause cause)
{
    bool is_other = cause.kind >= HL_CAUSE_TLS_REFUSED && cause.kind <= HL_CAUSE_TLS_DATES;
    return is_other || cause.kind == HL_CAUSE_REFUSED || cause.kind == HL_CAUSE_NO_SOCKET;
}

void hl_gate_close(struct hl_gate *gate, const char *why)
{
    close_to(gate, gate->rule == HL_APP_GATE_OFF ? HL_GATE_LOST : HL_GATE_SHUT, why);
}

void hl_gate_note_connected(struct hl_gate *gate)
{
    uint32_t word = atomic_load_explicit(&gate->word, memory_order_relaxed);
    if (state_of(word) == HL_GATE_LOST)
        reopen(gate, count_of(word)); /* unless it is closed further meanwhile */
}

/* ---- checks ---- */

uint32_t hl_gate_begin_check(const struct hl_gate *gate)
{
    return count_of(atomic_load(&gate->word));
}

/* Somebody took the connection, whatever came of it then. */
static bool has_connected(struct hl_cause cause)
{
    return cause.kind >= HL_CAUSE_HEALTH_TIMEOUT && cause.kind <= HL_CAUSE_HEALTH_STATUS;
}

void hl_gate_end_check(struct hl_gate *gate, uint32_t check, struct hl_cause cause, bool is_ready)
{
    const char *why = hl_cause_text(cause);
    bool is_bad = gate->rule == HL_APP_GATE_ALWAYS && !is_ready;
    if (cause.kind == HL_CAUSE_NONE)
        reopen(gate, check);
    else if (hl_gate_is_refusal(cause) || cause.kind == HL_CAUSE_OCCUPIED || is_bad)
        hl_gate_close(gate, why);
    else if (has_connected(cause) && !hl_gate_is_shut(gate))
        reopen(gate, check);
    else if (!is_ready)
        close_to(gate, HL_GATE_LOST, why);
}

/* ---- sleep ---- */

/* Whatever it is now. */
static void turn(struct hl_gate *gate, enum hl_gate_state to)
{
    uint32_t word = atomic_load(&gate->word);
    while (!atomic_compare_exchange_weak(&gate->word, &word, closed_word(word, to)))
        ;
    tell(gate);
}

void hl_gate_put_to_sleep(struct hl_gate *gate)
{
    turn(gate, HL_GATE_ASLEEP);
}

void hl_gate_wake(struct hl_gate *gate)
{
    atomic_store(&gate->closed_ms, hl_clock_mono_ms());
    turn(gate, HL_GATE_WAKING);
}

void hl_gate_stay_open(struct hl_gate *gate)
{
    turn(gate, HL_GATE_OPEN);
}

/* Who takes the message takes it off first, and looks at the state then. */
bool hl_gate_is_told(const struct hl_gate *gate)
{
    HL_LIST_EACH (node, &gate->seats)
        if (atomic_load(&HL_CONTAINER_OF(node, struct hl_gate_seat, node)->is_told))
            return false;
    return true;
}

/* ---- waiting ---- */

void hl_gate_seat_on_turn(struct hl_gate_seat *seat)
{
    struct hl_list ready, *node;
    atomic_store(&seat->is_told, false);
    enum hl_gate_state state = state_of(atomic_load(&seat->gate->word)); /* in order behind it */
    if (hl_list_is_empty(&seat->waits))
        return;
    if (state == HL_GATE_ASLEEP) /* they came as it was waking, and nobody was seen to wait */
        hl_gate_knock(seat->gate);
    if (state >= HL_GATE_SHUT)
        return;
    hl_list_init(&ready); /* who finds it shut again waits anew */
    hl_list_move_all(&seat->waits, &ready);
    while ((node = hl_list_pop_front(&ready)) != NULL) {
        struct hl_gate_wait *wait = HL_CONTAINER_OF(node, struct hl_gate_wait, node);
        wait->on_open(wait);
    }
}

void hl_gate_wait_begin(struct hl_gate_wait *wait, struct hl_gate_seat *seat,
    void (*on_open)(struct hl_gate_wait *wait))
{
    wait->on_open = on_open;
    hl_list_push_back(&seat->waits, &wait->node);
}

void hl_gate_wait_cancel(struct hl_gate_wait *wait)
{
    hl_list_remove(&wait->node);
}
