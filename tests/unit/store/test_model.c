/* test_model.c - random operations, one after the other, on a store and on the reference model
 * (model.h): the store answers what the model answers and keeps what it keeps. All three stores; on
 * SQLite and PostgreSQL the process also "ends" and begins again.
 *
 * Each trial has a seed. The fixed ones are the same in every run; the last is new each time and
 * printed: HOOKLINE_TEST_SEED brings it back. When the store disagrees, the trial's operations are
 * printed. */
#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/metric.h"
#include "base/random.h"
#include "config/config.h"
#include "fixture.h"
#include "model.h"
#include "store/accept.h"
#include "store/claim.h"
#include "store/gauges.h"
#include "store/lease.h"
#include "store/question.h"
#include "store/store.h"

#define TRIALS       20
#define FAR_TRIALS   2 /* each commit waits for a disk */
#define OPERATIONS   1100
#define RETENTION_MS 40
#define HOUR_MS      (3600 * 1000)
#define CLAIMS       64

static const char *const urls[MODEL_LANES] = {
    "https://one.example/a", "https://two.example/b", "http://two.example/c"};

/* What a worker has in its hands, current or not. */
struct held_claim {
    struct hl_claimed *claim;
    uint32_t epoch;
};

struct trial {
    struct fixture f;
    struct model m;
    uint64_t chance;
    int64_t now_ms; /* of callers: ahead of the store's, so that its purge leaves keys alone */
    int n_bodies;
    struct held_claim held[CLAIMS];
    char log[OPERATIONS + 1][96];
    int n_log;
    bool is_over;
};

static struct trial t;

/* --- chance and report ----------------------------------------------------------------------- */

static unsigned pick(unsigned n)
{
    t.chance ^= t.chance >> 12;
    t.chance ^= t.chance << 25;
    t.chance ^= t.chance >> 27;
    return (unsigned)((t.chance * 0x2545f4914f6cdd1dull) >> 33) % n;
}

static void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void note(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    if (t.n_log <= OPERATIONS)
        vsnprintf(t.log[t.n_log++], sizeof(t.log[0]), fmt, args);
    va_end(args);
}

static void disagree(const char *what, long long store, long long model)
{
    cr_assert_fail("%s: the store says %lld, the model %lld", what, store, model);
}

static void agree(const char *what, long long store, long long model)
{
    if (store != model)
        disagree(what, store, model);
}

static int number(const struct model_run *run)
{
    return (int)(run - t.m.runs);
}

/* --- choosing a run -------------------------------------------------------------------------- */

static bool is_any(const struct model_run *run)
{
    return !run->is_gone;
}

static bool is_running(const struct model_run *run)
{
    return run->state == HL_RUN_RUNNING;
}

static bool is_leased(const struct model_run *run)
{
    return run->delivery == MODEL_LEASED;
}

static bool is_known_delivery(const struct model_run *run)
{
    return run->delivery != MODEL_NONE && !hl_id_is_nil(&run->delivery_id) && !run->is_gone;
}

/* One of those, the later ones more often; NULL: there is none. */
static struct model_run *choose(bool (*is_meant)(const struct model_run *run))
{
    struct model_run *found[24];
    unsigned n = 0;
    for (size_t i = t.m.n; i-- > 0 && n < HL_ARRAY_LEN(found);)
        if (is_meant(&t.m.runs[i]) && pick(4) > 0)
            found[n++] = &t.m.runs[i];
    return n ? found[pick(n)] : NULL;
}

/* Retention has taken it, as it may. */
static bool is_found_gone(struct model_run *run, enum hl_err rc)
{
    if (rc != HL_ERR_NOT_FOUND || !model_may_be_gone(run, hl_clock_wall_ms(), RETENTION_MS))
        return false;
    run->is_gone = true;
    run->delivery = MODEL_NONE;
    return true;
}

/* --- operations on runs ---------------------------------------------------------------------- */

static const char *body_text(int body)
{
    static char text[32];
    snprintf(text, sizeof(text), "body %d", body);
    return text;
}

