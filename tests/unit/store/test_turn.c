/* test_turn.c - whose turn it is among queued runs: classes by their rule, within a class one subject after
 * the other, then who came first. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "base/priority.h"
#include "fixture.h"
#include "store/claim.h"
#include "store/question.h"
#include "store/store.h"

#define SUBJECTS 5
#define MANY     2000
#define FAR_MANY 300 /* each claim is a round trip */

static const char *const subjects[SUBJECTS] = {"ann", "ben", "cleo", "dan", "eve"};

static void accept_as(
    struct fixture *f, const char *subject, enum hl_priority priority, struct hl_id *id)
{
    struct run_spec spec = {.subject = subject, .priority = priority};
    cr_assert_eq(accept_run(f, spec, id), HL_OK);
}

/* With one slot: the next one is claimed when the one before has ended. */
static struct hl_claimed *claim_one(struct fixture *f)
{
    give_credit(f, &f->worker, 1, false);
    return party_wait(&f->worker, HL_STORE_CLAIMED);
}

static void expect_next(struct fixture *f, const struct hl_id *id)
{
    struct hl_claimed *c = claim_one(f);
    cr_assert(hl_id_eq(&c->run_id, id));
    cr_assert_eq(finish_run(f, id, c->epoch, "done"), HL_OK);
    hl_claimed_free(c);
}

STORE_TEST(one_run_of_a_subject_does_not_wait_for_all_of_another)
{
    struct hl_id ann[4], ben;
    for (int i = 0; i < 4; i++)
        accept_as(f, "ann", HL_PRIORITY_NORMAL, &ann[i]);
    accept_as(f, "ben", HL_PRIORITY_NORMAL, &ben);
    expect_next(f, &ann[0]);
    expect_next(f, &ben);
    for (int i = 1; i < 4; i++)
        expect_next(f, &ann[i]);
}

STORE_TEST(higher_classes_start_first_and_the_eighth_start_is_a_lower_ones)
{
    struct hl_id high[9], normal, low;
    accept_as(f, "ann", HL_PRIORITY_LOW, &low);
    accept_as(f, "ann", HL_PRIORITY_NORMAL, &normal);
    for (int i = 0; i < 9; i++)
        accept_as(f, "ann", HL_PRIORITY_HIGH, &high[i]);
    for (int i = 0; i < 7; i++)
        expect_next(f, &high[i]);
    expect_next(f, &normal);
    expect_next(f, &high[7]);
    expect_next(f, &high[8]);
    expect_next(f, &low);
}

STORE_TEST(turns_are_kept_over_a_restart)
{
    struct hl_id ann[3], ben[2], cleo;
    if (f->kind == HL_STORE_MEMORY)
        return;
    for (int i = 0; i < 3; i++)
        accept_as(f, "ann", HL_PRIORITY_NORMAL, &ann[i]);
    accept_as(f, "ben", HL_PRIORITY_NORMAL, &ben[0]);
    expect_next(f, &ann[0]);
    fixture_reopen(f);
    accept_as(f, "ben", HL_PRIORITY_NORMAL, &ben[1]);
    accept_as(f, "cleo", HL_PRIORITY_HIGH, &cleo);
    expect_next(f, &cleo);
    expect_next(f, &ben[0]);
    expect_next(f, &ann[1]);
    expect_next(f, &ben[1]);
    expect_next(f, &ann[2]);
}

static void give_back(struct fixture *f, struct hl_claimed *c)
{
    struct hl_release *r = hl_release_new(c);
    cr_assert_eq(ask(f, &f->worker, &r->m), HL_OK);
    hl_release_free(r);
}

STORE_TEST(run_that_is_given_back_has_its_turn_still)
{
    struct hl_id ann[2], ben;
    accept_as(f, "ann", HL_PRIORITY_NORMAL, &ann[0]);
    accept_as(f, "ann", HL_PRIORITY_NORMAL, &ann[1]);
    accept_as(f, "ben", HL_PRIORITY_NORMAL, &ben);
    struct hl_claimed *c = claim_one(f);
    cr_assert(hl_id_eq(&c->run_id, &ann[0]));
    give_back(f, c);
    expect_next(f, &ann[0]);
    expect_next(f, &ben);
    expect_next(f, &ann[1]);
}

/* All of a transaction: more than are read at once. */
STORE_TEST(runs_that_are_claimed_together_come_in_their_order_and_what_was_given_back_first)
{
    enum { ALL = 100, FIRST = 50, BACK = 7 };
    struct hl_id ids[ALL];
    struct hl_claimed *claims[FIRST];
    for (int i = 0; i < ALL; i++)
        accept_as(f, "ann", HL_PRIORITY_NORMAL, &ids[i]);
    give_credit(f, &f->worker, FIRST, false);
    for (int i = 0; i < FIRST; i++) {
        claims[i] = party_wait(&f->worker, HL_STORE_CLAIMED);
        cr_assert(hl_id_eq(&claims[i]->run_id, &ids[i]), "%d", i);
    }
    for (int i = 0; i < BACK; i++)
        give_back(f, claims[i]);
    give_credit(f, &f->worker, ALL - FIRST + BACK, false);
    for (int i = 0; i < ALL - FIRST + BACK; i++) {
        struct hl_claimed *c = party_wait(&f->worker, HL_STORE_CLAIMED);
        cr_assert(hl_id_eq(&c->run_id, &ids[i < BACK ? i : FIRST + i - BACK]), "%d", i);
        cr_assert_eq(finish_run(f, &c->run_id, c->epoch, "done"), HL_OK);
        hl_claimed_free(c);
    }
    for (int i = BACK; i < FIRST; i++)
        hl_claimed_free(claims[i]);
    settle(f);
    cr_assert_null(party_look(&f->worker, HL_STORE_CLAIMED));
}

