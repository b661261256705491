/* test_demand.c - a worker and the store's book of credit in every order in which their messages, claims and
 * commits may fall: whatever came before, what is queued is started while there is room for it.
 *
 * The worker's half and the book are the program's own; the steps of an engine around the book are here, as
 * store/engine.c and store/postgres/dispatch.c take them. All states that can be reached are looked at: from each,
 * everything that is on its way arrives, and then nothing may be left. */
#include "app/limiter.h"
#include "callers_fixture.h"
#include "config/config.h"
#include "fake_store.h"
#include "run/demand.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/service.h"
#include "runs_fixture.h"
#include "store/claim.h"
#include "store/credit.h"
#include "store/op.h"

#define PATH_MAX_STEPS 64
#define STATES_MAX     (1u << 17)
#define NOTES_MAX      8

/* What an engine does around its book. */
struct engine {
    bool is_shared; /* claims take their time, others claim and accept, the connection may go */
};

static const struct engine embedded = {false}, shared = {true};

static struct {
    const struct engine *engine;
    unsigned accepts; /* so many runs in all */
    struct hl_credit_book book;
    struct hl_msg *inbox; /* the worker's, the first first */
    struct hl_credit_note notes[NOTES_MAX];
    unsigned n_notes, queued, accepted, running;
    bool is_claiming, claims_more, is_up, is_open;
    unsigned changes;           /* of the gate, that may still be */
    struct hl_msg *withdrawals; /* to be answered when no claim is under way */
} m;

/* ---- the store's half ---- */

static uint64_t known(void)
{
    return hl_counter_get(&fake_store.gauges.queued_runs);
}

static void hint(void)
{
    if (m.is_up && m.claims_more && m.book.total == 0)
        hl_credit_hint(&m.book);
}

static void push_run(struct hl_credit_note note)
{
    struct hl_claimed *claimed = calloc(1, sizeof(*claimed));
    claimed->msg.type = HL_STORE_CLAIMED;
    m.queued--;
    hl_credit_count_claim(&m.book, note);
    hl_mailbox_post(m.book.accounts[note.account].box, &claimed->msg);
    hl_credit_spend(&m.book, note);
}

static void settle_embedded(void)
{
    struct hl_credit_note note;
    while (m.queued > 0 && hl_credit_take(&m.book, &note))
        push_run(note);
    hl_counter_set(&fake_store.gauges.queued_runs, m.queued);
    if (m.queued == 0)
        hl_credit_return_unused(&m.book);
    else
        hl_credit_hint(&m.book);
}

static void answer_withdrawals(void)
{
    while (m.withdrawals && !m.is_claiming) {
        struct hl_msg *msg = m.withdrawals;
        m.withdrawals = msg->next;
        hl_mailbox_post(runs.box, msg);
    }
}

static void withdraw(void)
{
    struct hl_store_msg *asked = fake_store_take(HL_STORE_WITHDRAW);
    hl_credit_withdraw(&m.book, asked->reply_to);
    asked->msg.next = m.withdrawals;
    m.withdrawals = &asked->msg;
    answer_withdrawals();
}

static void read_request(void)
{
    if (fake_store.posted[0]->msg.type == HL_STORE_WITHDRAW) {
        withdraw();
        return;
    }
    hl_credit_add(&m.book, HL_CONTAINER_OF(fake_store_take(HL_STORE_CREDIT), struct hl_credit, m));
    if (!m.engine->is_shared)
        settle_embedded();
    else if (!m.is_up || (!m.is_claiming && !m.claims_more))
        hl_credit_return_unused(&m.book);
}

static void begin_claim(void)
{
    m.is_claiming = true;
    while (m.n_notes < NOTES_MAX && hl_credit_take(&m.book, &m.notes[m.n_notes]))
        m.n_notes++;
}

/* Others may have been faster: `most` is what it finds. */
static void end_claim(unsigned most)
{
    unsigned n = 0;
    for (; n < m.n_notes && n < most; n++)
        push_run(m.notes[n]);
    for (unsigned i = n; i < m.n_notes; i++)
        hl_credit_put_back(&m.book, m.notes[i]);
    hl_counter_set(&fake_store.gauges.queued_runs, known() > n ? known() - n : 0);
    m.claims_more = n == m.n_notes;
    if (n < m.n_notes)
        hl_credit_return_unused(&m.book);
    m.n_notes = 0;
    m.is_claiming = false;
    answer_withdrawals();
    hint();
}

/* Another transaction ends as lost before the one with the claim does. */
static void lose(void)
{
    m.is_up = false;
    hl_credit_return_unused(&m.book);
    for (unsigned i = 0; i < m.n_notes; i++)
        hl_credit_put_back(&m.book, m.notes[i]);
    m.n_notes = 0;
    m.is_claiming = false;
    answer_withdrawals();
    hl_credit_return_unused(&m.book);
}