static struct run_spec new_spec(struct model_run *run)
{
    *run = (struct model_run){.id = new_id(&t.f),
        .request = t.n_bodies++,
        .has_webhook = pick(2),
        .lane = pick(MODEL_LANES)};
    return (struct run_spec){.id = run->id,
        .body = body_text(run->request),
        .url = run->has_webhook ? urls[run->lane] : NULL};
}

static void accept_one(void)
{
    static const char *const keys[MODEL_KEYS] = {"a", "b", "c", "d", "e", "f"};
    struct model_run run;
    struct run_spec spec = new_spec(&run);
    struct hl_id existing = run.id;
    int key = pick(2) ? (int)pick(MODEL_KEYS) : -1;
    spec.key = key >= 0 ? keys[key] : NULL;
    spec.fingerprint = (uint8_t)(pick(4) == 0);
    t.now_ms += pick(4);
    note("accept %zu key %d/%d webhook %d", t.m.n, key, spec.fingerprint, run.has_webhook);

    struct hl_accept *a = make_accept(&t.f, HL_STORE_ACCEPT, &spec);
    a->created_ms = t.now_ms;
    enum hl_err rc = ask(&t.f, &t.f.worker, &a->m);
    agree("accept", rc, model_accept(&t.m, &run, key, spec.fingerprint, t.now_ms, &existing));
    if (rc == HL_OK || rc == HL_ERR_EXISTS)
        agree("accept: its run", hl_id_eq(&a->run_id, &existing), true);
    hl_accept_free(a);
}

static void record_one(void)
{
    struct model_run run;
    struct run_spec spec = new_spec(&run);
    note("record %zu webhook %d", t.m.n, run.has_webhook);
    agree("record", record_run(&t.f, spec, NULL), HL_OK);
    model_record(&t.m, &run);
}

static void hold(struct hl_claimed *c)
{
    struct held_claim *h = &t.held[pick(CLAIMS)];
    hl_claimed_free(h->claim);
    *h = (struct held_claim){c, c->epoch};
}

static void claim_some(void)
{
    uint64_t queued = model_queued(&t.m);
    uint32_t n = 1 + pick(3);
    n = n < queued ? n : (uint32_t)queued;
    note("claim %u", n);
    if (n > 0)
        give_credit(&t.f, &t.f.worker, n, false);
    for (uint32_t i = 0; i < n; i++) {
        struct hl_claimed *c = party_wait(&t.f.worker, HL_STORE_CLAIMED);
        struct model_run *run = model_claim(&t.m);
        struct model_run *claimed = model_find(&t.m, &c->run_id);
        agree("claim: the oldest", number(claimed), number(run));
        agree("claim: epoch", c->epoch, run->epoch);
        agree("claim: attempt", c->attempt, run->attempt);
        struct hl_str body = {c->body.bytes, c->body.size};
        agree("claim: body", hl_str_eq(body, hl_str_from(body_text(run->request))), true);
        hold(c);
    }
}

/* Old enough to go at once, or to stay for this trial. */
static int64_t some_end_ms(void)
{
    int64_t now_ms = hl_clock_wall_ms();
    return pick(3) ? now_ms + HOUR_MS : now_ms - HOUR_MS;
}

static void finish_one(void)
{
    struct model_run *run = pick(6) ? choose(is_running) : choose(is_any);
    if (!run)
        return;
    uint32_t epoch = run->epoch + (pick(8) == 0) - (pick(8) == 0);
    int response = pick(4) ? t.n_bodies++ : -1;
    struct hl_finish *f = make_finish(&run->id, epoch, response >= 0 ? body_text(response) : NULL);
    f->outcome.finished_ms = some_end_ms();
    note("finish %d epoch %u", number(run), epoch);
    enum hl_err rc = ask(&t.f, &t.f.worker, &f->m);
    if (!is_found_gone(run, rc))
        agree("finish", rc, model_finish(run, epoch, response, f->outcome.finished_ms));
    hl_finish_free(f);
}

