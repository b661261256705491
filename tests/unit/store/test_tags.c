/* test_tags.c - tags of runs: kept, told to who has the run and its webhook, and what lists find by them; on all stores. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "fixture.h"
#include "store/accept.h"
#include "store/claim.h"
#include "store/lease.h"
#include "store/operation.h"
#include "store/question.h"

static void reopen(struct fixture *f)
{
    if (f->kind != HL_STORE_MEMORY)
        fixture_reopen(f);
}

static void expect_tags(struct fixture *f, const struct hl_id *id, const char *tags)
{
    struct hl_get_run g = {.m.msg.type = HL_STORE_GET_RUN, .run_id = *id};
    cr_assert_eq(ask(f, &f->asker, &g.m), HL_OK);
    cr_assert(hl_str_eq(g.run.tags, hl_str_from(tags)), "%.*s", HL_STR_ARG(g.run.tags));
    hl_get_run_fini(&g);
}

/* The longest that there may be. */
static const char *longest(void)
{
    static char text[HL_TAGS_TEXT + 1];
    size_t n = 0;
    for (int i = 0; i < HL_TAGS_MAX; i++) {
        n += (size_t)sprintf(text + n, "%s%c", i ? "," : "", 'a' + i);
        n += (size_t)sprintf(text + n, "%0*d=%0*d", HL_TAG_MAX - 1, i, HL_TAG_MAX, i);
    }
    cr_assert_eq(n, HL_TAGS_TEXT);
    return text;
}

STORE_TEST(tags_stay_with_their_run)
{
    struct hl_id some, none, recorded, whole;
    cr_assert_eq(accept_run(f, (struct run_spec){.tags = "tier=gold,order=17"}, &some), HL_OK);
    cr_assert_eq(accept_run(f, (struct run_spec){.project = "p"}, &none), HL_OK);
    cr_assert_eq(
        record_run(f, (struct run_spec){.url = "http://h/", .tags = "a=b"}, &recorded), HL_OK);
    cr_assert_eq(accept_run(f, (struct run_spec){.tags = longest()}, &whole), HL_OK);
    reopen(f);
    expect_tags(f, &some, "tier=gold,order=17");
    expect_tags(f, &none, "");
    expect_tags(f, &recorded, "a=b");
    expect_tags(f, &whole, longest());
}

STORE_TEST(tags_are_told_to_who_has_the_run)
{
    struct hl_id id;
    cr_assert_eq(accept_run(f, (struct run_spec){.tags = "n=1"}, &id), HL_OK);
    give_credit(f, &f->worker, 1, false);
    struct hl_claimed *c = party_wait(&f->worker, HL_STORE_CLAIMED);
    cr_assert(hl_str_eq(c->tags, HL_STR("n=1")));
    hl_claimed_free(c);
}

STORE_TEST(tags_go_along_with_the_webhook_and_its_redelivery)
{
    struct hl_id id;
    uint64_t count;
    cr_assert_eq(
        record_run(f, (struct run_spec){.url = "http://h:1/", .tags = "n=1,m=2"}, &id), HL_OK);
    cr_assert_eq(finish_run(f, &id, 1, "done"), HL_OK);
    give_lease_credit(f, 1);
    struct hl_leased *l = party_wait(&f->sender, HL_STORE_LEASED);
    cr_assert(hl_str_eq(l->tags, HL_STR("n=1,m=2")));
    cr_assert_eq(say_outcome(f, l, 1, HL_ATTEMPT_DEAD), HL_OK);
    cr_assert_eq(redeliver(f, &l->delivery_id, "p", &count), HL_OK);
    hl_leased_free(l);
    give_lease_credit(f, 1);
    l = party_wait(&f->sender, HL_STORE_LEASED);
    cr_assert(hl_str_eq(l->tags, HL_STR("n=1,m=2")));
    hl_leased_free(l);
}

STORE_TEST(same_key_with_other_tags_is_the_same_run_with_its_own)
{
    struct hl_id first, second;
    cr_assert_eq(accept_run(f, (struct run_spec){.key = "k", .tags = "n=1"}, &first), HL_OK);
    cr_assert_eq(
        accept_run(f, (struct run_spec){.key = "k", .tags = "n=2"}, &second), HL_ERR_EXISTS);
    cr_assert(hl_id_eq(&first, &second));
    expect_tags(f, &first, "n=1");
}

/* ---- lists ---- */

struct wish {
    const char *project, *app;
    const char *tags[HL_TAGS_MAX];
    int state, mode; /* from 1; 0: any */
};

#define STATE(wanted)   .state = 1 + (wanted)
#define MODE(is_async_) .mode = 1 + (is_async_)

/* As many as there are, page by page of two, newest first; the last bytes of their ids would tell nothing, so `names`
 * gets the letter that each has as its tag "run". */
