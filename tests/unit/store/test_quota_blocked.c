/* test_quota_blocked.c - queued runs of an account that has as many inside the app as it may: they wait, and others
 * pass. */
#include <criterion/criterion.h>
#include <string.h>

#include "fixture.h"
#include "store/claim.h"
#include "store/quota.h"
#include "store/store.h"

static struct hl_quotas quotas;
static struct hl_quota limited;
static char name[HL_ID_TEXT + 1];

static void allow(struct fixture *f, uint32_t max_running)
{
    static uint32_t revision;
    struct hl_limits limits = HL_LIMITS_NONE;
    limits.max_running = max_running;
    limits.revision = ++revision;
    memset(limited.account.b, 7, sizeof(limited.account.b));
    hl_id_format(&limited.account, name);
    hl_quota_set(&limited, &limits);
    hl_quotas_add(&quotas, &limited);
    hl_store_heed_quotas(f->store, &quotas);
}

static void accept_as(
    struct fixture *f, const char *subject, enum hl_priority class, struct hl_id *id)
{
    struct run_spec spec = {.subject = subject, .priority = class, .body = "x"};
    cr_assert_eq(accept_run(f, spec, id), HL_OK);
}

static struct hl_claimed *expect_claim(struct fixture *f, const struct hl_id *id)
{
    struct hl_claimed *c = party_wait(&f->worker, HL_STORE_CLAIMED);
    cr_assert(hl_id_eq(&c->run_id, id));
    return c;
}

/* As a worker does it: its place is left, then the store is told. */
static void end(struct fixture *f, struct hl_claimed *c)
{
    hl_claimed_leave(c);
    cr_assert_eq(finish_run(f, &c->run_id, c->epoch, "done"), HL_OK);
    hl_claimed_free(c);
}

STORE_TEST(queued_runs_beyond_max_running_wait_and_others_pass, .timeout = 180)
{
    struct hl_id mine[4], other, low;
    allow(f, 2);
    for (int i = 0; i < 4; i++)
        accept_as(f, name, HL_PRIORITY_HIGH, &mine[i]);
    accept_as(f, "other", HL_PRIORITY_NORMAL, &other);
    accept_as(f, "other", HL_PRIORITY_LOW, &low);
    give_credit(f, &f->worker, 9, false);
    struct hl_claimed *first = expect_claim(f, &mine[0]), *second = expect_claim(f, &mine[1]);
    cr_assert(first->quota == &limited && limited.running == 2);
    struct hl_claimed *passed = expect_claim(f, &other);
    cr_assert_null(passed->quota);
    end(f, passed);
    end(f, expect_claim(f, &low));
    settle(f);
    cr_assert_null(party_look(&f->worker, HL_STORE_CLAIMED));
    end(f, second);
    struct hl_claimed *third = expect_claim(f, &mine[2]);
    settle(f);
    cr_assert_null(party_look(&f->worker, HL_STORE_CLAIMED));
    end(f, first);
    end(f, expect_claim(f, &mine[3]));
    end(f, third);
    cr_assert_eq(limited.running, 0);
}

STORE_TEST(calls_take_places_too_and_what_waits_starts_when_they_leave, .timeout = 180)
{
    struct hl_id id;
    allow(f, 1);
    cr_assert(hl_quota_enter(&limited));
    accept_as(f, name, HL_PRIORITY_NORMAL, &id);
    give_credit(f, &f->worker, 1, false);
    settle(f);
    cr_assert_null(party_look(&f->worker, HL_STORE_CLAIMED));
    hl_quota_leave(&limited);
    end(f, expect_claim(f, &id));
}

STORE_TEST(what_waits_starts_when_the_limit_is_another, .timeout = 180)
{
    struct hl_id id, next;
    allow(f, 1);
    accept_as(f, name, HL_PRIORITY_NORMAL, &id);
    accept_as(f, name, HL_PRIORITY_NORMAL, &next);
    give_credit(f, &f->worker, 2, false);
    struct hl_claimed *c = expect_claim(f, &id);
    settle(f);
    cr_assert_null(party_look(&f->worker, HL_STORE_CLAIMED));
    allow(f, 0);
    end(f, expect_claim(f, &next));
    end(f, c);
}

/* Whoever holds a slot of the app for a run does not keep it while none may start. */
STORE_TEST(credit_goes_back_when_all_that_waits_is_barred, .timeout = 180)
{
    struct hl_id id, next;
    allow(f, 1);
    accept_as(f, name, HL_PRIORITY_NORMAL, &id);
    accept_as(f, name, HL_PRIORITY_NORMAL, &next);
    give_credit(f, &f->worker, 1, true);
    struct hl_claimed *c = expect_claim(f, &id);
    give_credit(f, &f->worker, 1, true);
    drop_message(party_wait(&f->worker, HL_STORE_CREDIT_BACK));
    end(f, c);
    give_credit(f, &f->worker, 1, true);
    end(f, expect_claim(f, &next));
}
