/* test_memory.c - what only a store in memory promises. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/metric.h"
#include "config/config.h"
#include "fixture.h"
#include "store/accept.h"
#include "store/body_file.h"
#include "store/claim.h"
#include "store/gauges.h"
#include "store/lease.h"
#include "store/question.h"
#include "store/sqlite/database.h"
#include "store/store.h"

#define MIB (1u << 20)

Test(memory, i17_nothing_is_written_to_any_file)
{
    struct fixture f;
    fixture_init(&f, HL_STORE_MEMORY);
    fixture_open(&f);
    cr_assert_null(hl_store_data_dir(f.store));
    struct hl_leased *l = lease_one(&f, "https://e.org/hook");
    cr_assert_eq(say_outcome(&f, l, 1, HL_ATTEMPT_DEAD), HL_OK);
    hl_leased_free(l);
    fixture_close(&f);
    cr_assert_eq(rmdir(f.dir), 0, "the data directory is empty");
    fixture_fini(&f);
}

Test(memory, nothing_is_left_for_the_next_process)
{
    struct fixture f;
    struct hl_id id;
    struct hl_get_run g;
    fixture_init(&f, HL_STORE_MEMORY);
    fixture_open(&f);
    cr_assert_eq(accept_run(&f, (struct run_spec){.key = "k"}, &id), HL_OK);
    fixture_reopen(&f);
    cr_assert_eq(get_run(&f, &id, &g), HL_ERR_NOT_FOUND);
    cr_assert_eq(accept_run(&f, (struct run_spec){.key = "k"}, NULL), HL_OK);
    fixture_fini(&f);
}

/* --- how much it gives up --------------------------------------------------------------------- */

static unsigned statements; /* begun so far */

static int on_statement(unsigned what, void *arg, void *statement, void *text)
{
    (void)what;
    (void)arg;
    (void)statement;
    (void)text;
    statements++;
    return 0;
}

static enum hl_err shed_once(struct hl_driver *d)
{
    statements = 0;
    cr_assert_eq(d->vt->begin(d), HL_OK);
    hl_backlog_begin(d->backlog);
    enum hl_err rc = d->vt->shed(d, 16);
    cr_assert_eq(d->vt->commit(d), HL_OK);
    hl_backlog_commit(d->backlog);
    return rc;
}

static int64_t count(struct hl_driver *d, const char *sql)
{
    sqlite3_stmt *st;
    cr_assert_eq(sqlite3_prepare_v2(hl_database_of(d)->db, sql, -1, &st, NULL), SQLITE_OK);
    cr_assert_eq(sqlite3_step(st), SQLITE_ROW);
    int64_t n = sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
    return n;
}

Test(memory, shedding_looks_at_so_many_in_a_step_and_at_none_twice)
{
    enum { RUNS = 1000, LOOKS = 256 };
    struct fixture f;
    struct hl_backlog backlog;
    struct hl_driver *d;
    fixture_init(&f, HL_STORE_MEMORY);
    f.config->store_max_bytes = (struct hl_store_limit){.bytes = 1};
    hl_backlog_init(&backlog, RUNS, RUNS, 256, 4);
    cr_assert_eq(hl_sqlite_open(&d, f.config, &backlog, f.why, sizeof(f.why)), HL_OK);
    sqlite3_trace_v2(hl_database_of(d)->db, SQLITE_TRACE_STMT, on_statement, NULL);
    for (int i = 0; i < RUNS; i++) {
        struct run_spec spec = {.url = i < RUNS - 1 ? "https://e.org/" : NULL};
        struct hl_accept *a = make_accept(&f, HL_STORE_RECORD, &spec);
        struct hl_finish *finish = make_finish(&a->run_id, 1, "answer");
        cr_assert_eq(d->vt->begin(d), HL_OK);
        hl_backlog_begin(&backlog);
        cr_assert_eq(d->vt->record(d, a), HL_OK);
        cr_assert_eq(d->vt->finish(d, finish), HL_OK);
        cr_assert_eq(d->vt->commit(d), HL_OK);
        hl_backlog_commit(&backlog);
        hl_accept_free(a);
        hl_finish_free(finish);
    }
    cr_assert_eq(d->vt->room(d), HL_ERR_TOO_LARGE);
    for (unsigned steps = 0; shed_once(d) == HL_OK; steps++) {
        cr_assert_leq(statements, 5 * LOOKS);
        cr_assert_leq(steps, 2 * HL_SHED_WALKS * (RUNS / LOOKS + 1));
    }
    cr_assert_eq(count(d, "SELECT count(*) FROM result WHERE body_where = 1"), RUNS - 1,
        "the one without a delivery gave its body");
    cr_assert_eq(shed_once(d), HL_ERR_NOT_FOUND);
    cr_assert_leq(statements, 10, "nothing is looked at");
    d->vt->close(d);
    hl_backlog_fini(&backlog);
    fixture_fini(&f);
}

