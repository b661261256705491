/* test_gate.c - whether calls go into the app: what turns the gate, who is told, who goes on. */
#include "app/cause.h"
#include "app/gate.h"

#include <criterion/criterion.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/log.h"
#include "loop/thread.h"

#define SEATS 3

static struct hl_gate gate;
static struct hl_gate_seat seats[SEATS];
static struct hl_mailbox boxes[SEATS];

static void no_wake(void *arg)
{
    (void)arg;
}

static void begin(void)
{
    hl_gate_init(&gate);
    for (size_t i = 0; i < SEATS; i++) {
        hl_mailbox_init(&boxes[i], no_wake, NULL);
        hl_gate_seat_init(&seats[i], &gate, &boxes[i]);
    }
}

TestSuite(gate, .init = begin, .timeout = 180);

static void start(enum hl_app_gate rule)
{
    hl_gate_close_at_start(&gate, rule);
}

static void check(enum hl_cause_kind kind, bool is_ready)
{
    hl_gate_end_check(&gate, hl_gate_begin_check(&gate), (struct hl_cause){.kind = kind}, is_ready);
}

/* How many messages have come to a seat's mailbox. */
static unsigned take(size_t i)
{
    unsigned n = 0;
    for (struct hl_msg *msg = hl_mailbox_take(&boxes[i]); msg; msg = msg->next, n++)
        cr_assert_eq(msg, &seats[i].turned);
    if (n > 0)
        hl_gate_seat_on_turn(&seats[i]);
    return n;
}

/* ---- what turns it ---- */

#define START  HL_APP_GATE_START
#define ALWAYS HL_APP_GATE_ALWAYS
#define OFF    HL_APP_GATE_OFF

static const struct turn {
    const char *what;
    enum hl_app_gate rule;
    enum hl_gate_state from;
    enum hl_cause_kind cause;
    bool is_ready; /* still */
    enum hl_gate_state to;
} turns[] = {
    {"2xx", START, HL_GATE_SHUT, HL_CAUSE_NONE, true, HL_GATE_OPEN},
    {"it loads", START, HL_GATE_SHUT, HL_CAUSE_HEALTH_STATUS, false, HL_GATE_SHUT},
    {"it hangs", START, HL_GATE_SHUT, HL_CAUSE_HEALTH_TIMEOUT, false, HL_GATE_SHUT},
    {"a bad one", START, HL_GATE_OPEN, HL_CAUSE_HEALTH_STATUS, true, HL_GATE_OPEN},
    {"three bad ones", START, HL_GATE_OPEN, HL_CAUSE_HEALTH_STATUS, false, HL_GATE_OPEN},
    {"a refused one", START, HL_GATE_OPEN, HL_CAUSE_REFUSED, true, HL_GATE_SHUT},
    {"no socket", START, HL_GATE_OPEN, HL_CAUSE_NO_SOCKET, true, HL_GATE_SHUT},
    {"somebody else", START, HL_GATE_OPEN, HL_CAUSE_OCCUPIED, true, HL_GATE_SHUT},
    {"a strange certificate", START, HL_GATE_OPEN, HL_CAUSE_TLS_NAME, true, HL_GATE_SHUT},
    {"a handshake cut off", START, HL_GATE_OPEN, HL_CAUSE_TLS_LEFT, true, HL_GATE_OPEN},
    {"a lost packet", START, HL_GATE_OPEN, HL_CAUSE_CONNECT_TIMEOUT, true, HL_GATE_OPEN},
    {"no machine", START, HL_GATE_OPEN, HL_CAUSE_CONNECT_TIMEOUT, false, HL_GATE_LOST},
    {"a machine again", START, HL_GATE_LOST, HL_CAUSE_HEALTH_STATUS, false, HL_GATE_OPEN},
    {"refused at last", START, HL_GATE_LOST, HL_CAUSE_REFUSED, false, HL_GATE_SHUT},
    {"a bad one", ALWAYS, HL_GATE_OPEN, HL_CAUSE_HEALTH_STATUS, true, HL_GATE_OPEN},
    {"three bad ones", ALWAYS, HL_GATE_OPEN, HL_CAUSE_HEALTH_STATUS, false, HL_GATE_SHUT},
    {"three resets", ALWAYS, HL_GATE_OPEN, HL_CAUSE_HEALTH_CLOSED, false, HL_GATE_SHUT},
    {"three that hang", ALWAYS, HL_GATE_OPEN, HL_CAUSE_HEALTH_TIMEOUT, false, HL_GATE_SHUT},
    {"a good one", ALWAYS, HL_GATE_SHUT, HL_CAUSE_NONE, true, HL_GATE_OPEN},
    {"it loads", OFF, HL_GATE_LOST, HL_CAUSE_HEALTH_STATUS, false, HL_GATE_OPEN},
    {"a connect", OFF, HL_GATE_LOST, HL_CAUSE_NONE, true, HL_GATE_OPEN},
    {"a refused one", OFF, HL_GATE_OPEN, HL_CAUSE_REFUSED, true, HL_GATE_LOST},
    {"no name", OFF, HL_GATE_OPEN, HL_CAUSE_UNRESOLVED, true, HL_GATE_OPEN},
    {"no name, three times", OFF, HL_GATE_OPEN, HL_CAUSE_UNRESOLVED, false, HL_GATE_LOST},
    {"no name from the start", OFF, HL_GATE_LOST, HL_CAUSE_UNRESOLVED, false, HL_GATE_LOST},
};