static void release_one(void)
{
    unsigned at = pick(CLAIMS), tried = 0;
    while (!t.held[at].claim && tried++ < CLAIMS)
        at = (at + 1) % CLAIMS;
    struct held_claim *h = &t.held[at];
    if (!h->claim)
        return;
    struct model_run *run = model_find(&t.m, &h->claim->run_id);
    struct hl_release *r = hl_release_new(h->claim);
    note("release %d epoch %u", number(run), h->epoch);
    agree(
        "release", ask(&t.f, &t.f.worker, &r->m), model_release(run, h->epoch, hl_clock_wall_ms()));
    hl_release_free(r);
    h->claim = NULL;
}

static void cancel_one(void)
{
    struct model_run *run = choose(is_any);
    if (!run)
        return;
    bool was_running = is_running(run);
    note("cancel %d", number(run));
    int64_t now_ms = hl_clock_wall_ms();
    enum hl_err rc = cancel_run(&t.f, &run->id);
    if (is_found_gone(run, rc))
        return;
    agree("cancel", rc, model_cancel(run, now_ms));
    if (!was_running)
        return;
    struct hl_cancel_run *told = party_wait(&t.f.worker, HL_STORE_CANCEL_RUN);
    agree("cancel: its worker is told", hl_id_eq(&told->run_id, &run->id), true);
    free(told);
}

/* --- operations on deliveries ----------------------------------------------------------------- */

/* With more places than are ever taken, so that only those of a lane count. */
static void lease_some(void)
{
    uint32_t n = model_leasable(&t.m);
    note("lease %u", n);
    if (n > 0)
        give_lease_credit(&t.f, n + 64);
    for (uint32_t i = 0; i < n; i++) {
        struct hl_leased *l = party_wait(&t.f.sender, HL_STORE_LEASED);
        struct model_run *run = model_find(&t.m, &l->run_id);
        note("  %d", number(run));
        agree("lease: it may be", model_lease(&t.m, run), true);
        if (hl_id_is_nil(&run->delivery_id))
            run->delivery_id = l->delivery_id;
        agree("lease: same delivery", hl_id_eq(&run->delivery_id, &l->delivery_id), true);
        agree("lease: round", l->round, run->round);
        agree("lease: n", l->n, run->n);
        agree("lease: state", l->outcome.state, run->state);
        agree("lease: url", hl_str_eq(l->url, hl_str_from(urls[run->lane])), true);
        hl_leased_free(l);
    }
    give_lease_credit(&t.f, 0);
}

/* A round or number that is not the current one, now and then. */
static uint32_t about(uint32_t v)
{
    return v + (pick(10) == 0) - (pick(10) == 0);
}

static void attempt_one(struct model_run *run)
{
    struct hl_attempt a = {.m.msg.type = HL_STORE_ATTEMPT,
        .delivery_id = run->delivery_id,
        .round = about(run->round),
        .n = about(run->n + 1),
        .is_parked = run->is_parked};
    note("attempt %d round %u n %u parked %d", number(run), a.round, a.n, a.is_parked);
    enum hl_err rc = ask(&t.f, &t.f.sender, &a.m);
    agree("attempt: delivery", a.leased != NULL, rc == HL_OK);
    hl_leased_free(a.leased);
    if (!is_found_gone(run, rc))
        agree("attempt", rc, model_attempt(run, a.round, a.n));
}

static void outcome_one(struct model_run *run)
{
    bool is_unsent = run->is_open && pick(4) == 0;
    struct hl_attempt_outcome o = {.m.msg.type = HL_STORE_OUTCOME,
        .delivery_id = run->delivery_id,
        .round = about(run->round),
        .n = about(run->n),
        .verdict = run->is_open && !is_unsent ? pick(4) : HL_ATTEMPT_ABANDONED,
        .started_ms = is_unsent ? 0 : hl_clock_wall_ms(),
        .ended_ms = hl_clock_wall_ms()};
    o.parks = pick(2);
    o.is_parked = run->is_parked;
    note("outcome %d round %u n %u verdict %d unsent %d parked %d", number(run), o.round, o.n,
        o.verdict, is_unsent, o.parks);
    enum hl_err rc = ask(&t.f, &t.f.sender, &o.m);
    if (!is_found_gone(run, rc))
        agree("outcome", rc, model_outcome(run, o.round, o.n, o.verdict, is_unsent, o.parks));
}

