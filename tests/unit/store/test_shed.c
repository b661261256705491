/* test_shed.c - what the SQLite driver gives up, what a step that is rolled back leaves as it was,
 * and that what stays is not looked at all the time. On the driver itself, without its thread: each
 * step and each commit is the test's own. */
#include <criterion/criterion.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "fault_vfs.h"
#include "fixture.h"
#include "store/accept.h"
#include "store/body_file.h"
#include "store/claim.h"
#include "store/lease.h"
#include "store/sqlite/database.h"

enum { STEP = 16, LARGE = 500 * 1024 };

static struct fixture f;
static struct hl_backlog backlog;
static struct hl_driver *d;
static unsigned statements;  /* begun so far */
static struct hl_msg *asked; /* the driver borrows requests until the commit */

static int on_statement(unsigned what, void *arg, void *statement, void *text)
{
    (void)what;
    (void)arg;
    (void)statement;
    (void)text;
    statements++;
    return 0;
}

static void open_driver(void)
{
    hl_backlog_init(&backlog, 100000, 100000, 256, 4);
    enum hl_err err = hl_sqlite_open(&d, f.config, &backlog, f.why, sizeof(f.why));
    cr_assert(err == HL_OK, "%s", f.why);
    sqlite3_trace_v2(hl_database_of(d)->db, SQLITE_TRACE_STMT, on_statement, NULL);
}

static void init(void)
{
    fault_vfs_install();
    fixture_init(&f, HL_STORE_SQLITE);
    open_driver();
}

static void fini(void)
{
    fault_vfs_fail_writes(0);
    d->vt->close(d);
    hl_backlog_fini(&backlog);
    fixture_fini(&f);
}

TestSuite(shed, .init = init, .fini = fini, .timeout = 120);

/* --- a driver without a thread ---------------------------------------------------------------- */

static void begin(void)
{
    cr_assert_eq(d->vt->begin(d), HL_OK);
    hl_backlog_begin(&backlog);
}

static void commit(void)
{
    cr_assert_eq(d->vt->commit(d), HL_OK);
    hl_backlog_commit(&backlog);
    for (struct hl_msg *msg; (msg = asked);) {
        asked = msg->next;
        drop_message(msg);
    }
}

static void keep_until_commit(struct hl_store_msg *m)
{
    m->msg.next = asked;
    asked = &m->msg;
}

static void roll_back(void)
{
    d->vt->rollback(d);
    hl_backlog_rollback(&backlog);
}

/* The volume is full when it is to be committed. */
static void fail_to_commit(void)
{
    fault_vfs_fail_writes(SQLITE_FULL);
    cr_assert_eq(d->vt->commit(d), HL_ERR_FULL);
    hl_backlog_rollback(&backlog);
    fault_vfs_fail_writes(0);
}

static struct hl_body make_file(size_t size)
{
    struct hl_body body = {.where = HL_BODY_FILE, .size = size, .file = new_id(&f)};
    char *bytes = calloc(1, size);
    int fd;
    cr_assert_eq(hl_body_file_create(f.dir, &body.file, &fd), HL_OK);
    cr_assert_eq(write(fd, bytes, size), (ssize_t)size);
    cr_assert_eq(hl_body_file_commit(f.dir, &body.file, fd), HL_OK);
    close(fd);
    free(bytes);
    return body;
}

static bool has_file(const struct hl_id *file)
{
    int fd;
    if (hl_body_file_open(f.dir, file, &fd) != HL_OK)
        return false;
    close(fd);
    return true;
}

/* A finished run, inside a transaction; its result's file. */
static struct hl_id finish_one(const char *url, const char *text)
{
    struct hl_accept *a = make_accept(&f, HL_STORE_RECORD, &(struct run_spec){.url = url});
    cr_assert_eq(d->vt->record(d, a), HL_OK);
    struct hl_finish *finish = make_finish(&a->run_id, 1, text);
    if (!text)
        finish->outcome.body = make_file(LARGE);
    struct hl_id file = finish->outcome.body.file;
    cr_assert_eq(d->vt->finish(d, finish), HL_OK);
    keep_until_commit(&finish->m);
    keep_until_commit(&a->m);
    return file;
}