static void bring_to(enum hl_gate_state state)
{
    if (state != HL_GATE_SHUT)
        check(HL_CAUSE_NONE, true);
    if (state == HL_GATE_LOST)
        check(HL_CAUSE_NO_ROUTE, false);
    cr_assert_eq(hl_gate_state(&gate), state);
}

Test(gate, turns_by_what_checks_find_and_by_its_rule)
{
    for (size_t i = 0; i < HL_ARRAY_LEN(turns); i++) {
        const struct turn *turn = &turns[i];
        start(turn->rule);
        bring_to(turn->from);
        check(turn->cause, turn->is_ready);
        cr_assert_eq(hl_gate_state(&gate), turn->to, "%s (row %zu)", turn->what, i);
    }
}

Test(gate, holds_nobody_where_nobody_looks)
{
    hl_gate_close_at_start(&gate, OFF);
    cr_assert_eq(hl_gate_state(&gate), HL_GATE_LOST);
    hl_gate_close(&gate, "the app ended");
    cr_assert_not(hl_gate_is_shut(&gate));
}

Test(gate, is_not_opened_by_a_check_that_began_before_it_was_closed)
{
    start(START);
    check(HL_CAUSE_NONE, true);
    uint32_t before = hl_gate_begin_check(&gate);
    hl_gate_close(&gate, "a connection was refused");
    hl_gate_end_check(&gate, before, (struct hl_cause){.kind = HL_CAUSE_NONE}, true);
    cr_assert(hl_gate_is_shut(&gate));
    check(HL_CAUSE_NONE, true);
    cr_assert(hl_gate_is_open(&gate));
}

Test(gate, knows_for_how_long_it_has_not_been_open)
{
    start(START);
    uint64_t until = hl_clock_mono_ms() + 3;
    while (hl_clock_mono_ms() < until)
        ;
    cr_assert_geq(hl_gate_closed_for(&gate), 2);
    check(HL_CAUSE_NONE, true);
    cr_assert_eq(hl_gate_closed_for(&gate), 0);
}

/* ---- while the app sleeps ---- */

Test(gate, stays_shut_while_the_app_sleeps_whatever_is_found_out)
{
    start(OFF);
    check(HL_CAUSE_NONE, true);
    uint32_t before = hl_gate_begin_check(&gate);
    hl_gate_put_to_sleep(&gate);
    cr_assert(hl_gate_is_shut(&gate) && hl_gate_is_asleep(&gate) && hl_gate_has_slept(&gate));
    hl_gate_end_check(&gate, before, (struct hl_cause){.kind = HL_CAUSE_NONE}, true);
    check(HL_CAUSE_NONE, true);
    check(HL_CAUSE_REFUSED, false);
    hl_gate_close(&gate, "refused");
    hl_gate_note_connected(&gate);
    cr_assert(hl_gate_is_asleep(&gate));
    cr_assert_eq(hl_gate_closed_for(&gate), 0, "nobody waits for an app that sleeps");
    hl_gate_stay_open(&gate);
    cr_assert(hl_gate_is_open(&gate));
}

Test(gate, is_opened_after_a_sleep_by_a_good_check_whatever_its_rule)
{
    for (enum hl_app_gate rule = START; rule <= OFF; rule++) {
        start(rule);
        check(HL_CAUSE_NONE, true);
        hl_gate_put_to_sleep(&gate);
        uint32_t before = hl_gate_begin_check(&gate);
        hl_gate_wake(&gate);
        hl_gate_end_check(&gate, before, (struct hl_cause){.kind = HL_CAUSE_NONE}, true);
        cr_assert_eq(hl_gate_state(&gate), HL_GATE_WAKING, "that one was asked before");
        check(HL_CAUSE_REFUSED, false);
        check(HL_CAUSE_HEALTH_STATUS, false);
        hl_gate_note_connected(&gate);
        cr_assert(hl_gate_is_shut(&gate) && hl_gate_has_slept(&gate));
        check(HL_CAUSE_NONE, true);
        cr_assert(hl_gate_is_open(&gate), "rule %d", rule);
    }
}

