/* test_visits.c - who alone was inside the app between two times, over all workers. */
#include "app/visits.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>

static struct hl_visits first, second;
static struct hl_visits *const all[] = {&first, &second};

static void begin(void)
{
    memset(&first, 0, sizeof(first));
    memset(&second, 0, sizeof(second));
}

TestSuite(visits, .init = begin, .timeout = 180);

static struct hl_id id_of(unsigned n)
{
    struct hl_id id = {{0}};
    memcpy(id.b, &n, sizeof(n));
    return id;
}

static uint64_t enter(struct hl_visits *v, unsigned n, uint64_t us)
{
    struct hl_id id = id_of(n);
    return hl_visits_enter(v, &id, us);
}

/* The one who alone was there; 0: nobody. */
static unsigned lone(uint64_t from_us, uint64_t until_us)
{
    struct hl_id id;
    unsigned n = 0;
    if (hl_visits_find_lone(all, 2, from_us, until_us, &id))
        memcpy(&n, id.b, sizeof(n));
    return n;
}

Test(visits, finds_who_is_inside)
{
    cr_assert_eq(lone(1, 1000), 0);
    enter(&first, 7, 100);
    cr_assert_eq(lone(200, 300), 7);
    cr_assert_eq(lone(50, 300), 7, "nobody was there before");
    cr_assert_eq(lone(50, 99), 0, "not yet");
}

Test(visits, finds_who_was_inside)
{
    uint64_t visit = enter(&first, 7, 100);
    hl_visits_leave(&first, visit, 200);
    cr_assert_eq(lone(150, 300), 7);
    cr_assert_eq(lone(201, 300), 0);
}

Test(visits, knows_nobody_where_two_were)
{
    uint64_t visit = enter(&first, 7, 100);
    enter(&second, 8, 150);
    cr_assert_eq(lone(160, 170), 0);
    cr_assert_eq(lone(110, 120), 7, "before the other came");
    hl_visits_leave(&first, visit, 200);
    cr_assert_eq(lone(190, 300), 0, "one left, but was there");
    cr_assert_eq(lone(201, 300), 8);
}

Test(visits, knows_nobody_where_one_came_as_another_left)
{
    uint64_t visit = enter(&first, 7, 100);
    hl_visits_leave(&first, visit, 200);
    enter(&first, 8, 200);
    cr_assert_eq(lone(190, 210), 0);
    cr_assert_eq(lone(210, 220), 8);
}

Test(visits, knows_nobody_where_it_has_forgotten_one_that_is_inside)
{
    enter(&first, 7, 100);
    for (unsigned i = 0; i < HL_VISITS; i++)
        hl_visits_leave(&first, enter(&first, 100 + i, 200 + i), 200 + i);
    enter(&first, 8, 1000);
    cr_assert_eq(lone(2000, 2100), 0);
}

Test(visits, knows_nobody_until_a_forgotten_one_has_left)
{
    uint64_t old = enter(&first, 7, 100);
    for (unsigned i = 0; i < HL_VISITS; i++)
        hl_visits_leave(&first, enter(&first, 100 + i, 200 + i), 200 + i);
    hl_visits_leave(&first, old, 1000);
    enter(&first, 8, 1001);
    cr_assert_eq(lone(999, 1100), 0);
    cr_assert_eq(lone(1001, 1100), 8);
}

Test(visits, knows_nobody_at_a_time_that_it_does_not_reach_back_to)
{
    for (unsigned i = 0; i < 2 * HL_VISITS; i++)
        hl_visits_leave(&first, enter(&first, 100 + i, 10 * i), 10 * i + 5);
    cr_assert_eq(lone(20, 23), 0);
    cr_assert_eq(lone(10 * 120, 10 * 120 + 3), 220);
}

/* ---- while a worker goes on ---- */

#define ROUNDS 200000

static _Atomic bool has_ended;

static void *come_and_go(void *arg)
{
    (void)arg;
    for (unsigned i = 1; i <= ROUNDS; i++) /* number i is there at i * 10 alone */
        hl_visits_leave(&first, enter(&first, i, i * 10), i * 10 + 5);
    atomic_store(&has_ended, true);
    return NULL;
}

Test(visits, says_nothing_wrong_while_it_changes)
{
    pthread_t worker;
    cr_assert_eq(pthread_create(&worker, NULL, come_and_go, NULL), 0);
    while (!atomic_load(&has_ended)) {
        uint64_t n = atomic_load(&first.count);
        unsigned who = lone(n * 10, n * 10 + 5);
        cr_assert(who == 0 || who == n, "%u at %llu", who, (unsigned long long)n);
    }
    pthread_join(worker, NULL);
    cr_assert_eq(lone(ROUNDS * 10, ROUNDS * 10 + 5), ROUNDS);
}