static void finish_many(unsigned n, const char *url, struct hl_id *files)
{
    begin();
    for (unsigned i = 0; i < n; i++) {
        struct hl_id file = finish_one(url, files ? NULL : "answer");
        if (files)
            files[i] = file;
    }
    commit();
}

static void limit_to(uint64_t bytes)
{
    hl_database_of(d)->max_bytes = bytes;
}

static struct hl_survey look(void)
{
    struct hl_survey now;
    d->vt->survey(d, &now);
    return now;
}

static uint64_t bytes_now(void)
{
    return look().bytes;
}

static unsigned count_files(const struct hl_id *files, unsigned n)
{
    unsigned there = 0;
    for (unsigned i = 0; i < n; i++)
        there += has_file(&files[i]);
    return there;
}

static enum hl_err shed_once(void)
{
    begin();
    enum hl_err rc = d->vt->shed(d, STEP);
    commit();
    d->vt->settle(d, false);
    return rc;
}

/* --- how much is given up --------------------------------------------------------------------- */

Test(shed, a_store_a_little_over_its_limit_gives_up_the_oldest_bodies_only)
{
    struct hl_id files[10];
    finish_many(10, NULL, files);
    limit_to(bytes_now() - LARGE - 1);
    cr_assert_eq(d->vt->room(d), HL_ERR_TOO_LARGE);
    cr_assert_eq(shed_once(), HL_OK);
    cr_assert_eq(d->vt->room(d), HL_OK);
    for (unsigned i = 0; i < 10; i++)
        cr_assert_eq(has_file(&files[i]), i >= 2, "the %u-th", i);
}

Test(shed, a_step_gives_up_sixteen_bodies_at_most)
{
    struct hl_id files[20];
    finish_many(20, NULL, files);
    limit_to(0);
    cr_assert_eq(shed_once(), HL_OK);
    cr_assert_eq(count_files(files, 20), 20 - STEP);
}

Test(shed, a_body_that_came_later_than_those_of_younger_runs_is_given_up_after_them)
{
    struct hl_id files[2], late, last;
    struct hl_accept *a = make_accept(&f, HL_STORE_RECORD, &(struct run_spec){0});
    begin();
    cr_assert_eq(d->vt->record(d, a), HL_OK);
    commit();
    finish_many(2, NULL, files);
    limit_to(0);
    cr_assert_eq(shed_once(), HL_OK);
    cr_assert_eq(count_files(files, 2), 0);
    struct hl_finish *finish = make_finish(&a->run_id, 1, NULL);
    finish->outcome.body = make_file(LARGE);
    late = finish->outcome.body.file;
    keep_until_commit(&finish->m);
    begin();
    cr_assert_eq(d->vt->finish(d, finish), HL_OK);
    commit();
    finish_many(1, NULL, &last);
    cr_assert_eq(shed_once(), HL_OK);
    cr_assert(!has_file(&last) && has_file(&late), "it is not the oldest that has ended");
    while (has_file(&late))
        cr_assert_eq(shed_once(), HL_OK, "nor passed over");
    hl_accept_free(a);
}

Test(shed, a_store_over_its_limit_gives_on_a_full_volume_too)
{
    struct hl_data_dir *dir = &hl_database_of(d)->dir;
    char *path = dir->path, nothing_free[] = "/proc";
    dir->path = nothing_free;
    limit_to(UINT64_MAX);
    enum hl_err within = d->vt->room(d);
    limit_to(0);
    enum hl_err over = d->vt->room(d);
    dir->path = path;
    cr_assert_eq(within, HL_ERR_FULL);
    cr_assert_eq(over, HL_ERR_TOO_LARGE);
}

static void shed_all(void)
{
    while (shed_once() == HL_OK)
        ;
}