static void go_on_with_delivery(void)
{
    struct model_run *run = pick(6) ? choose(is_leased) : choose(is_known_delivery);
    if (!run)
        return;
    if (run->is_open || pick(3) == 0)
        outcome_one(run);
    else
        attempt_one(run);
}

static void redeliver_one(void)
{
    struct model_run *run = choose(is_known_delivery);
    if (!run)
        return;
    note("redeliver %d", number(run));
    enum hl_err rc = redeliver(&t.f, &run->delivery_id, "p", NULL);
    if (!is_found_gone(run, rc))
        agree("redeliver", rc, model_redeliver(&t.m, run));
}

static void compare_run(struct model_run *run);

/* Of those that retention may have taken, only looking tells which were left to be redelivered. */
static void redeliver_all(void)
{
    uint64_t count, least = 0, most = model_deliveries(&t.m, MODEL_DEAD);
    if (t.m.max_pending < UINT32_MAX)
        return; /* half of it is left to new ones, and only the store knows what it counts */
    note("redeliver all");
    for (size_t i = 0; i < t.m.n; i++)
        if (t.m.runs[i].delivery == MODEL_DEAD)
            compare_run(&t.m.runs[i]);
    int64_t now_ms = hl_clock_wall_ms();
    agree("redeliver all", redeliver(&t.f, NULL, "p", &count), HL_OK);
    for (size_t i = 0; i < t.m.n; i++) {
        struct model_run *run = &t.m.runs[i];
        if (run->delivery != MODEL_DEAD)
            continue;
        least += !model_may_be_gone(run, now_ms + 1, RETENTION_MS);
        struct hl_get_run g;
        enum hl_err rc = get_run(&t.f, &run->id, &g);
        if (!is_found_gone(run, rc))
            model_redeliver(&t.m, run);
        hl_body_fini(&g.outcome.body);
    }
    if (count < least || count > most)
        disagree("redeliver all: how many", (long long)count, (long long)most);
}

/* --- comparing -------------------------------------------------------------------------------- */

static void compare_outcome(const struct model_run *run, const struct hl_outcome *o)
{
    struct hl_str body = {o->body.bytes, o->body.size};
    agree("get: reason", o->reason, run->reason);
    agree("get: has a body", o->body.where == HL_BODY_INLINE, run->response >= 0);
    if (run->response >= 0)
        agree("get: body", hl_str_eq(body, hl_str_from(body_text(run->response))), true);
    if (run->state == HL_RUN_SUCCESS)
        agree("get: finished", o->finished_ms, run->finished_ms);
}

static void compare_run(struct model_run *run)
{
    struct hl_get_run g;
    enum hl_err rc = get_run(&t.f, &run->id, &g);
    if (is_found_gone(run, rc))
        return;
    if (rc)
        note("XX %d rc %d state %d", number(run), rc, run->state);
    agree("get", rc, HL_OK);
    agree("get: state", g.run.state, run->state);
    agree("get: attempt", g.run.attempt, run->attempt);
    agree("get: pending", g.run.deliveries_pending,
        run->delivery == MODEL_PENDING || run->delivery == MODEL_LEASED);
    agree("get: ok", g.run.deliveries_ok, run->delivery == MODEL_OK);
    agree("get: dead", g.run.deliveries_dead, run->delivery == MODEL_DEAD);
    if (hl_run_state_is_final(run->state))
        compare_outcome(run, &g.outcome);
    hl_body_fini(&g.outcome.body);
}

static void compare_all(void)
{
    for (size_t i = 0; i < t.m.n; i++)
        if (!t.m.runs[i].is_gone)
            compare_run(&t.m.runs[i]);
}

static void compare_gauges(void)
{
    const struct hl_store_gauges *g = hl_store_get_gauges(t.f.store);
    uint64_t leased = model_deliveries(&t.m, MODEL_LEASED);
    agree("queued runs", (long long)hl_counter_get(&g->queued_runs), (long long)model_queued(&t.m));
    agree("leased deliveries", (long long)hl_counter_get(&g->leased_deliveries), (long long)leased);
    agree("pending deliveries", (long long)hl_counter_get(&g->pending_deliveries),
        (long long)(model_deliveries(&t.m, MODEL_PENDING) + leased));
}

