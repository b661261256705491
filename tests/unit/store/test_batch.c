/* test_batch.c - random operations many to a transaction, several of them on the same run, on the
 * SQLite driver without its thread, on a disk and in memory: the answers are those of the reference model
 * (model.h) to the same operations one after the other, with no space or no memory now and then too; and
 * what the driver keeps in memory between transactions is what the rows say.
 *
 * HOOKLINE_TEST_SEED as in test_model.c. */
#include <criterion/criterion.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "config/config.h"
#include "fault_vfs.h"
#include "fixture.h"
#include "model.h"
#include "store/accept.h"
#include "store/batch.h"
#include "store/claim.h"
#include "store/message.h"
#include "store/sqlite/database.h"
#include "store/sqlite/run.h"
#include "store/sqlite/running_run.h"

enum { TRIALS = 40, BATCHES = 40, OPS = 40, NEAR = 24, FILE_SIZE = 300 * 1024 };

static const char *const keys[MODEL_KEYS] = {"a", "b", "c", "d", "e", "f"};

struct operation {
    struct hl_store_msg *m;
    struct hl_id run_id;  /* as it was asked */
    struct model_run run; /* ACCEPT, RECORD */
    bool has_file;
    int key;
    uint8_t fingerprint;
    bool is_twice; /* ACCEPT: another run has its id */
};

static struct {
    struct fixture f;
    struct model m;
    struct hl_backlog backlog;
    struct hl_driver *d;
    struct hl_batch batch;
    uint64_t seed, chance;
    int64_t now_ms;
    int n_bodies;
    struct operation ops[HL_BATCH_MAX_OPS];
    size_t n_ops;
    struct hl_id near[NEAR]; /* runs that came last, answered or not */
    unsigned n_near;
    uint32_t credit;
    bool has_request_file[MODEL_MAX_RUNS], has_response_file[MODEL_MAX_RUNS];
    char how[64];
} t;

static unsigned pick(unsigned n)
{
    t.chance ^= t.chance >> 12;
    t.chance ^= t.chance << 25;
    t.chance ^= t.chance >> 27;
    return (unsigned)((t.chance * 0x2545f4914f6cdd1dull) >> 33) % n;
}

static void agree(const char *what, long long store, long long model)
{
    if (store != model)
        cr_assert_fail("seed %llu, %s: %s: the store says %lld, the model %lld",
            (unsigned long long)t.seed, t.how, what, store, model);
}

static const char *body_text(int body)
{
    static char text[32];
    snprintf(text, sizeof(text), "body %d", body);
    return text;
}

static bool is_in_memory(void)
{
    return t.f.kind == HL_STORE_MEMORY;
}

/* In memory one in three is longer than a page: it needs space of its own. */
static const char *body_bytes(int body)
{
    static char bytes[40 * 1024];
    const char *text = body_text(body);
    size_t n = strlen(text);
    if (!is_in_memory() || body % 3)
        return text;
    size_t size = 9000 * (size_t)(1 + body % 4);
    memcpy(bytes, text, n);
    memset(bytes + n, 'x', size - n);
    bytes[size] = '\0';
    return bytes;
}

static struct hl_body some_body(int number, bool *is_file)
{
    *is_file = !is_in_memory() && pick(4) == 0;
    if (!*is_file)
        return make_inline_body(body_bytes(number));
    return (struct hl_body){.where = HL_BODY_FILE, .size = FILE_SIZE, .file = new_id(&t.f)};
}

static long long ask_database(const char *sql)
{
    sqlite3 *db = hl_database_of(t.d)->db;
    sqlite3_stmt *st;
    cr_assert_eq(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK, "%s", sqlite3_errmsg(db));
    cr_assert_eq(sqlite3_step(st), SQLITE_ROW);
    long long n = sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
    return n;
}

/* --- what fails ------------------------------------------------------------------------------- */

enum fault { NO_FAULT, NO_SPACE, NO_MEMORY };

static sqlite3_mem_methods memory;
static int allocations_left = -1; /* -1: all that are asked for */

static bool is_out_of_memory(void)
{
    allocations_left -= allocations_left > 0;
    return allocations_left == 0;
}