static void end_delivery(enum hl_attempt_verdict verdict)
{
    struct hl_leased *l = NULL;
    struct hl_lane *lane = hl_lanes_next(&backlog.lanes, 1000);
    bool is_parked;
    begin();
    cr_assert_eq(d->vt->lease(d, lane->name, hl_clock_wall_ms(), &l), HL_OK);
    struct hl_attempt_outcome o = {.delivery_id = l->delivery_id,
        .round = l->round,
        .n = l->n,
        .verdict = verdict,
        .started_ms = 1,
        .ended_ms = 2};
    cr_assert_eq(d->vt->outcome(d, &o, hl_clock_wall_ms(), &is_parked), HL_OK);
    commit();
    hl_leased_free(l);
}

static long long runs_now(void)
{
    return query(&f, "SELECT count(*) FROM run");
}

Test(shed, runs_go_after_their_bodies_the_oldest_first_and_no_more_than_needed)
{
    enum { RUNS = 120 }; /* their records are less than a file, with the tables that there are */
    struct hl_id files[4];
    uint64_t empty = bytes_now();
    finish_many(RUNS, NULL, NULL);
    finish_many(4, NULL, files);
    uint64_t without_files = bytes_now() - 4 * LARGE;
    limit_to(without_files);
    while (d->vt->room(d) == HL_ERR_TOO_LARGE)
        cr_assert_eq(shed_once(), HL_OK);
    cr_assert_eq(count_files(files, 4), 0);
    cr_assert_eq(runs_now(), RUNS + 4, "bodies were enough");

    limit_to(empty + (without_files - empty) / 2);
    while (d->vt->room(d) == HL_ERR_TOO_LARGE)
        cr_assert_eq(shed_once(), HL_OK);
    long long left = runs_now();
    cr_assert(left > RUNS / 4 && left < RUNS, "%lld", left);
    cr_assert_eq(query(&f, "SELECT min(number) FROM run"), RUNS + 4 - left + 1);
    cr_assert_eq(look().shed_runs, (uint64_t)(RUNS + 4 - left));
    cr_assert_eq(look().shed_bodies, 4);
}

Test(shed, the_youngest_answers_stay_while_older_runs_can_go)
{
    enum { RUNS = 800 };
    uint64_t empty = bytes_now();
    char large[4096] = {0};
    memset(large, 'x', sizeof(large) - 1);
    for (int i = 0; i < RUNS; i++) {
        begin();
        finish_one(NULL, large);
        commit();
    }
    limit_to(empty + (bytes_now() - empty) / 16);
    while (d->vt->room(d) == HL_ERR_TOO_LARGE)
        cr_assert_eq(shed_once(), HL_OK);
    cr_assert_lt(runs_now(), RUNS);
    cr_assert_gt(look().shed_bodies, RUNS / 2);
    cr_assert_eq(
        query(&f, "SELECT body_where FROM result ORDER BY number DESC LIMIT 1"), HL_BODY_INLINE);
}

Test(shed, runs_with_dead_letters_go_last_and_those_with_pending_deliveries_never)
{
    begin();
    finish_one("https://e.org/", "answer");
    commit();
    end_delivery(HL_ATTEMPT_DEAD);
    finish_many(1, "https://e.org/", NULL);
    finish_many(1, NULL, NULL);
    limit_to(0);
    while (runs_now() == 3)
        cr_assert_eq(shed_once(), HL_OK);
    cr_assert_eq(query(&f, "SELECT count(*) FROM delivery"), 2, "the one without a webhook");
    cr_assert_eq(query(&f, "SELECT count(*) FROM delivery WHERE state = 2"), 1);
    shed_all();
    cr_assert_eq(runs_now(), 1);
    cr_assert_eq(query(&f, "SELECT body_where FROM result"), HL_BODY_INLINE);
    cr_assert_eq(query(&f, "SELECT count(*) FROM delivery WHERE state = 0"), 1);
}

Test(shed, queued_and_running_runs_are_never_given_up)
{
    struct hl_id nobody;
    struct hl_accept *a = make_accept(&f, HL_STORE_ACCEPT, &(struct run_spec){.body = "request"});
    struct hl_accept *r = make_accept(&f, HL_STORE_RECORD, &(struct run_spec){0});
    begin();
    cr_assert_eq(d->vt->accept(d, a, &nobody), HL_OK);
    cr_assert_eq(d->vt->record(d, r), HL_OK);
    commit();
    finish_many(3, NULL, NULL);
    limit_to(0);
    shed_all();
    cr_assert_eq(runs_now(), 2);
    cr_assert_eq(query(&f, "SELECT count(*) FROM ticket WHERE body_where = 1"), 1);
    hl_accept_free(a);
    hl_accept_free(r);
}