Test(gate, knows_when_all_have_seen_that_it_turned)
{
    start(START);
    check(HL_CAUSE_NONE, true);
    for (size_t i = 0; i < SEATS; i++)
        take(i);
    hl_gate_put_to_sleep(&gate);
    for (size_t i = 0; i < SEATS; i++) {
        cr_assert_not(hl_gate_is_told(&gate));
        take(i);
    }
    cr_assert(hl_gate_is_told(&gate));
}

/* ---- who is told ---- */

Test(gate, tells_each_seat_once_however_often_it_turns)
{
    start(START);
    for (int i = 0; i < 5; i++) {
        check(HL_CAUSE_NONE, true);
        hl_gate_close(&gate, "refused");
    }
    for (size_t i = 0; i < SEATS; i++)
        cr_assert_eq(take(i), 1);
    hl_gate_close(&gate, "refused");
    cr_assert_eq(take(0), 0, "it is shut already");
    check(HL_CAUSE_NONE, true);
    cr_assert_eq(take(0), 1);
}

/* ---- who waits ---- */

struct call {
    struct hl_gate_wait wait;
    bool waits_again;
};

static struct call *gone[8];
static size_t gone_count;

static void on_open(struct hl_gate_wait *wait)
{
    struct call *call = HL_CONTAINER_OF(wait, struct call, wait);
    if (call->waits_again)
        hl_gate_wait_begin(wait, &seats[0], on_open);
    gone[gone_count++] = call;
}

Test(gate, lets_those_who_wait_go_on_in_their_order_when_it_opens)
{
    struct call calls[3] = {{.waits_again = false}};
    start(START);
    for (size_t i = 0; i < 3; i++) {
        hl_gate_wait_init(&calls[i].wait);
        hl_gate_wait_begin(&calls[i].wait, &seats[0], on_open);
    }
    calls[2].waits_again = true;
    hl_gate_close(&gate, "refused");
    take(0);
    cr_assert_eq(gone_count, 0);
    hl_gate_wait_cancel(&calls[0].wait);
    hl_gate_wait_cancel(&calls[0].wait);
    check(HL_CAUSE_NONE, true);
    cr_assert_eq(gone_count, 0, "not on the thread that opens it");
    take(0);
    cr_assert_eq(gone_count, 2, "each once");
    cr_assert(gone[0] == &calls[1] && gone[1] == &calls[2]);
    cr_assert(hl_list_is_linked(&calls[2].wait.node));
    hl_gate_wait_cancel(&calls[2].wait);
}

Test(gate, has_who_came_as_it_fell_asleep_again_knock)
{
    struct call call = {.waits_again = false};
    struct hl_mailbox door;
    hl_mailbox_init(&door, no_wake, NULL);
    hl_bell_init(&gate.knock, &door, HL_GATE_KNOCKED);
    hl_gate_put_to_sleep(&gate);
    hl_gate_wake(&gate);
    take(0);
    hl_gate_wait_init(&call.wait);
    hl_gate_wait_begin(&call.wait, &seats[0], on_open);
    hl_gate_put_to_sleep(&gate);
    take(0);
    cr_assert_eq(hl_mailbox_take(&door), &gate.knock.msg);
    cr_assert_eq(gone_count, 0);
    hl_gate_wait_cancel(&call.wait);
}

/* ---- threads ---- */

#define TURNS 20000

static void turn_often(void *arg)
{
    (void)arg;
    for (int i = 0; i < TURNS; i++) {
        hl_gate_close(&gate, "refused");
        check(HL_CAUSE_NONE, true);
    }
}

Test(gate, leaves_nobody_waiting_who_began_before_it_opened_for_good)
{
    struct hl_thread thread;
    struct call call = {.waits_again = false};
    hl_log_setup((enum hl_log_level)(HL_LOG_ERROR + 1), HL_LOG_JSON);
    start(START);
    check(HL_CAUSE_NONE, true);
    hl_gate_wait_init(&call.wait);
    cr_assert_eq(hl_thread_start(&thread, "turner", turn_often, NULL), 0);
    for (unsigned n = 0; n < TURNS; n++) {
        gone_count = 0;
        if (hl_gate_is_shut(&gate) && !hl_list_is_linked(&call.wait.node))
            hl_gate_wait_begin(&call.wait, &seats[1], on_open);
        take(1);
    }
    hl_thread_join(&thread);
    gone_count = 0;
    take(1);
    cr_assert_not(hl_list_is_linked(&call.wait.node), "the last turn was missed");
}