static void peek(void)
{
    hl_counter_set(&fake_store.gauges.queued_runs, m.queued);
    m.claims_more |= m.queued > 0;
    hint();
}

static void add_run(bool is_here)
{
    m.queued++;
    m.accepted++;
    if (!m.engine->is_shared) {
        settle_embedded();
    } else if (is_here) {
        hl_counter_add(&fake_store.gauges.queued_runs, 1);
        m.claims_more = true;
        hint();
    }
}

/* ---- the worker's half ---- */

static void take_mail(void)
{
    struct hl_msg **end = &m.inbox;
    while (*end)
        end = &(*end)->next;
    *end = hl_mailbox_take(runs.box);
}

/* The app takes no calls. */
static void give_back(void)
{
    m.queued++;
    if (m.engine->is_shared)
        m.claims_more = true;
    else
        settle_embedded();
}

static void read_mail(void)
{
    struct hl_msg *msg = m.inbox;
    m.inbox = msg->next;
    if (msg->type == HL_STORE_CREDIT_BACK) {
        hl_demand_take_back(&runs, HL_CONTAINER_OF(msg, struct hl_credit, m.msg));
        return;
    }
    if (msg->type == HL_STORE_WORK) {
        hl_demand_look(&runs);
    } else if (msg->type == HL_STORE_WITHDRAW) {
        hl_demand_on_withdrawn(&runs);
    } else if (hl_demand_take(&runs, HL_CONTAINER_OF(msg, struct hl_claimed, msg)) ==
               HL_DEMAND_CALL) {
        runs.dispatch.running++;
        m.running++;
    } else {
        give_back();
    }
    free(msg);
}

static void end_run(void)
{
    m.running--;
    hl_demand_note_end(&runs);
    hl_limiter_release(&runs.seat);
    hl_demand_renew(&runs);
}

/* ---- steps ---- */

/* c: the store reads mail, m: the worker does, b, e, n: a claim begins, ends, finds nothing, a, o: a run is accepted,
 * elsewhere, p: the store looks for others' work, f: a run ends, l, u: the connection goes, comes, s: the app takes no
 * calls, g: it does. */
static const char steps[] = "cmbenaopflusg";

static bool can_take(char step)
{
    bool is_shared = m.engine->is_shared;
    switch (step) {
    case 'c':
        return fake_store.count > 0;
    case 'm':
        return m.inbox;
    case 'b':
        return is_shared && m.is_up && !m.is_claiming && m.book.total > 0;
    case 'e':
    case 'n':
        return m.is_claiming;
    case 'a':
        return m.is_up && m.accepted < m.accepts;
    case 'o':
        return is_shared && m.accepted < m.accepts;
    case 'p':
        return is_shared && m.is_up;
    case 'f':
        return m.running > 0;
    case 'l':
        return is_shared && m.is_up;
    case 's':
        return m.is_open && m.changes > 0;
    case 'g':
        return !m.is_open;
    default:
        return is_shared && !m.is_up;
    }
}

static void take(char step)
{
    switch (step) {
    case 'c':
        read_request();
        break;
    case 'm':
        read_mail();
        break;
    case 'b':
        begin_claim();
        break;
    case 'e':
        end_claim(m.queued);
        break;
    case 'n':
        end_claim(0);
        break;
    case 'a':
    case 'o':
        add_run(step == 'a');
        break;
    case 'p':
        peek();
        break;
    case 'f':
        end_run();
        break;
    case 'l':
        lose();
        break;
    case 's':
        m.changes--;
        m.is_open = false;
        gate_close();
        break;
    case 'g':
        m.is_open = true;
        gate_open();
        break;
    default:
        m.is_up = m.claims_more = true;
    }
    take_mail();
}

static void clear(void)
{
    for (unsigned i = 0; i < m.n_notes; i++)
        hl_credit_put_back(&m.book, m.notes[i]);
    hl_credit_book_fini(&m.book);
    for (struct hl_msg *msg = m.inbox, *next; msg; msg = next) {
        next = msg->next;
        free(msg);
    }
    while (m.withdrawals) {
        struct hl_msg *msg = m.withdrawals;
        m.withdrawals = msg->next;
        free(msg);
    }
    while (fake_store.count > 0)
        free(fake_store_take(fake_store.posted[0]->msg.type));
    HL_LIST_EACH_SAFE (node, &runs.seat.queue[HL_LIMITER_ASYNC]) {
        struct hl_limiter_wait *wait = HL_CONTAINER_OF(node, struct hl_limiter_wait, node);
        hl_limiter_cancel(&runs.seat, wait);
        free(wait);
    }
    runs.dispatch.max = 0;
    if (!m.is_open)
        gate_open();
}

static void start(const struct engine *engine, unsigned accepts)
{
    memset(&m, 0, sizeof(m));
    m.engine = engine;
    m.accepts = accepts;
    m.is_up = m.claims_more = m.is_open = true;
    m.changes = 1;
    hl_credit_book_init(&m.book);
    hl_counter_set(&fake_store.gauges.queued_runs, 0);
    atomic_store(&runs.service->limiter.in_use, 0);
    runs.dispatch = (struct hl_dispatch){.mode = HL_DEMAND_NOTHING};
    hl_demand_start(&runs);
}