static void *on_malloc(int n)
{
    return is_out_of_memory() ? NULL : memory.xMalloc(n);
}

static void *on_realloc(void *p, int n)
{
    return is_out_of_memory() ? NULL : memory.xRealloc(p, n);
}

/* Before SQLite is used. */
static void count_allocations(void)
{
    cr_assert_eq(sqlite3_config(SQLITE_CONFIG_GETMALLOC, &memory), SQLITE_OK);
    sqlite3_mem_methods counted = memory;
    counted.xMalloc = on_malloc;
    counted.xRealloc = on_realloc;
    cr_assert_eq(sqlite3_config(SQLITE_CONFIG_MALLOC, &counted), SQLITE_OK);
}

/* More pages than there are. */
static void leave_pages(unsigned n)
{
    char sql[100];
    sqlite3 *db = hl_database_of(t.d)->db;
    snprintf(sql, sizeof(sql), "PRAGMA max_page_count = %lld",
        n + ask_database("SELECT page_count - freelist_count FROM pragma_page_count,"
                         " pragma_freelist_count"));
    cr_assert_eq(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
}

static void begin_fault(enum fault fault)
{
    if (fault == NO_SPACE && is_in_memory())
        leave_pages(pick(12));
    else if (fault == NO_SPACE)
        fault_vfs_fail_after(1 + (int)pick(24), SQLITE_FULL);
    else if (fault == NO_MEMORY)
        allocations_left = 1 + (int)pick(400);
}

static void end_fault(void)
{
    fault_vfs_fail_after(0, 0);
    allocations_left = -1;
    if (is_in_memory())
        leave_pages(100000);
}

/* --- operations ------------------------------------------------------------------------------ */

static void add(struct hl_store_msg *m, struct operation op)
{
    m->reply_to = &t.f.worker.box;
    op.m = m;
    t.ops[t.n_ops++] = op;
    hl_batch_add(&t.batch, m, 0);
}

static const struct hl_id *some_run(void)
{
    return &t.near[pick(t.n_near < NEAR ? t.n_near : NEAR)];
}

/* Of what the run has, if it is known, or of one that begins; now and then another. */
static uint32_t some_epoch(const struct hl_id *run_id)
{
    const struct model_run *run = model_find(&t.m, run_id);
    return (run ? run->epoch : 1) + (pick(8) == 0);
}

static void begin_run(enum hl_store_op type)
{
    struct operation op = {.key = -1};
    bool has_key = type == HL_STORE_ACCEPT && pick(2), is_twice = !has_key && pick(30) == 0;
    op.run = (struct model_run){.request = t.n_bodies++, .has_webhook = pick(2)};
    op.is_twice = is_twice && t.m.n > 0;
    op.run.id = op.is_twice ? t.m.runs[pick((unsigned)t.m.n)].id : new_id(&t.f);
    if (has_key) {
        op.key = (int)pick(MODEL_KEYS);
        op.fingerprint = pick(4) == 0;
    }
    struct hl_accept *a = make_accept(&t.f, type,
        &(struct run_spec){.id = op.run.id,
            .key = has_key ? keys[op.key] : NULL,
            .fingerprint = op.fingerprint,
            .head = body_text(op.run.request),
            .url = op.run.has_webhook ? "https://one.example/a" : NULL});
    a->created_ms = ++t.now_ms;
    if (type == HL_STORE_ACCEPT)
        a->body = some_body(op.run.request, &op.has_file);
    op.run_id = op.run.id;
    t.near[t.n_near++ % NEAR] = op.run.id;
    add(&a->m, op);
}

static void finish_run_of_batch(void)
{
    struct operation op = {.run_id = *some_run()};
    struct hl_finish *finish = make_finish(&op.run_id, some_epoch(&op.run_id), NULL);
    finish->outcome.body = some_body(0, &op.has_file);
    add(&finish->m, op);
}

/* As if its worker gave it back: with the request that it was given. */
static void release_run(void)
{
    struct operation op = {.run_id = *some_run()};
    const struct model_run *run = model_find(&t.m, &op.run_id);
    if (!run || !run->is_async)
        return;
    struct hl_claimed *c, claimed = {.run_id = op.run_id,
                              .epoch = some_epoch(&op.run_id),
                              .head = hl_str_from(body_text(run->request))};
    cr_assert_eq(hl_claimed_new(&claimed, HL_STR(""), &c), HL_OK);
    c->body = make_inline_body(body_bytes(run->request));
    if (t.has_request_file[run - t.m.runs]) {
        hl_body_fini(&c->body);
        struct hl_stored_run stored = {0};
        struct hl_id *file = &c->body.file;
        c->body = (struct hl_body){.where = HL_BODY_FILE, .size = FILE_SIZE};
        cr_assert_eq(hl_stored_run_find(hl_database_of(t.d), &op.run_id, &stored), HL_OK);
        *file = stored.file;
    }
    add(&hl_release_new(c)->m, op);
}

static void cancel_run_of_batch(void)
{
    struct operation op = {.run_id = *some_run()};
    struct hl_run_ref *ref = calloc(1, sizeof(*ref));
    ref->m.msg.type = HL_STORE_CANCEL;
    ref->run_id = op.run_id;
    add(&ref->m, op);
}

static void fill_batch(void)
{
    unsigned n = 1 + pick(OPS);
    while (t.n_ops < n) {
        unsigned what = pick(20);
        if (what < 6)
            begin_run(HL_STORE_ACCEPT);
        else if (what < 9)
            begin_run(HL_STORE_RECORD);
        else if (t.n_near == 0)
            continue;
        else if (what < 15)
            finish_run_of_batch();
        else if (what < 17)
            release_run();
        else
            cancel_run_of_batch();
    }
}

/* --- what the model says ---------------------------------------------------------------------- */

static enum hl_err apply_begin(const struct operation *op)
{
    const struct hl_accept *a = (const struct hl_accept *)op->m;
    struct hl_id existing;
    size_t n = t.m.n;
    if (op->is_twice)
        return model_queued(&t.m) >= t.m.max_queued && a->m.msg.type == HL_STORE_ACCEPT
                   ? HL_ERR_BUSY
                   : HL_ERR_INVALID;
    enum hl_err rc = HL_OK;
    if (a->m.msg.type == HL_STORE_RECORD)
        model_record(&t.m, &op->run);
    else
        rc = model_accept(&t.m, &op->run, op->key, op->fingerprint, a->created_ms, &existing);
    if (t.m.n > n)
        t.has_request_file[n] = op->has_file;
    return rc;
}

static enum hl_err apply(const struct operation *op)
{
    const struct hl_finish *finish = (const struct hl_finish *)op->m;
    struct model_run *run = model_find(&t.m, &op->run_id);
    enum hl_err rc;
    switch (op->m->msg.type) {
    case HL_STORE_FINISH:
        rc = run ? model_finish(run, finish->epoch, 0, 0) : HL_ERR_NOT_FOUND;
        if (!rc)
            t.has_response_file[run - t.m.runs] = op->has_file;
        return rc;
    case HL_STORE_RELEASE:
        return model_release(run, ((struct hl_release *)op->m)->claimed->epoch, 0);
    case HL_STORE_CANCEL:
        return run ? model_cancel(run, 0) : HL_ERR_NOT_FOUND;
    default:
        return apply_begin(op);
    }
}

static void compare_claims(void)
{
    for (struct hl_claimed *c; (c = party_look(&t.f.worker, HL_STORE_CLAIMED));) {
        struct model_run *run = model_claim(&t.m);
        agree("claim: the oldest", run && hl_id_eq(&c->run_id, &run->id), true);
        agree("claim: epoch", c->epoch, run->epoch);
        agree("claim: attempt", c->attempt, run->attempt);
        agree("claim: head", hl_str_eq(c->head, hl_str_from(body_text(run->request))), true);
        if (c->body.where == HL_BODY_INLINE)
            agree("claim: body",
                hl_str_eq((struct hl_str){c->body.bytes, c->body.size},
                    hl_str_from(body_bytes(run->request))),
                true);
        t.credit--;
        hl_claimed_free(c);
    }
}

/* --- what is kept ----------------------------------------------------------------------------- */

static void compare_running(const struct hl_database *db)
{
    for (size_t i = 0; i < db->running.cap; i++) {
        const struct hl_stored_run *known = db->running.entries[i].value;
        if (!known)
            continue;
        const struct model_run *run = model_find(&t.m, &db->running.entries[i].id);
        agree("remembered: runs", run && run->state == HL_RUN_RUNNING, true);
        agree("remembered: epoch", known->epoch, run->epoch);
        agree("remembered: webhook", known->has_webhook, run->has_webhook);
        agree("remembered: file", known->has_file, t.has_request_file[run - t.m.runs]);
    }
}

static void compare_memory(void)
{
    const struct hl_database *db = hl_database_of(t.d);
    uint64_t bytes = 0;
    for (size_t i = 0; i < t.m.n; i++) {
        bool is_final = hl_run_state_is_final(t.m.runs[i].state);
        bytes += is_final && t.has_response_file[i];
        bytes += t.m.runs[i].state != HL_RUN_SUCCESS && t.has_request_file[i];
    }
    agree("queued", (long long)t.backlog.now.queued_runs, (long long)model_queued(&t.m));
    agree("pending", (long long)t.backlog.lanes.now.pending,
        (long long)model_deliveries(&t.m, MODEL_PENDING));
    agree("bytes in files", (long long)db->now.file_bytes, (long long)(bytes * FILE_SIZE));
    agree("rows that wait", (long long)(db->n_new_runs + db->n_run_ends), 0);
    agree("credit", (long long)t.batch.workers.total, t.credit);
    compare_running(db);
}

static void compare_rows(void)
{
    struct hl_database *db = hl_database_of(t.d);
    long long runs = ask_database("SELECT count(*) FROM run");
    agree("rows of runs", runs, (long long)t.m.n);
    agree("rows of results and tickets",
        ask_database("SELECT (SELECT count(*) FROM result) + (SELECT count(*) FROM ticket)"), runs);
    agree("faults",
        ask_database("SELECT count(*) FROM pragma_integrity_check"
                     " WHERE integrity_check <> 'ok'"),
        0);
    for (size_t i = 0; i < t.m.n; i++) {
        struct hl_stored_run stored;
        agree("find", hl_stored_run_find(db, &t.m.runs[i].id, &stored), HL_OK);
        agree("state", stored.state, t.m.runs[i].state);
        agree("epoch", stored.epoch, t.m.runs[i].epoch);
        agree("wish", stored.is_cancel_wished, t.m.runs[i].is_cancel_wished);
    }
}

/* --- a batch ---------------------------------------------------------------------------------- */

static void give_some_credit(void)
{
    struct hl_credit *credit = calloc(1, sizeof(*credit));
    credit->m.msg.type = HL_STORE_CREDIT;
    credit->m.reply_to = &t.f.worker.box;
    credit->n = pick(12);
    t.credit += credit->n;
    hl_credit_add(&t.batch.workers, credit);
}

/* What is held has its turn again, in order and before anything new. */
static void keep_held(void)
{
    struct hl_batch_op *from = t.batch.ops;
    size_t n = 0, n_before = t.batch.n_ops;
    t.batch.n_ops = t.batch.weight = 0;
    for (size_t i = 0; i < n_before; i++) {
        if (from[i].is_held)
            t.ops[n++] = t.ops[i];
        else
            drop_message(&t.ops[i].m->msg);
    }
    t.n_ops = n;
    for (size_t i = 0; i < n; i++)
        hl_batch_add(&t.batch, t.ops[i].m, 0);
}

static void run_batch(enum fault fault)
{
    bool has_committed;
    begin_fault(fault);
    enum hl_err err = hl_batch_run(&t.batch, true, hl_clock_wall_ms(), &has_committed);
    end_fault();
    hl_batch_note(&t.batch);
    for (size_t i = 0; i < t.n_ops; i++) {
        const struct hl_batch_op *op = &t.batch.ops[i];
        snprintf(t.how, sizeof(t.how), "operation %zu of %zu, type %u, batch %s", i, t.n_ops,
            op->m->msg.type, hl_err_text(err));
        if (fault == NO_MEMORY && op->rc == HL_ERR_NOMEM)
            continue;
        if (!op->is_held && op->rc != HL_ERR_FULL)
            agree("answer", op->rc, apply(&t.ops[i]));
        else
            agree("nothing is refused without need", err, HL_ERR_FULL);
    }
    hl_batch_send_pushes(&t.batch);
    compare_claims();
    keep_held();
    t.d->vt->settle(t.d, pick(4) == 0);
    compare_memory();
}

static void open_driver(void)
{
    t.f.config->run_attempts = 1 + pick(2);
    t.m.run_attempts = t.f.config->run_attempts;
    hl_backlog_init(&t.backlog, t.m.max_queued, 100000, 256, 4);
    enum hl_err err = hl_sqlite_open(&t.d, t.f.config, &t.backlog, t.f.why, sizeof(t.f.why));
    cr_assert(err == HL_OK, "%s", t.f.why);
    hl_batch_init(&t.batch, t.d, &t.backlog);
}

static void close_driver(void)
{
    hl_batch_fini(&t.batch);
    t.d->vt->close(t.d);
    hl_backlog_fini(&t.backlog);
}

static void run_trial(enum hl_store_kind kind, uint64_t seed)
{
    memset(&t, 0, sizeof(t));
    t.seed = seed;
    t.chance = (seed + 1) * 0x9e3779b97f4a7c15ull;
    t.now_ms = hl_clock_wall_ms();
    fixture_init(&t.f, kind);
    if (is_in_memory()) /* pages that are free go back early */
        t.f.config->store_max_bytes = (struct hl_store_limit){.bytes = 1 << 20};
    else
        fixture_move_to_memory(&t.f);
    t.m.max_queued = 20;
    t.m.max_pending = 100000;
    t.m.key_ms = t.f.config->retention_ms;
    open_driver();
    for (int i = 0; i < BATCHES; i++) {
        give_some_credit();
        fill_batch();
        run_batch(pick(3) == 0 ? 1 + pick(2) : NO_FAULT);
        while (t.n_ops > 0)
            run_batch(NO_FAULT);
    }
    compare_rows();
    close_driver();
    fixture_fini(&t.f);
}

static void run_trials(enum hl_store_kind kind)
{
    const char *given = getenv("HOOKLINE_TEST_SEED");
    uint32_t seed;
    hl_random_fill(&seed, sizeof(seed));
    if (given)
        seed = (uint32_t)strtoul(given, NULL, 10);
    hl_log_setup(HL_LOG_ERROR + 1, HL_LOG_JSON); /* ids that come twice are meant */
    fprintf(stderr, "batch: HOOKLINE_TEST_SEED=%u\n", seed);
    count_allocations();
    fault_vfs_install();
    for (uint64_t trial = 1; trial < TRIALS; trial++)
        run_trial(kind, trial);
    run_trial(kind, seed);
}

Test(batch, operations_of_one_transaction_are_answered_as_if_one_after_the_other, .timeout = 300)
{
    run_trials(HL_STORE_SQLITE);
}

Test(batch, in_memory_too_operations_are_answered_as_if_one_after_the_other, .timeout = 300)
{
    run_trials(HL_STORE_MEMORY);
}

/* Also where it had but to read. */
Test(batch, statement_that_ended_the_transaction_for_want_of_memory_has_broken_it)
{
    enum { MOST = 100 };
    unsigned ended = 0;
    memset(&t, 0, sizeof(t));
    hl_log_setup(HL_LOG_ERROR + 1, HL_LOG_JSON);
    count_allocations();
    cr_assert_eq(sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0), SQLITE_OK); /* each is asked for */
    fixture_init(&t.f, HL_STORE_MEMORY);
    open_driver();
    for (int left = 1; left < MOST; left++) {
        struct hl_stored_run run;
        struct hl_id nobody = new_id(&t.f);
        cr_assert_eq(t.d->vt->begin(t.d), HL_OK);
        allocations_left = left;
        enum hl_err err = hl_stored_run_find(hl_database_of(t.d), &nobody, &run);
        allocations_left = -1;
        bool has_ended = sqlite3_get_autocommit(hl_database_of(t.d)->db);
        cr_assert(!has_ended || (err == HL_ERR_NOMEM && t.d->is_broken), "allocation %d", left);
        ended += has_ended;
        t.d->vt->rollback(t.d);
    }
    cr_assert_gt(ended, 0);
    close_driver();
    fixture_fini(&t.f);
}
