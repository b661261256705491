/* test_lending.c - what the database lends of a rate that replicas share: the function `lend` of the schema. */
#include <criterion/criterion.h>

#include "fixture.h"
#include "postgres_cluster.h"
#include "store/postgres/session.h"

static struct fixture f;
static struct hl_pg_settings settings;
static struct hl_pg_session session;

static void begin(void)
{
    char why[300] = "";
    fixture_init(&f, HL_STORE_POSTGRES);
    fixture_open(&f);
    fixture_close(&f);
    hl_pg_settings_init(&settings, &f.config);
    cr_assert_eq(hl_pg_session_open(&session, &settings, NULL, why, sizeof(why)), HL_OK, "%s", why);
}

static void end(void)
{
    hl_pg_session_close(&session);
    fixture_fini(&f);
}

struct lent {
    long lent, rest, until_ms, left_ms;
};

/* 90 in a minute, of three replicas, to one that had `had` of the window `until_ms`. */
static struct lent lend(long wanted, long had, long back, long owed, long until_ms)
{
    char sql[400], why[300] = "";
    struct lent l;
    PGresult *result;
    snprintf(sql, sizeof(sql),
        "SELECT lent::text, rest::text, until_ms::text, left_ms::text"
        " FROM ~.lend('00000000-0000-0000-0000-000000000001', 90, 60000, %ld, %ld, %ld, %ld, %ld, "
        "3)",
        wanted, had, back, owed, until_ms);
    cr_assert_eq(hl_pg_session_ask(&session, sql, &result, why, sizeof(why)), HL_OK, "%s", why);
    long *const values[] = {&l.lent, &l.rest, &l.until_ms, &l.left_ms};
    for (int i = 0; i < 4; i++)
        *values[i] = strtol(PQgetvalue(result, 0, i), NULL, 10);
    PQclear(result);
    return l;
}

static void run(const char *sql)
{
    char why[300] = "";
    cr_assert_eq(hl_pg_session_run(&session, sql, why, sizeof(why)), HL_OK, "%s", why);
}

static void expect(struct lent l, long lent, long rest)
{
    cr_expect_eq(l.lent, lent, "%ld", l.lent);
    cr_expect_eq(l.rest, rest, "%ld", l.rest);
}

Test(postgres_lending, a_window_begins_with_the_first_call_and_each_gets_its_share_then_less)
{
    begin();
    struct lent first = lend(100, 0, 0, 0, 0);
    expect(first, 30, 60);
    cr_expect_eq(first.left_ms, 60000);
    struct lent more = lend(100, 30, 0, 0, first.until_ms);
    expect(more, 20, 40);
    cr_expect_eq(more.until_ms, first.until_ms);
    expect(lend(5, 0, 0, 0, 0), 5, 35);
    expect(lend(100, 0, 0, 0, 0), 30, 5);
    expect(lend(100, 30, 0, 0, first.until_ms), 2, 3);
    for (long rest = 1; rest >= 0; rest -= 2)
        expect(lend(100, 90, 0, 0, first.until_ms), 2, rest);
    expect(lend(100, 90, 0, 0, first.until_ms), 1, 0);
    expect(lend(100, 0, 0, 0, 0), 0, 0);
    end();
}

Test(postgres_lending, what_goes_back_is_of_its_window_alone_and_what_is_owed_of_any)
{
    begin();
    expect(lend(0, 0, 7, 0, 5), 0, 90);
    struct lent l = lend(100, 0, 0, 0, 0);
    expect(lend(0, 0, 12, 0, l.until_ms), 0, 72);
    expect(lend(0, 0, 12, 0, l.until_ms - 1), 0, 72);
    expect(lend(0, 0, 0, 70, 0), 0, 2);
    expect(lend(0, 0, 0, 70, 0), 0, 0);
    expect(lend(1, 0, 0, 0, 0), 0, 0);
    end();
}

Test(postgres_lending, a_window_ends_by_the_clock_of_the_server_and_one_that_lies_in_the_future_too)
{
    begin();
    struct lent l = lend(100, 0, 0, 0, 0);
    run("UPDATE ~.rate SET until_ms = until_ms - 60001");
    l = lend(100, 30, 30, 0, l.until_ms - 60001);
    expect(l, 30, 60);
    run("UPDATE ~.rate SET until_ms = until_ms + 3600000");
    expect(lend(100, 30, 0, 0, l.until_ms), 30, 60);
    end();
}
