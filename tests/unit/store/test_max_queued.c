/* test_max_queued.c - how many runs of one identity may be queued, and who is asked that at all. */
#include <criterion/criterion.h>

#include "fixture.h"
#include "store/accept.h"
#include "store/claim.h"

struct wish {
    struct run_spec spec;
    uint32_t max_queued;
    bool is_over;
};

/* `*is_limit`: it was refused for its max_queued. */
static enum hl_err accept_within(
    struct fixture *f, const struct wish *wish, struct hl_id *id, bool *is_limit)
{
    struct hl_accept *a = make_accept(f, HL_STORE_ACCEPT, &wish->spec);
    a->max_queued = wish->max_queued;
    a->is_over = wish->is_over;
    enum hl_err rc = ask(f, &f->worker, &a->m);
    if (id)
        *id = a->run_id;
    *is_limit = a->is_over_queued;
    hl_accept_free(a);
    return rc;
}

static void expect(struct fixture *f, struct wish wish, enum hl_err rc, bool is_limit)
{
    bool was_limit;
    cr_assert_eq(accept_within(f, &wish, NULL, &was_limit), rc);
    cr_assert_eq(was_limit, is_limit);
}

static const struct run_spec ann = {.subject = "ann", .priority = HL_PRIORITY_NORMAL};

STORE_TEST(no_more_of_an_identity_are_queued_than_it_may_have)
{
    struct run_spec ben = {.subject = "ben", .priority = HL_PRIORITY_NORMAL};
    struct run_spec low = ann;
    low.priority = HL_PRIORITY_LOW;
    expect(f, (struct wish){ann, 2, false}, HL_OK, false);
    expect(f, (struct wish){low, 2, false}, HL_OK, false);
    expect(f, (struct wish){ann, 2, false}, HL_ERR_BUSY, true);
    expect(f, (struct wish){low, 2, false}, HL_ERR_BUSY, true);
    expect(f, (struct wish){ben, 1, false}, HL_OK, false);
    expect(f, (struct wish){ann, 0, false}, HL_OK, false);
    expect(f, (struct wish){ann, 3, false}, HL_ERR_BUSY, true);
    expect(f, (struct wish){ann, 4, false}, HL_OK, false);
}

STORE_TEST(what_has_started_or_ended_is_queued_no_more)
{
    struct hl_id id;
    bool is_limit;
    struct wish one = {ann, 1, false};
    cr_assert_eq(accept_within(f, &one, &id, &is_limit), HL_OK);
    expect(f, one, HL_ERR_BUSY, true);
    give_credit(f, &f->worker, 1, false);
    hl_claimed_free(party_wait(&f->worker, HL_STORE_CLAIMED));
    cr_assert_eq(accept_within(f, &one, &id, &is_limit), HL_OK);
    expect(f, one, HL_ERR_BUSY, true);
    cr_assert_eq(cancel_run(f, &id), HL_OK);
    expect(f, one, HL_OK, false);
}

STORE_TEST(known_key_is_answered_before_limits_are_asked)
{
    struct wish first = {ann, 1, false}, over = {ann, 0, true}, other = {ann, 0, true};
    struct hl_id id, again;
    bool is_limit;
    first.spec.key = over.spec.key = "k";
    other.spec.key = "other";
    cr_assert_eq(accept_within(f, &first, &id, &is_limit), HL_OK);
    cr_assert_eq(accept_within(f, &first, &again, &is_limit), HL_ERR_EXISTS);
    cr_assert(hl_id_eq(&id, &again));
    cr_assert_eq(accept_within(f, &over, &again, &is_limit), HL_ERR_EXISTS);
    cr_assert(hl_id_eq(&id, &again));
    over.spec.fingerprint = 7;
    expect(f, over, HL_ERR_CONFLICT, false);
    expect(f, other, HL_ERR_BUSY, false);
    other.is_over = false;
    expect(f, other, HL_OK, false);
    first.spec.key = "third";
    expect(f, first, HL_ERR_BUSY, true);
    first.max_queued = 3;
    expect(f, first, HL_OK, false);
}

STORE_TEST(what_was_queued_before_a_restart_counts, .timeout = 180)
{
    struct wish two = {ann, 2, false};
    if (f->kind == HL_STORE_MEMORY)
        return;
    expect(f, two, HL_OK, false);
    expect(f, two, HL_OK, false);
    fixture_reopen(f);
    expect(f, two, HL_ERR_BUSY, true);
    two.max_queued = 3;
    expect(f, two, HL_OK, false);
}