/* --- trials ----------------------------------------------------------------------------------- */

static void get_one(void)
{
    struct model_run *run = choose(is_any);
    note("get %d", run ? number(run) : -1);
    if (run)
        compare_run(run);
}

static void restart(void)
{
    if (t.f.kind == HL_STORE_MEMORY)
        return;
    note("restart");
    model_restart(&t.m, hl_clock_wall_ms());
    fixture_die(&t.f);
    fixture_open(&t.f);
    compare_all();
}

static const struct {
    void (*run)(void);
    unsigned weight;
} operations[] = {
    {accept_one, 22},
    {record_one, 8},
    {claim_some, 10},
    {finish_one, 16},
    {release_one, 8},
    {cancel_one, 5},
    {lease_some, 10},
    {go_on_with_delivery, 28},
    {redeliver_one, 3},
    {redeliver_all, 1},
    {get_one, 8},
    {restart, 1},
};

static void do_something(void)
{
    unsigned sum = 0, i = 0;
    for (size_t j = 0; j < HL_ARRAY_LEN(operations); j++)
        sum += operations[j].weight;
    for (unsigned at = pick(sum); at >= operations[i].weight; i++)
        at -= operations[i].weight;
    operations[i].run();
}

static void begin(enum hl_store_kind kind, uint64_t seed)
{
    memset(&t, 0, sizeof(t));
    t.chance = (seed + 1) * 0x9e3779b97f4a7c15ull;
    t.now_ms = hl_clock_wall_ms() + HOUR_MS;
    fixture_init(&t.f, kind);
    fixture_move_to_memory(&t.f);
    t.f.config->retention_ms = RETENTION_MS;
    t.f.config->run_attempts = 2;
    t.f.config->webhook_per_host = 3;
    t.m.max_queued = t.m.max_pending = UINT32_MAX;
    if (kind != HL_STORE_POSTGRES) { /* there they go by those gauges */
        t.f.config->max_queued_runs = t.m.max_queued = 12;
        t.f.config->max_pending_deliveries = t.m.max_pending = 25;
    }
    t.m.per_lane = 3;
    t.m.run_attempts = 2;
    t.m.webhook_attempts = t.f.config->webhook_attempts;
    t.m.key_ms = RETENTION_MS;
    note("seed %llu", (unsigned long long)seed);
    fixture_open(&t.f);
}

static void run_trial(enum hl_store_kind kind, uint64_t seed)
{
    begin(kind, seed);
    for (int i = 0; i < OPERATIONS; i++) {
        do_something();
        if (kind != HL_STORE_POSTGRES) /* there they are of all replicas, some seconds old */
            compare_gauges();
    }
    compare_all();
    for (int i = 0; i < CLAIMS; i++)
        hl_claimed_free(t.held[i].claim);
    fixture_fini(&t.f);
    t.is_over = true;
}

/* After a failed assertion too. */
static void report(void)
{
    for (int i = 0; i < t.n_log && !t.is_over; i++)
        fprintf(stderr, "%4d %s\n", i, t.log[i]);
}

static void run_trials(enum hl_store_kind kind, uint64_t trials)
{
    const char *given = getenv("HOOKLINE_TEST_SEED");
    uint32_t seed;
    hl_random_fill(&seed, sizeof(seed));
    if (given)
        seed = (uint32_t)strtoul(given, NULL, 10);
    hl_log_setup(HL_LOG_ERROR, HL_LOG_JSON);
    fprintf(stderr, "model: HOOKLINE_TEST_SEED=%u\n", seed);
    for (uint64_t trial = 1; trial < trials; trial++)
        run_trial(kind, trial);
    run_trial(kind, seed);
}

Test(sqlite, agrees_with_the_model, .fini = report, .timeout = 300)
{
    run_trials(HL_STORE_SQLITE, TRIALS);
}

Test(memory, agrees_with_the_model, .fini = report, .timeout = 300)
{
    run_trials(HL_STORE_MEMORY, TRIALS);
}

Test(postgres, agrees_with_the_model, .fini = report, .timeout = 300)
{
    run_trials(HL_STORE_POSTGRES, FAR_TRIALS);
}