/* --- a step that is rolled back --------------------------------------------------------------- */

Test(shed, bodies_of_a_step_that_was_rolled_back_are_given_up_by_the_next)
{
    struct hl_id files[4];
    finish_many(4, NULL, files);
    limit_to(bytes_now() - 1);
    begin();
    cr_assert_eq(d->vt->shed(d, STEP), HL_OK);
    fail_to_commit();
    d->vt->settle(d, true);
    cr_assert_eq(count_files(files, 4), 4, "a file stays when the commit that would doom it fails");
    begin();
    cr_assert_eq(d->vt->shed(d, STEP), HL_OK);
    roll_back();
    d->vt->settle(d, true);
    cr_assert_eq(count_files(files, 4), 4);

    cr_assert_eq(shed_once(), HL_OK);
    cr_assert(!has_file(&files[0]), "the oldest is not passed over");
    cr_assert_eq(count_files(files, 4), 3);
}

Test(shed, those_passed_over_for_a_delivery_have_their_turn_after_a_rollback)
{
    struct hl_id pending;
    finish_many(1, "https://e.org/", &pending);
    limit_to(0);
    begin();
    cr_assert_eq(d->vt->shed(d, STEP), HL_OK, "they have another turn");
    cr_assert_gt(hl_database_of(d)->now.shed[HL_SHED_BODIES].again_ms, hl_clock_wall_ms());
    roll_back();
    cr_assert_eq(hl_database_of(d)->now.shed[HL_SHED_BODIES].again, 0);
    cr_assert_eq(hl_database_of(d)->now.shed[HL_SHED_BODIES].again_ms, 0);
    while (shed_once() == HL_OK)
        ;
    cr_assert_eq(shed_once(), HL_ERR_NOT_FOUND, "a pending delivery needs its body");
    cr_assert(has_file(&pending));
}

Test(shed, files_of_a_purge_or_a_finish_that_was_rolled_back_stay)
{
    struct hl_id result, request;
    int64_t due_ms = 0;
    finish_many(1, NULL, &result);
    struct hl_accept *a = make_accept(&f, HL_STORE_ACCEPT, &(struct run_spec){0});
    struct hl_id nobody;
    a->body = make_file(LARGE);
    request = a->body.file;
    uint64_t without = bytes_now();
    begin();
    cr_assert_eq(d->vt->accept(d, a, &nobody), HL_OK);
    fail_to_commit();
    cr_assert_eq(bytes_now(), without, "what was not accepted is its asker's to remove");
    begin();
    cr_assert_eq(d->vt->accept(d, a, &nobody), HL_OK);
    commit();
    struct hl_claimed *c = NULL;
    begin();
    cr_assert_eq(d->vt->claim(d, HL_PRIORITY_HIGH, hl_clock_wall_ms(), &c), HL_OK);
    commit();
    uint64_t bytes = bytes_now();

    struct hl_finish *finish = make_finish(&a->run_id, c->epoch, "answer");
    begin();
    cr_assert_eq(d->vt->finish(d, finish), HL_OK);
    fail_to_commit();
    int64_t later_ms = hl_clock_wall_ms() + 2 * FIXTURE_RETENTION_MS;
    begin();
    cr_assert_eq(d->vt->purge(d, later_ms, 64, &due_ms), HL_OK);
    fail_to_commit();
    d->vt->settle(d, true);
    cr_assert(has_file(&request));
    cr_assert(has_file(&result));
    cr_assert_eq(bytes_now(), bytes, "and are counted");

    begin();
    cr_assert_eq(d->vt->finish(d, finish), HL_OK);
    commit();
    begin();
    cr_assert_eq(d->vt->purge(d, later_ms, 64, &due_ms), HL_OK);
    commit();
    d->vt->settle(d, false);
    cr_assert(!has_file(&request));
    cr_assert(!has_file(&result));
    hl_finish_free(finish);
    hl_claimed_free(c);
    hl_accept_free(a);
}