/* --- long bodies ------------------------------------------------------------------------------ */

static char *make_text(size_t n)
{
    char *text = malloc(n + 1);
    for (size_t i = 0; i < n; i++)
        text[i] = (char)('a' + i % 23);
    text[n] = '\0';
    return text;
}

static void open_with(struct fixture *f, uint64_t max_bytes)
{
    fixture_init(f, HL_STORE_MEMORY);
    f->config->store_max_bytes = (struct hl_store_limit){.bytes = max_bytes};
    fixture_open(f);
}

static bool has_part(struct fixture *f, const struct hl_id *id, const char *text, uint64_t from)
{
    struct hl_get_run g = {
        .m.msg.type = HL_STORE_GET_RUN, .run_id = *id, .range_from = from, .range_max = 1000};
    cr_assert_eq(ask(f, &f->asker, &g.m), HL_OK);
    size_t n = strlen(text + from) < 1000 ? strlen(text + from) : 1000;
    bool has = hl_str_eq(hl_buf_str(&g.range), (struct hl_str){text + from, n});
    hl_get_run_fini(&g);
    return has;
}

Test(memory, long_bodies_come_back_whole_and_in_parts, .timeout = 180)
{
    enum { SIZE = 9 * MIB + 5 };
    struct fixture f;
    struct hl_id id;
    struct hl_get_run g;
    char *text = make_text(SIZE);
    open_with(&f, 64 * MIB);
    cr_assert_eq(accept_run(&f, (struct run_spec){.body = text}, &id), HL_OK);
    give_credit(&f, &f.worker, 1, false);
    struct hl_claimed *c = party_wait(&f.worker, HL_STORE_CLAIMED);
    cr_assert_eq(c->body.size, SIZE);
    cr_assert_eq(memcmp(c->body.bytes, text, SIZE), 0);
    cr_assert_eq(finish_run(&f, &id, c->epoch, text), HL_OK);
    hl_claimed_free(c);
    cr_assert_eq(get_run(&f, &id, &g), HL_OK);
    cr_assert_eq(g.outcome.body.size, SIZE);
    cr_assert_eq(memcmp(g.outcome.body.bytes, text, SIZE), 0);
    hl_body_fini(&g.outcome.body);
    cr_assert(has_part(&f, &id, text, 0));
    cr_assert(has_part(&f, &id, text, 8 * MIB + 77));
    cr_assert(has_part(&f, &id, text, SIZE - 3));
    fixture_fini(&f);
    free(text);
}

static void end_one(struct fixture *f, const char *text, struct hl_id *id)
{
    cr_assert_eq(record_run(f, (struct run_spec){0}, id), HL_OK);
    cr_assert_eq(finish_run(f, id, 1, text), HL_OK);
}

static enum hl_body_where where_is(struct fixture *f, const struct hl_id *id)
{
    struct hl_get_run g;
    cr_assert_eq(get_run(f, id, &g), HL_OK, "the run is there");
    enum hl_body_where where = g.outcome.body.where;
    hl_body_fini(&g.outcome.body);
    return where;
}