/* All that the next steps depend on. */
static uint64_t state(void)
{
    char text[512];
    const struct hl_credit_account *a = m.book.n > 0 ? &m.book.accounts[0] : NULL;
    int n = snprintf(text, sizeof(text), "%u %u %u %llu %u %d%d%d %d%d %d %u %u %u %u %u|",
        m.queued, m.accepted, m.running, (unsigned long long)known(), m.n_notes, m.is_claiming,
        m.claims_more, m.is_up, m.is_open, m.withdrawals != NULL, runs.dispatch.mode,
        runs.dispatch.withdrawals + 10 * m.changes, runs.dispatch.running, runs.dispatch.credit,
        runs.dispatch.waiting, atomic_load(&runs.service->limiter.in_use));
    if (a)
        n += snprintf(text + n, sizeof(text) - (size_t)n, "%u %u %d%d|", a->returning, a->standing,
            a->is_hinted, a->wants_hints);
    for (const struct hl_msg *msg = m.inbox; msg; msg = msg->next)
        n += snprintf(text + n, sizeof(text) - (size_t)n, "%u ", msg->type);
    for (size_t i = 0; i < fake_store.count; i++) {
        bool is_credit = fake_store.posted[i]->msg.type == HL_STORE_CREDIT;
        n += snprintf(text + n, sizeof(text) - (size_t)n, "+%d",
            is_credit ? (int)HL_CONTAINER_OF(fake_store.posted[i], struct hl_credit, m)->n : -1);
    }
    uint64_t hash = UINT64_C(14695981039346656037);
    for (int i = 0; i < n; i++)
        hash = (hash ^ (uint8_t)text[i]) * UINT64_C(1099511628211);
    return hash;
}

/* Everything arrives; no run ends, unless those that are queued have no room. */
static void come_to_rest(const char *path, bool has_ends)
{
    for (unsigned round = 0; round < 40 && (m.queued > 0 || m.inbox || fake_store.count > 0);
         round++)
        for (const char *step = has_ends ? "gumbecpf" : "gumbecp"; *step; step++)
            while (can_take(*step)) {
                take(*step);
                if (*step == 'p')
                    break;
            }
    cr_assert_eq(m.queued, 0, "%u queued runs wait for ever, after %s", m.queued, path);
}

struct path {
    char steps[PATH_MAX_STEPS + 1];
};

static struct path *paths;
static uint64_t *seen;

static bool is_new(uint64_t hash)
{
    size_t at = hash % (4 * STATES_MAX);
    while (seen[at] && seen[at] != hash)
        at = (at + 1) % (4 * STATES_MAX);
    bool is = !seen[at];
    seen[at] = hash;
    return is;
}

static void walk(const struct engine *engine, unsigned accepts, const char *path)
{
    start(engine, accepts);
    for (; *path; path++)
        take(*path);
}

static void explore(const struct engine *engine, unsigned accepts, uint32_t slots, uint32_t most)
{
    runs.index = 1; /* nothing ends that has waited for too long */
    config.app_start_timeout_ms = 3600000;
    config.app_concurrency = slots;
    config.async_concurrency = most;
    runs.service->limiter.limit = slots;
    paths = calloc(STATES_MAX, sizeof(*paths));
    seen = calloc(4 * STATES_MAX, sizeof(*seen));
    size_t n = 1;
    for (size_t i = 0; i < n; i++) {
        for (const char *step = steps; *step; step++) {
            struct path next = paths[i];
            walk(engine, accepts, next.steps);
            if (can_take(*step)) {
                size_t length = strlen(next.steps);
                cr_assert(length < PATH_MAX_STEPS && n < STATES_MAX, "more than there is room for");
                next.steps[length] = *step;
                take(*step);
                if (is_new(state())) {
                    paths[n++] = next;
                    come_to_rest(next.steps, slots < accepts || most < accepts);
                }
            }
            clear();
        }
    }
    cr_log_info("%zu states", n);
    free(paths);
    free(seen);
    runs.index = 0;
}

TestSuite(demand, .init = runs_begin, .fini = runs_end, .timeout = 120);

Test(demand, starts_what_is_queued_in_whatever_order_hints_and_credit_pass_each_other)
{
    explore(&embedded, 4, 5, 5);
}

Test(demand, starts_what_is_queued_where_there_is_room_for_one)
{
    explore(&embedded, 3, 1, 2);
}

Test(demand, starts_what_is_queued_on_any_replica_in_whatever_order_claims_and_hints_end)
{
    explore(&shared, 3, 4, 4);
}

Test(demand, starts_what_is_queued_on_any_replica_where_there_is_room_for_one)
{
    explore(&shared, 3, 1, 1);
}
