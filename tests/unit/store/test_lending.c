/* test_lending.c - what the database lends of a rate that replicas share: the function `lend` of the schema. */
#include <criterion/criterion.h>

#include "session_fixture.h"

static struct session_fixture database;

static void begin(void)
{
    session_fixture_begin(&database);
}

static void end(void)
{
    session_fixture_end(&database);
}

static void run(const char *sql)
{
    session_fixture_run(&database, sql);
}

struct lent {
    long lent, rest, until_ms, left_ms;
};

/* 90 in a minute, of three replicas, to one that had `had` of the window `until_ms`. */
static struct lent lend(long wanted, long had, long back, long owed, long until_ms)
{
    char sql[400];
    struct lent l;
    snprintf(sql, sizeof(sql),
        "SELECT lent::text, rest::text, until_ms::text, left_ms::text"
        " FROM ~.lend('00000000-0000-0000-0000-000000000001', 90, 60000, %ld, %ld, %ld, %ld, %ld, "
        "3)",
        wanted, had, back, owed, until_ms);
    long *const values[] = {&l.lent, &l.rest, &l.until_ms, &l.left_ms};
    session_fixture_read(&database, sql, values, 4);
    return l;
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