static void purge_three(int64_t now_ms)
{
    int64_t due_ms = INT64_MAX;
    begin();
    cr_assert_eq(d->vt->purge(d, now_ms, 3, &due_ms), HL_OK);
}

Test(shed, apps_of_a_purge_that_was_rolled_back_go_with_the_next)
{
    int64_t later_ms = hl_clock_wall_ms() + 2 * FIXTURE_RETENTION_MS;
    finish_many(3, NULL, NULL);
    purge_three(later_ms);
    commit();
    cr_assert_eq(query(&f, "SELECT count(*) FROM run"), 0);
    purge_three(later_ms);
    fail_to_commit();
    cr_assert_eq(query(&f, "SELECT count(*) FROM app"), 1);
    purge_three(later_ms);
    commit();
    cr_assert_eq(query(&f, "SELECT count(*) FROM app"), 0);
}

/* --- how much is looked at -------------------------------------------------------------------- */

Test(shed, those_passed_over_go_soon_after_their_delivery_has_ended)
{
    struct hl_id file;
    finish_many(1, "https://e.org/", &file);
    limit_to(0);
    shed_all();
    cr_assert(has_file(&file));
    end_delivery(HL_ATTEMPT_OK);
    int64_t asked_ms = hl_clock_wall_ms();
    while (has_file(&file) && hl_clock_wall_ms() < asked_ms + 30000) {
        shed_once();
        usleep(1000);
    }
    cr_assert(!has_file(&file), "its turn is not in a minute");
}

static unsigned statements_of_a_step(void)
{
    unsigned before = statements;
    shed_once();
    return statements - before;
}

Test(shed, a_store_with_nothing_left_to_give_is_not_looked_through_again)
{
    enum { RUNS = 1000, LOOKS = 256 };
    finish_many(RUNS, "https://e.org/", NULL);
    limit_to(0);
    unsigned steps = 0, most = 0, n;
    while ((n = statements_of_a_step()) > 8) {
        most = n > most ? n : most;
        cr_assert_leq(
            ++steps, 2 * HL_SHED_WALKS * (RUNS / LOOKS + 1), "it is looked through again");
    }
    cr_assert_leq(most, 5 * LOOKS, "a step looks at no more");
    for (int i = 0; i < 3; i++)
        cr_assert_leq(statements_of_a_step(), 8, "nothing is looked at for a while");
}

Test(shed, a_purge_step_removes_so_many_runs_and_says_that_there_are_more)
{
    int64_t due_ms = 0, later_ms = hl_clock_wall_ms() + 2 * FIXTURE_RETENTION_MS;
    finish_many(150, NULL, NULL);
    for (int left = 150; left > 0;) {
        begin();
        cr_assert_eq(d->vt->purge(d, later_ms, 64, &due_ms), HL_OK);
        commit();
        left = left > 64 ? left - 64 : 0;
        cr_assert_eq(query(&f, "SELECT count(*) FROM run"), left);
        cr_assert(left == 0 || due_ms <= later_ms);
    }
}

/* --- without a look at all that stays ---------------------------------------------------------- */

static void execute(const char *sql)
{
    sqlite3 *db = hl_database_of(d)->db;
    cr_assert_eq(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK, "%s", sqlite3_errmsg(db));
}

static int64_t purge_at(int64_t now_ms)
{
    int64_t due_ms = INT64_MAX;
    begin();
    cr_assert_eq(d->vt->purge(d, now_ms, 64, &due_ms), HL_OK);
    commit();
    return due_ms;
}

Test(shed, expired_keys_go_without_a_look_at_those_that_stay)
{
    enum { KEYS = 5000 };
    sqlite3_stmt *purge = hl_database_of(d)->st[HL_SQL_IDEM_PURGE];
    execute(
        "WITH RECURSIVE k(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM k WHERE i < 5000)"
        " INSERT INTO idem SELECT 1, x'', CAST(i AS BLOB), zeroblob(16), zeroblob(32), i FROM k");
    cr_assert_eq(purge_at(3), 4);
    cr_assert_eq(query(&f, "SELECT count(*) FROM idem"), KEYS - 3);
    cr_assert_lt(sqlite3_stmt_status(purge, SQLITE_STMTSTATUS_VM_STEP, 0), KEYS);
    cr_assert_leq(purge_at(1000), 1000, "there are more");
    cr_assert_eq(query(&f, "SELECT min(expires_ms) FROM idem"), 4 + 64);
}

