/* test_holding.c - what the database says of calls at once that replicas share: the function `hold` of the schema. */
#include <criterion/criterion.h>

#include "session_fixture.h"

static struct session_fixture database;

static void run(const char *sql)
{
    session_fixture_run(&database, sql);
}

static long number(const char *sql)
{
    long n = 0, *const values[] = {&n};
    session_fixture_read(&database, sql, values, 1);
    return n;
}

/* Three replicas live. */
static void begin(void)
{
    session_fixture_begin(&database);
    run("DELETE FROM ~.node");
    run("INSERT INTO ~.node (node_id, name, version, address, started_at, beat_at, expires_at)"
        " SELECT lpad(n::text, 32, '0')::uuid, n::text, '', '', now(), now(), now() + interval '1 "
        "hour'"
        " FROM generate_series(1, 3) AS n");
}

static void end(void)
{
    session_fixture_end(&database);
}

struct held {
    long replicas, has, rest, idle, is_told;
};

/* Of nine. */
static struct held hold(int who, long mine, long used, bool wants)
{
    char sql[400];
    struct held h;
    snprintf(sql, sizeof(sql),
        "SELECT replicas::text, has::text, rest::text, idle::text, is_told::integer::text"
        " FROM ~.hold('00000000-0000-0000-0000-000000000009', lpad('%d', 32, '0')::uuid, 9, %ld,"
        " %ld, %s)",
        who, mine, used, wants ? "true" : "false");
    long *const values[] = {&h.replicas, &h.has, &h.rest, &h.idle, &h.is_told};
    session_fixture_read(&database, sql, values, 5);
    return h;
}

static void expect(struct held h, long has, long rest, long idle)
{
    cr_expect_eq(h.replicas, 3, "%ld", h.replicas);
    cr_expect_eq(h.has, has, "%ld", h.has);
    cr_expect_eq(h.rest, rest, "%ld", h.rest);
    cr_expect_eq(h.idle, idle, "%ld", h.idle);
}

#define EVENTS(kind, node)                                                                         \
    number("SELECT count(*) FROM ~.event WHERE kind = " #kind " AND node_id = lpad('" #node        \
           "', 32, '0')::uuid AND subject = '00000000-0000-0000-0000-000000000009'")

Test(postgres_holding,
    each_gets_its_share_then_a_part_of_what_is_left_and_what_is_said_twice_counts_once)
{
    begin();
    expect(hold(1, 0, 0, true), 3, 6, 0);
    expect(hold(1, 3, 3, true), 5, 4, 0);
    expect(hold(1, 3, 3, true), 5, 4, 0);
    expect(hold(2, 0, 0, true), 3, 1, 2);
    expect(hold(3, 0, 0, true), 1, 0, 5);
    expect(hold(1, 2, 2, false), 2, 3, 4);
    expect(hold(3, 1, 1, true), 3, 1, 3);
    for (int who = 1; who <= 3; who++)
        hold(who, 0, 0, false);
    cr_expect_eq(number("SELECT count(*) FROM ~.permit"), 0);
    end();
}

Test(postgres_holding, whatever_one_says_that_it_holds_counts_and_what_is_too_much_is_said)
{
    begin();
    expect(hold(1, 7, 7, false), 7, 2, 0);
    expect(hold(2, 5, 5, false), 5, -3, 0);
    expect(hold(2, 5, 5, true), 5, -3, 0);
    expect(hold(1, 2, 2, true), 3, 1, 0);
    end();
}

Test(postgres_holding, where_nothing_is_left_the_others_are_told_so_often_at_most)
{
    begin();
    cr_expect_eq(hold(1, 6, 1, false).is_told, 0);
    cr_expect_eq(hold(2, 3, 3, false).is_told, 0);
    cr_expect_eq(hold(3, 0, 0, true).is_told, 1);
    cr_expect_eq(hold(3, 0, 0, true).is_told, 0, "just now");
    cr_expect_eq(EVENTS(6, 1) + EVENTS(6, 2), 2, "who asks has less than its share");
    cr_expect_eq(EVENTS(6, 3), 0);
    run("UPDATE ~.permit SET told_at = told_at - interval '1 s'");
    cr_expect_eq(hold(2, 3, 3, true).is_told, 1);
    cr_expect_eq(EVENTS(5, 1), 1, "who asks has its share");
    end();
}

Test(postgres_holding, what_the_dead_held_is_to_be_had_and_who_is_not_alive_gets_none)
{
    begin();
    expect(hold(1, 0, 0, true), 3, 6, 0);
    expect(hold(2, 6, 6, false), 6, 0, 3);
    run("UPDATE ~.node SET expires_at = now() - interval '1 ms' WHERE name = '2'");
    struct held h = hold(1, 3, 3, true);
    cr_expect_eq(h.replicas, 2);
    cr_expect_eq(h.has, 6);
    cr_expect_eq(hold(2, 6, 6, true).has, 6);
    run("UPDATE ~.node SET expires_at = now() + interval '1 hour' WHERE name = '2'");
    cr_expect_eq(hold(1, 6, 6, false).rest, -3, "it lives");
    run("UPDATE ~.node SET is_dead = true WHERE name = '2'");
    cr_expect_eq(hold(1, 6, 6, false).rest, 3);
    cr_expect_eq(number("SELECT cardinality(nodes) FROM ~.permit"), 1, "the dead are forgotten");
    end();
}