static void list(struct fixture *f, const struct wish *wish, char names[32])
{
    struct hl_list_runs l = {.limit = 2};
    size_t n = 0;
    do {
        struct hl_id next = l.next;
        l = (struct hl_list_runs){.m.msg.type = HL_STORE_LIST_RUNS,
            .state = wish->state - 1,
            .is_async = wish->mode - 1,
            .limit = 2,
            .before = next};
        snprintf(l.project, sizeof(l.project), "%s", wish->project ? wish->project : "");
        snprintf(l.app, sizeof(l.app), "%s", wish->app ? wish->app : "");
        for (size_t i = 0; i < HL_TAGS_MAX && wish->tags[i]; i++)
            cr_assert(hl_search_add_tag(hl_str_from(wish->tags[i]), &l.search));
        cr_assert_eq(ask(f, &f->asker, &l.m), HL_OK);
        for (size_t i = 0; i < l.count; i++) {
            const char *at = memmem(l.rows[i].tags.p, l.rows[i].tags.n, "run=", 4);
            names[n++] = at ? at[4] : '-';
        }
        struct hl_id at = l.next;
        bool has_more = l.has_more;
        hl_operation_clear(&l.m);
        l.next = at;
        l.has_more = has_more;
    } while (l.has_more);
    names[n] = '\0';
}

#define EXPECT(names_, ...)                                                                        \
    do {                                                                                           \
        struct wish wish = {__VA_ARGS__};                                                          \
        char names[32];                                                                            \
        list(f, &wish, names);                                                                     \
        cr_assert_str_eq(names, names_, "%s, not %s", names, names_);                              \
    } while (0)

static struct hl_id add(struct fixture *f, const char *project, const char *app, const char *tags)
{
    struct hl_id id;
    cr_assert_eq(
        accept_run(f, (struct run_spec){.project = project, .app = app, .tags = tags}, &id), HL_OK);
    return id;
}

STORE_TEST(lists_find_runs_by_their_tags)
{
    add(f, "p", "a", "run=A,tier=gold,order=1");
    add(f, "p", "b", "run=B,tier=gold,order=2");
    add(f, "p", "a", "run=C,tier=silver,order=1");
    add(f, "p", "a", NULL);
    add(f, "q", "a", "run=D,tier=gold");
    add(f, "p", "a", "run=E,tier=gold,order=3");
    add(f, "p", "a", "run=F,x=tier=gold,note=order");
    reopen(f);
    EXPECT("EBA", .project = "p", .tags = {"tier=gold"});
    EXPECT("ECBA", .project = "p", .tags = {"tier"});
    EXPECT("EA", .project = "p", .app = "a", .tags = {"tier=gold"});
    EXPECT("A", .project = "p", .tags = {"tier=gold", "order=1"});
    EXPECT("CA", .project = "p", .tags = {"order", "tier", "order=1"});
    EXPECT("F", .project = "p", .tags = {"x=tier=gold"});
    EXPECT("", .project = "p", .tags = {"tier=gol"});
    EXPECT("", .project = "p", .tags = {"tie"});
    EXPECT("", .project = "q", .tags = {"tier=gold", "order"});
    EXPECT("EDBA", .tags = {"tier=gold"});
}

STORE_TEST(lists_by_tag_heed_states_and_modes)
{
    struct hl_id a = add(f, "p", "a", "run=A,t=1"), c;
    add(f, "p", "a", "run=B,t=1");
    cr_assert_eq(record_run(f, (struct run_spec){.tags = "run=C,t=1"}, &c), HL_OK);
    cr_assert_eq(finish_run(f, &c, 1, "done"), HL_OK);
    cr_assert_eq(cancel_run(f, &a), HL_OK);
    settle(f);
    EXPECT("CBA", .project = "p", .tags = {"t=1"});
    EXPECT("B", .project = "p", .tags = {"t=1"}, STATE(HL_RUN_QUEUED));
    EXPECT("A", .project = "p", .tags = {"t=1"}, STATE(HL_RUN_CANCELLED));
    EXPECT("C", .project = "p", .tags = {"t=1"}, STATE(HL_RUN_SUCCESS));
    EXPECT("C", .project = "p", .tags = {"t=1"}, MODE(0));
    EXPECT("BA", .project = "p", .tags = {"t=1"}, MODE(1));
    EXPECT("", .project = "p", .tags = {"t=2"}, STATE(HL_RUN_QUEUED));
}

static void only_with_tags(struct fixture *f)
{
    add(f, "p", "a", NULL);
    settle(f);
    cr_assert_eq(fixture_count(f, "tag"), 0);
    add(f, "p", "a", "a=1,b=2");
    settle(f);
    cr_assert_eq(fixture_count(f, "tag"), 4);
}

Test(sqlite, what_runs_are_found_by_is_there_only_for_those_that_have_tags)
{
    fixture_run(HL_STORE_SQLITE, only_with_tags);
}

Test(postgres, what_runs_are_found_by_is_there_only_for_those_that_have_tags)
{
    fixture_run(HL_STORE_POSTGRES, only_with_tags);
}

Test(sqlite, what_a_run_is_found_by_goes_with_it, .timeout = 180)
{
    struct fixture f;
    struct hl_id ended;
    struct hl_get_run g;
    fixture_init(&f, HL_STORE_SQLITE);
    fixture_set_retention(&f, 30);
    fixture_open(&f);
    add(&f, "p", "a", "a=1,b=2");
    cr_assert_eq(record_run(&f, (struct run_spec){.tags = "a=1,c=3"}, &ended), HL_OK);
    cr_assert_eq(finish_run(&f, &ended, 1, NULL), HL_OK);
    while (get_run(&f, &ended, &g) == HL_OK)
        hl_body_fini(&g.outcome.body);
    cr_assert_eq(fixture_count(&f, "tag"), 4);
    cr_assert_eq(fixture_count(&f, "tag WHERE tag LIKE 'c%'"), 0);
    fixture_fini(&f);
}