STORE_TEST(class_that_is_wished_comes_first_and_any_other_when_there_is_none)
{
    struct hl_id high, low;
    accept_as(f, "ann", HL_PRIORITY_HIGH, &high);
    accept_as(f, "ann", HL_PRIORITY_LOW, &low);
    for (int i = 0; i < 2; i++) {
        struct hl_credit *credit = calloc(1, sizeof(*credit));
        credit->m.msg.type = HL_STORE_CREDIT;
        credit->m.reply_to = &f->worker.box;
        credit->n = 1;
        credit->returns = credit->has_wish = true;
        credit->wish = HL_PRIORITY_LOW;
        cr_assert_eq(hl_store_post(f->store, &credit->m), HL_OK);
        struct hl_claimed *c = party_wait(&f->worker, HL_STORE_CLAIMED);
        cr_assert(hl_id_eq(&c->run_id, i == 0 ? &low : &high));
        hl_claimed_free(c);
    }
}

STORE_TEST(record_says_of_which_class_a_run_is)
{
    struct hl_id id;
    struct hl_get_run g;
    accept_as(f, "ann", HL_PRIORITY_LOW, &id);
    cr_assert_eq(get_run(f, &id, &g), HL_OK);
    cr_assert_eq(g.run.terms.priority, HL_PRIORITY_LOW);
    expect_next(f, &id);
    cr_assert_eq(get_run(f, &id, &g), HL_OK);
    cr_assert_eq(g.run.terms.priority, HL_PRIORITY_LOW);
    hl_body_fini(&g.outcome.body);
}

/* --- all of it, by a model that looks at everything each time ----------------------------------- */

struct waiting {
    struct hl_id id;
    int subject, place; /* how many of its subject and class were there before it */
    enum hl_priority priority;
    bool has_begun;
};

/* All wait from the beginning on: a subject's nth run is of its nth round. */
static struct waiting *next_of(struct waiting *runs, int n, struct hl_priority_rule *rule)
{
    struct waiting *best = NULL;
    unsigned classes = 0;
    for (int i = 0; i < n; i++)
        if (!runs[i].has_begun)
            classes |= hl_priority_bit(runs[i].priority);
    enum hl_priority class = hl_priority_pick(*rule, classes);
    *rule = hl_priority_note(*rule, classes, class);
    for (int i = 0; i < n; i++)
        if (!runs[i].has_begun && runs[i].priority == class &&
            (!best || runs[i].place < best->place))
            best = &runs[i];
    return best;
}

STORE_TEST(many_runs_of_all_classes_and_subjects_start_in_their_order, .timeout = 120)
{
    static struct waiting runs[MANY];
    static int places[HL_PRIORITIES][SUBJECTS];
    int n = f->kind == HL_STORE_POSTGRES ? FAR_MANY : MANY;
    struct hl_priority_rule rule = {0};
    srand(7);
    fixture_close(f);
    fixture_move_to_memory(f);
    fixture_open(f);
    for (int i = 0; i < n; i++) {
        struct waiting *w = &runs[i];
        w->subject = rand() % 4 ? 0 : rand() % SUBJECTS; /* one of them has most */
        w->priority = (enum hl_priority)(rand() % HL_PRIORITIES);
        w->place = places[w->priority][w->subject]++;
        accept_as(f, subjects[w->subject], w->priority, &w->id);
    }
    for (int i = 0; i < n; i++) {
        struct waiting *w = next_of(runs, n, &rule);
        w->has_begun = true;
        expect_next(f, &w->id);
    }
}

/* Where the store says that a queued run stands; 0: it is not queued. */
static uint64_t place_of(struct fixture *f, const struct hl_id *id)
{
    struct hl_get_run g = {.m.msg.type = HL_STORE_GET_RUN, .run_id = *id, .with_place = true};
    settle(f);
    cr_assert_eq(ask(f, &f->asker, &g.m), HL_OK);
    uint64_t place = g.place;
    hl_get_run_fini(&g);
    return place;
}

STORE_TEST(a_queued_run_knows_how_many_start_before_it)
{
    struct hl_id ann[3], ben;
    for (int i = 0; i < 3; i++)
        accept_as(f, "ann", HL_PRIORITY_NORMAL, &ann[i]);
    accept_as(f, "ben", HL_PRIORITY_NORMAL, &ben);
    cr_assert_eq(place_of(f, &ann[0]), 1);
    cr_assert_eq(place_of(f, &ben), 2);
    cr_assert_eq(place_of(f, &ann[1]), 3);
    cr_assert_eq(place_of(f, &ann[2]), 4);
    struct hl_claimed *c = claim_one(f);
    cr_assert_eq(place_of(f, &ann[0]), 0, "it runs");
    cr_assert_eq(place_of(f, &ben), 1);
    cr_assert_eq(finish_run(f, &ann[0], c->epoch, "done"), HL_OK);
    hl_claimed_free(c);
    cr_assert_eq(place_of(f, &ann[0]), 0, "it has ended");
}

STORE_TEST(the_place_of_a_run_counts_the_classes)
{
    struct hl_id high[9], normal, low;
    accept_as(f, "ann", HL_PRIORITY_LOW, &low);
    accept_as(f, "ann", HL_PRIORITY_NORMAL, &normal);
    for (int i = 0; i < 9; i++)
        accept_as(f, "ann", HL_PRIORITY_HIGH, &high[i]);
    cr_assert_eq(place_of(f, &high[0]), 1);
    cr_assert_eq(place_of(f, &high[6]), 7);
    cr_assert_eq(place_of(f, &normal), 8, "the eighth start is a lower one's");
    cr_assert_eq(place_of(f, &high[7]), 9);
    cr_assert_eq(place_of(f, &low), 11);
}