/* They came a millisecond apart. */
static void finish_runs_between(int64_t from_ms, int64_t until_ms, int64_t lasting_ms)
{
    begin();
    for (int64_t ms = from_ms; ms < until_ms; ms++) {
        struct run_spec spec = {.id = hl_id_next(&f.ids, ms)};
        struct hl_accept *a = make_accept(&f, HL_STORE_RECORD, &spec);
        struct hl_finish *finish = make_finish(&a->run_id, 1, NULL);
        finish->outcome.finished_ms = ms + lasting_ms;
        keep_until_commit(&finish->m);
        keep_until_commit(&a->m);
        cr_assert_eq(d->vt->record(d, a), HL_OK);
        cr_assert_eq(d->vt->finish(d, finish), HL_OK);
    }
    commit();
}

Test(shed, runs_that_began_early_and_ended_late_are_not_looked_at_all_the_time)
{
    enum { RUNS = 1000, SECOND = 1000, RETENTION = 64 * SECOND, LASTING = 10 * SECOND };
    int64_t from_ms = hl_clock_wall_ms(), due_ms = from_ms + RETENTION + LASTING;
    hl_database_of(d)->retention_ms = RETENTION;
    finish_runs_between(from_ms, from_ms + RUNS, LASTING);
    unsigned before = statements;
    int64_t last_due_ms = due_ms + RUNS + SECOND; /* and a pause */
    for (int64_t ms = due_ms; ms < last_due_ms; ms++)
        purge_at(ms);
    cr_assert_eq(query(&f, "SELECT count(*) FROM run"), 0, "all of them have gone");
    cr_assert_lt(statements - before, 10 * RUNS + 11 * (RUNS + SECOND));
}

Test(shed, runs_of_a_clock_that_was_ahead_do_not_keep_those_behind_them)
{
    enum { DAY = 24 * 3600 * 1000 };
    int64_t now_ms = hl_clock_wall_ms();
    finish_runs_between(now_ms + DAY, now_ms + DAY + 3, 5);
    hl_id_source_init(&f.ids);
    finish_runs_between(now_ms, now_ms + 3, 5);
    purge_at(now_ms + 2 * FIXTURE_RETENTION_MS);
    cr_assert_eq(query(&f, "SELECT count(*) FROM run"), 3);
}

Test(shed, leases_of_the_last_process_are_found_without_a_look_at_all_that_waits_for_each)
{
    execute(
        "INSERT INTO app VALUES (1, 'p', 'a');"
        "WITH RECURSIVE k(i) AS (VALUES (1001) UNION ALL SELECT i + 1 FROM k WHERE i < 3000)"
        " INSERT INTO run (run_id, app_id, has_begun, is_async, has_webhook, created_ms, attempt,"
        " epoch, method, path) SELECT CAST('0123456789ab' || i AS BLOB), 1, 1, 1, 1, 0, 1, 1, "
        "'POST', '/' FROM k;"
        "INSERT INTO delivery SELECT run_id, run_id, 1, 5, 0, 1, 1, 3,"
        " run_id > CAST('0123456789ab2900' AS BLOB), 0, NULL, NULL, NULL, NULL, NULL FROM run");
    d->vt->close(d);
    hl_backlog_fini(&backlog);
    open_driver();
    cr_assert_eq(query(&f, "SELECT count(*) FROM delivery WHERE is_leased = 1"), 0);
    cr_assert_eq(backlog.lanes.now.pending, 2000);
    sqlite3_stmt *find = hl_database_of(d)->st[HL_SQL_DELIVERY_ORPHANED];
    cr_assert_lt(sqlite3_stmt_status(find, SQLITE_STMTSTATUS_VM_STEP, 0), 100000);
}
