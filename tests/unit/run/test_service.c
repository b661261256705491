/* test_service.c - whether calls should come here now, and why not. */
#include "app/readiness.h"
#include "config/config.h"
#include "run/service.h"

#include <criterion/criterion.h>

#include "fake_store.h"

static struct hl_readiness readiness;
static struct hl_config config;
static struct hl_service service = {.config = &config, .readiness = &readiness};

static void begin(void)
{
    service.store = fake_store_begin();
    atomic_init(&readiness.is_ready, true);
    atomic_init(&readiness.why, "the app is not there");
}

TestSuite(service, .init = begin);

Test(service, takes_calls_when_nothing_is_wrong)
{
    cr_assert_null(hl_service_not_ready(&service));
}

Test(service, says_why_the_app_is_not_ready)
{
    atomic_store(&readiness.is_ready, false);
    cr_assert_str_eq(hl_service_not_ready(&service), "the app is not there");
}

Test(service, says_all_that_is_wrong_the_gravest_first)
{
    const char *problems[HL_SERVICE_PROBLEMS_MAX];
    atomic_store(&readiness.is_ready, false);
    hl_counter_add(&fake_store.gauges.is_full, 1);
    cr_assert(strstr(hl_service_not_ready(&service), "the store is full"));
    hl_counter_add(&fake_store.gauges.is_failing, 1);
    cr_assert(strstr(hl_service_not_ready(&service), "the store is failing"));
    atomic_store(&service.is_draining, true);
    cr_assert(strstr(hl_service_not_ready(&service), "draining"));
    cr_assert_eq(hl_service_problems(&service, problems), 4);
    cr_assert_eq(problems[3], readiness.why);
}

Test(service, is_alive_until_its_store_is_lost)
{
    bool is_alive;
    hl_counter_add(&fake_store.gauges.is_failing, 1);
    cr_assert_str_eq(hl_service_life(&service, &is_alive), "ok");
    cr_assert(is_alive);
    hl_counter_add(&fake_store.gauges.is_lost, 1);
    cr_assert(strstr(hl_service_life(&service, &is_alive), "cannot be reopened"));
    cr_assert(!is_alive);
}

/* The states are read one after the other while threads change them. */
Test(service, has_room_for_problems_that_exclude_each_other)
{
    const char *problems[HL_SERVICE_PROBLEMS_MAX];
    atomic_store(&readiness.is_ready, false);
    hl_counter_add(&fake_store.gauges.is_full, 1);
    hl_counter_add(&fake_store.gauges.is_failing, 1);
    atomic_store(&service.is_draining, true);
    atomic_store(&service.is_opening, true);
    cr_assert_eq(hl_service_problems(&service, problems), 5);
    cr_assert_eq(problems[4], readiness.why);
}

Test(service, is_not_ready_before_a_shared_store_has_been_reached)
{
    bool is_ready;
    fake_store.is_shared = true;
    hl_counter_add(&fake_store.gauges.is_failing, 1);
    atomic_store(&service.is_opening, true);
    cr_assert(strstr(hl_service_state(&service, &is_ready), "has not been reached"));
    cr_assert_not(is_ready);
}

Test(service, stays_ready_and_says_so_when_a_shared_store_is_gone)
{
    const char *problems[HL_SERVICE_PROBLEMS_MAX];
    bool is_ready;
    cr_assert_str_eq(hl_service_state(&service, &is_ready), "ok");
    fake_store.is_shared = true;
    hl_counter_add(&fake_store.gauges.is_failing, 1);
    cr_assert_str_eq(hl_service_state(&service, &is_ready), "degraded: store");
    cr_assert(is_ready);
    cr_assert_null(hl_service_not_ready(&service));
    cr_assert_eq(hl_service_problems(&service, problems), 1);
    cr_assert_not(hl_service_store_fails(&service));
    atomic_store(&readiness.is_ready, false);
    cr_assert_str_eq(hl_service_state(&service, &is_ready), "the app is not there");
    cr_assert_eq(hl_service_problems(&service, problems), 2);
}

Test(service, a_front_is_ready_without_an_app_and_not_without_the_store)
{
    bool is_ready;
    config.role = HL_REPLICA_FRONT;
    fake_store.is_shared = true;
    atomic_store(&readiness.is_ready, false);
    cr_assert_str_eq(hl_service_state(&service, &is_ready), "ok");
    cr_assert(is_ready);
    hl_counter_add(&fake_store.gauges.is_failing, 1);
    cr_assert(strstr(hl_service_state(&service, &is_ready), "the database cannot be reached"));
    cr_assert(!is_ready);
}

Test(service, misses_an_app_that_is_not_ready_and_neither_sleeps_nor_is_to_be_behind_a_front)
{
    struct hl_gate *gate = &service.connections.gate;
    config.app_wake_timeout_ms = 1000;
    cr_assert_not(hl_service_misses_app(&service));
    atomic_store(&readiness.is_ready, false);
    cr_assert(hl_service_misses_app(&service));
    atomic_store(&gate->word, HL_GATE_ASLEEP);
    cr_assert_not(hl_service_misses_app(&service));
    atomic_store(&gate->word, HL_GATE_OPEN);
    config.role = HL_REPLICA_FRONT;
    cr_assert_not(hl_service_misses_app(&service));
}