Test(memory, long_bodies_of_young_runs_go_before_older_runs, .timeout = 180)
{
    enum { OLD = 200, LONG = 12 };
    struct fixture f;
    struct hl_id old, young[LONG];
    char *text = make_text(MIB);
    open_with(&f, 8 * MIB);
    for (int i = 0; i < OLD; i++)
        end_one(&f, "answer", i == 0 ? &old : &young[0]);
    for (int i = 0; i < LONG; i++)
        end_one(&f, text, &young[i]);
    cr_assert_eq(accept_run(&f, (struct run_spec){0}, NULL), HL_OK, "they make room");
    while (where_is(&f, &young[0]) != HL_BODY_DROPPED) /* the oldest of them */
        usleep(1000);
    cr_assert_eq(where_is(&f, &old), HL_BODY_INLINE);
    cr_assert_eq(where_is(&f, &young[LONG - 1]), HL_BODY_INLINE);
    fixture_fini(&f);
    free(text);
}

/* --- how much it is --------------------------------------------------------------------------- */

Test(memory, takes_64_mib_where_no_size_is_set)
{
    struct fixture f;
    fixture_init(&f, HL_STORE_MEMORY);
    cr_assert_gt(f.config->store_max_bytes.percent, 0, "a share of a volume");
    cr_assert_eq(hl_store_memory_max(f.config), 64 * MIB);
    fixture_open(&f);
    cr_assert_eq(hl_counter_get(&hl_store_get_gauges(f.store)->max_bytes), 64 * MIB);
    cr_assert_lt(hl_counter_get(&hl_store_get_gauges(f.store)->bytes), MIB, "nothing is there");
    fixture_fini(&f);
}

/* What ends goes beyond the limit, up to twice as much; the rest waits until there is room. */
Test(memory, ends_that_find_no_room_wait_until_deliveries_have_ended, .timeout = 180)
{
    enum { RUNS = 60, LIMIT = 1 * MIB, MOST = 2 * LIMIT + 4 * MIB + 8 * MIB };
    struct fixture f;
    struct hl_id ids[RUNS];
    char *text = make_text(400 * 1024);
    int ended = 0;
    open_with(&f, LIMIT);
    for (int i = 0; i < RUNS; i++)
        cr_assert_eq(record_run(&f, (struct run_spec){.url = "https://e.org/"}, &ids[i]), HL_OK);
    for (int i = 0; i < RUNS; i++) {
        struct hl_finish *finish = make_finish(&ids[i], 1, text);
        finish->m.reply_to = &f.worker.box;
        cr_assert_eq(hl_store_post(f.store, &finish->m), HL_OK);
    }
    settle(&f);
    const struct hl_store_gauges *gauges = hl_store_get_gauges(f.store);
    cr_assert_eq(hl_counter_get(&gauges->is_full), 1);
    cr_assert_eq(accept_run(&f, (struct run_spec){0}, NULL), HL_ERR_FULL);
    for (struct hl_finish *finish; (finish = party_look(&f.worker, HL_STORE_FINISH)); ended++)
        hl_finish_free(finish);
    cr_assert(ended > 2 && ended < RUNS, "%d had room", ended);
    for (int i = 0; i < RUNS; i++) {
        give_lease_credit(&f, 1);
        struct hl_leased *l = party_wait(&f.sender, HL_STORE_LEASED);
        cr_assert_eq(say_outcome(&f, l, 1, HL_ATTEMPT_OK), HL_OK);
        hl_leased_free(l);
        cr_assert_leq(hl_counter_get(&gauges->bytes), MOST);
    }
    for (; ended < RUNS; ended++) {
        struct hl_finish *finish = party_wait(&f.worker, HL_STORE_FINISH);
        cr_assert_eq(finish->m.rc, HL_OK);
        hl_finish_free(finish);
    }
    while (accept_run(&f, (struct run_spec){0}, NULL) != HL_OK)
        usleep(1000);
    fixture_fini(&f);
    free(text);
}
