/* test_list.c - lists of runs, deliveries and apps, page by page, on all three stores. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "fixture.h"
#include "store/accept.h"
#include "store/claim.h"
#include "store/lease.h"
#include "store/operation.h"
#include "store/question.h"
#include "store/store.h"

enum { MANY = 512 };

/* The ids of all pages, in the order they came. */
struct found {
    struct hl_id ids[MANY];
    size_t n, pages;
};

static void note(struct found *found, const struct hl_id *id)
{
    cr_assert_lt(found->n, (size_t)MANY);
    found->ids[found->n++] = *id;
}

static unsigned times_found(const struct found *found, const struct hl_id *id)
{
    unsigned n = 0;
    for (size_t i = 0; i < found->n; i++)
        n += hl_id_eq(&found->ids[i], id);
    return n;
}

static bool is_newest_first(const struct found *found)
{
    for (size_t i = 1; i < found->n; i++)
        if (memcmp(&found->ids[i - 1], &found->ids[i], sizeof(found->ids[i])) <= 0)
            return false;
    return true;
}

static struct hl_list_runs any_runs(const char *project, const char *app)
{
    struct hl_list_runs l = {
        .m.msg.type = HL_STORE_LIST_RUNS, .state = -1, .is_async = -1, .limit = HL_LIST_MAX};
    strcpy(l.project, project);
    strcpy(l.app, app);
    return l;
}

/* The next page of `l`, noted; false: it was the last. */
static bool next_page(struct fixture *f, struct hl_list_runs *l, struct found *found)
{
    l->has_more = false;
    cr_assert_eq(ask(f, &f->asker, &l->m), HL_OK);
    cr_assert_leq(l->count, (size_t)l->limit);
    for (size_t i = 0; i < l->count; i++)
        note(found, &l->rows[i].run_id);
    found->pages++;
    l->before = l->next;
    hl_operation_clear(&l->m);
    return l->has_more;
}

static void find_runs(struct fixture *f, struct hl_list_runs l, struct found *found)
{
    *found = (struct found){0};
    while (next_page(f, &l, found))
        ;
}

static struct hl_id queue_run(struct fixture *f, const char *project, const char *app)
{
    struct hl_id id;
    cr_assert_eq(accept_run(f, (struct run_spec){.project = project, .app = app}, &id), HL_OK);
    return id;
}

/* A hundred at a time: what comes together is committed together. */
static void queue_many(struct fixture *f, int hundreds)
{
    struct run_spec spec = {.project = "p", .app = "a"};
    for (int i = 0; i < hundreds; i++) {
        for (int j = 0; j < 100; j++) {
            struct hl_accept *a = make_accept(f, HL_STORE_ACCEPT, &spec);
            a->m.reply_to = &f->worker.box;
            cr_assert_eq(hl_store_post(f->store, &a->m), HL_OK);
        }
        for (int j = 0; j < 100; j++) {
            struct hl_accept *a = party_wait(&f->worker, HL_STORE_ACCEPT);
            cr_assert_eq(a->m.rc, HL_OK);
            hl_accept_free(a);
        }
    }
}

static struct hl_id begin_run(struct fixture *f, const char *project, const char *app)
{
    struct hl_id id;
    cr_assert_eq(record_run(f, (struct run_spec){.project = project, .app = app}, &id), HL_OK);
    return id;
}

static struct hl_id end_run(struct fixture *f, const char *project, const char *app)
{
    struct hl_id id = begin_run(f, project, app);
    cr_assert_eq(finish_run(f, &id, 1, NULL), HL_OK);
    return id;
}

/* --- runs ----------------------------------------------------------------------------------- */

STORE_TEST(list_shows_all_of_a_run)
{
    struct hl_id id;
    struct run_spec spec = {.project = "p1", .app = "a1", .body = "four", .url = "https://e.org/x"};
    cr_assert_eq(accept_run(f, spec, &id), HL_OK);
    give_credit(f, &f->worker, 1, false);
    struct hl_claimed *c = party_wait(&f->worker, HL_STORE_CLAIMED);
    cr_assert_eq(finish_run(f, &id, 1, "answer"), HL_OK);
    struct hl_list_runs l = any_runs("p1", "a1");
    cr_assert_eq(ask(f, &f->asker, &l.m), HL_OK);
    cr_assert_eq(l.count, 1);
    const struct hl_run_row *row = &l.rows[0];
    cr_assert(hl_id_eq(&row->run_id, &id));
    cr_assert_eq(row->state, HL_RUN_SUCCESS);
    cr_assert(row->is_async && row->has_webhook);
    cr_assert_eq(row->attempt, 1);
    cr_assert_eq(row->created_ms, c->created_ms);
    cr_assert(row->started_ms >= row->created_ms && row->finished_ms >= row->started_ms);
    cr_assert_eq(row->http_status, 200);
    cr_assert_eq(row->request_size, 4);
    cr_assert_eq(row->response_size, 6);
    cr_assert_eq(row->body_where, HL_BODY_INLINE);
    cr_assert_eq(row->encoding, HL_ENCODING_TEXT);
    cr_assert_eq(row->deliveries_pending, 1);
    cr_assert(hl_str_eq(row->project, HL_STR("p1")) && hl_str_eq(row->app, HL_STR("a1")));
    cr_assert(hl_str_eq(row->method, HL_STR("POST")));
    cr_assert(hl_str_eq(row->path, HL_STR("/run")), "no query: it may hold tokens");
    cr_assert(hl_str_eq(row->content_type, HL_STR("text/plain")));
    cr_assert_eq(row->content_encoding.n, 0);
    hl_operation_clear(&l.m);
    hl_claimed_free(c);
}

static bool is_made_by(struct fixture *f, const struct hl_id *id, struct hl_str identity)
{
    struct hl_get_run g = {.m.msg.type = HL_STORE_GET_RUN, .run_id = *id};
    cr_assert_eq(ask(f, &f->asker, &g.m), HL_OK);
    bool is_so = hl_str_eq(g.run.identity, identity);
    hl_get_run_fini(&g);
    return is_so;
}

STORE_TEST(run_says_who_made_it_until_it_goes)
{
    struct hl_id anns, bens, nobodys;
    struct run_spec ben = {.subject = "session:ben", .url = "https://e.org/x"};
    cr_assert_eq(accept_run(f, (struct run_spec){.subject = "ann"}, &anns), HL_OK);
    cr_assert_eq(record_run(f, ben, &bens), HL_OK);
    cr_assert_eq(accept_run(f, (struct run_spec){.body = "x"}, &nobodys), HL_OK);
    for (int i = 0; i < 2; i++) {
        cr_assert(is_made_by(f, &anns, HL_STR("ann")));
        cr_assert(is_made_by(f, &bens, HL_STR("session:ben")));
        cr_assert(is_made_by(f, &nobodys, HL_STR("")));
        if (i == 0)
            cr_assert_eq(cancel_run(f, &anns), HL_OK);
        if (i == 0)
            cr_assert_eq(finish_run(f, &bens, 1, "answer"), HL_OK);
    }
    struct hl_list_runs l = any_runs("p", "a");
    cr_assert_eq(ask(f, &f->asker, &l.m), HL_OK);
    cr_assert_eq(l.count, 3);
    cr_assert(hl_str_eq(l.rows[2].identity, HL_STR("ann")), "lists too");
    hl_operation_clear(&l.m);
}

STORE_TEST(run_that_waits_has_no_times_to_come_and_no_response)
{
    struct hl_id id = queue_run(f, "p", "a");
    struct hl_get_run g = {.m.msg.type = HL_STORE_GET_RUN, .run_id = id};
    cr_assert_eq(ask(f, &f->asker, &g.m), HL_OK);
    cr_assert_eq(g.run.started_ms, 0);
    cr_assert_eq(g.run.finished_ms, 0);
    cr_assert_eq(g.run.attempt, 0);
    cr_assert_eq(g.run.request_size, 0);
    cr_assert_eq(g.run.response_size, -1);
    hl_get_run_fini(&g);
}

/* Between the pages runs come, begin and end: what is there throughout is there once. */
STORE_TEST(i12_paging_yields_each_run_exactly_once)
{
    enum { N = 60 };
    struct hl_id ids[N];
    struct found found = {0};
    struct hl_list_runs l = any_runs("p", "");
    for (int i = 0; i < N; i++) {
        const char *app = i % 3 ? i % 3 == 1 ? "b" : "c" : "a";
        ids[i] = i % 4 ? end_run(f, "p", app) : queue_run(f, "p", app);
        queue_run(f, "other", app);
    }
    give_credit(f, &f->worker, MANY, false);
    l.limit = 7;
    while (next_page(f, &l, &found)) {
        end_run(f, "p", "a");
        struct hl_claimed *c = party_look(&f->worker, HL_STORE_CLAIMED);
        if (c)
            cr_assert_eq(finish_run(f, &c->run_id, c->epoch, NULL), HL_OK);
        hl_claimed_free(c);
    }
    for (int i = 0; i < N; i++)
        cr_assert_eq(times_found(&found, &ids[i]), 1);
    cr_assert_eq(found.n, N);
    cr_assert(is_newest_first(&found));
    cr_assert_geq(found.pages, (size_t)N / 7);
}

STORE_TEST(list_is_of_the_app_the_mode_and_the_state_that_were_asked_for)
{
    struct found found;
    struct hl_id queued = queue_run(f, "p", "a"), running = begin_run(f, "p", "a");
    struct hl_id done = end_run(f, "p", "a"), other = end_run(f, "p", "b");
    end_run(f, "q", "a");

    struct hl_list_runs l = any_runs("p", "a");
    find_runs(f, l, &found);
    cr_assert_eq(found.n, 3);
    find_runs(f, any_runs("p", ""), &found);
    cr_assert_eq(found.n, 4);
    cr_assert_eq(times_found(&found, &other), 1);
    find_runs(f, any_runs("nobody", ""), &found);
    cr_assert_eq(found.n, 0);

    const struct {
        enum hl_run_state state;
        const struct hl_id *id;
    } cases[] = {{HL_RUN_QUEUED, &queued}, {HL_RUN_RUNNING, &running}, {HL_RUN_SUCCESS, &done}};
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        l.state = cases[i].state;
        l.is_async = -1;
        find_runs(f, l, &found);
        cr_assert_eq(found.n, 1, "%s", hl_run_state_text(cases[i].state));
        cr_assert_eq(times_found(&found, cases[i].id), 1);
        l.is_async = cases[i].state != HL_RUN_QUEUED;
        find_runs(f, l, &found);
        cr_assert_eq(found.n, 0, "%s, of the other mode", hl_run_state_text(cases[i].state));
    }
    l.state = HL_RUN_FAILURE;
    find_runs(f, l, &found);
    cr_assert_eq(found.n, 0);
    l = any_runs("p", "a");
    l.is_async = 1;
    find_runs(f, l, &found);
    cr_assert_eq(found.n, 1);
    cr_assert_eq(times_found(&found, &queued), 1);
}

static struct hl_id id_at(int64_t ms, uint8_t last)
{
    struct hl_id id = {{0}};
    for (int i = 0; i < 6; i++)
        id.b[5 - i] = (uint8_t)(ms >> (8 * i));
    id.b[6] = 0x70;
    id.b[15] = last;
    return id;
}

STORE_TEST(list_is_of_the_time_that_was_asked_for)
{
    int64_t now_ms = hl_clock_wall_ms();
    struct found found;
    struct hl_list_runs l = any_runs("p", "a");
    for (int i = 0; i < 10; i++) {
        struct run_spec spec = {.id = id_at(now_ms + i, 1)};
        cr_assert_eq(accept_run(f, spec, NULL), HL_OK);
    }
    l.since_ms = now_ms + 3;
    l.until_ms = now_ms + 7;
    l.limit = 3;
    for (int state = -1; state <= HL_RUN_QUEUED; state++) {
        l.state = state;
        find_runs(f, l, &found);
        cr_assert_eq(found.n, 4);
        cr_assert_eq(hl_id_time_ms(&found.ids[0]), now_ms + 6);
        cr_assert_eq(hl_id_time_ms(&found.ids[3]), now_ms + 3);
    }
}

/* A run that was long in coming has an old id and a new place in the queue. */
STORE_TEST(i12_queued_runs_are_each_on_one_page_whatever_their_ids)
{
    int64_t now_ms = hl_clock_wall_ms();
    struct found found;
    struct hl_list_runs l = any_runs("p", "");
    for (int i = 0; i < 40; i++) {
        struct run_spec spec = {.id = id_at(now_ms + (i * 17) % 40, 2)};
        spec.app = i % 2 ? "a" : "b";
        cr_assert_eq(accept_run(f, spec, NULL), HL_OK);
        queue_run(f, "other", "a");
    }
    l.state = HL_RUN_QUEUED;
    l.limit = 3;
    find_runs(f, l, &found);
    cr_assert_eq(found.n, 40);
    for (size_t i = 0; i < found.n; i++)
        cr_assert_eq(times_found(&found, &found.ids[i]), 1);
}

/* Those that run are older than all that wait; the walk over these is not taken. */
STORE_TEST(running_runs_are_found_beside_a_long_queue)
{
    struct hl_id running[5];
    struct found found;
    for (int i = 0; i < 5; i++) {
        running[i] = queue_run(f, "p", "a");
        give_credit(f, &f->worker, 1, false);
        hl_claimed_free(party_wait(&f->worker, HL_STORE_CLAIMED));
    }
    queue_many(f, 30);
    struct hl_list_runs l = any_runs("p", "a");
    l.state = HL_RUN_RUNNING;
    l.limit = 3;
    find_runs(f, l, &found);
    cr_assert_eq(found.pages, 2, "not one for each piece of the queue");
    cr_assert_eq(found.n, 5);
    for (int i = 0; i < 5; i++)
        cr_assert_eq(times_found(&found, &running[i]), 1);
    cr_assert(is_newest_first(&found));
}

STORE_TEST(one_run_is_found_only_by_its_project_and_app)
{
    struct hl_id id = end_run(f, "p", "a");
    static const struct {
        const char *project, *app;
        enum hl_err rc;
    } cases[] = {{"p", "a", HL_OK}, {"", "", HL_OK}, {"p", "", HL_OK}, {"q", "a", HL_ERR_NOT_FOUND},
        {"p", "b", HL_ERR_NOT_FOUND}, {"q", "", HL_ERR_NOT_FOUND}};
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        struct hl_get_run g = {.m.msg.type = HL_STORE_GET_RUN, .run_id = id};
        strcpy(g.project, cases[i].project);
        strcpy(g.app, cases[i].app);
        cr_assert_eq(ask(f, &f->asker, &g.m), cases[i].rc, "%s/%s", g.project, g.app);
        hl_get_run_fini(&g);
    }
}

STORE_TEST(cancel_of_another_projects_run_is_not_found)
{
    struct hl_id id = queue_run(f, "p", "a");
    struct hl_run_ref ref = {.m.msg.type = HL_STORE_CANCEL, .run_id = id, .project = "q"};
    cr_assert_eq(ask(f, &f->asker, &ref.m), HL_ERR_NOT_FOUND);
    strcpy(ref.project, "p");
    strcpy(ref.app, "b");
    cr_assert_eq(ask(f, &f->asker, &ref.m), HL_ERR_NOT_FOUND);
    cr_assert_eq(state_of(f, &id), HL_RUN_QUEUED);
    strcpy(ref.app, "a");
    cr_assert_eq(ask(f, &f->asker, &ref.m), HL_OK);
    cr_assert_eq(state_of(f, &id), HL_RUN_CANCELLED);
}

/* --- deliveries ----------------------------------------------------------------------------- */

static struct hl_list_deliveries any_deliveries(const char *project)
{
    struct hl_list_deliveries l = {
        .m.msg.type = HL_STORE_LIST_DELIVERIES, .state = -1, .limit = HL_LIST_MAX};
    strcpy(l.project, project);
    return l;
}

static void find_deliveries(struct fixture *f, struct hl_list_deliveries l, struct found *found)
{
    *found = (struct found){0};
    do {
        l.has_more = false;
        cr_assert_eq(ask(f, &f->asker, &l.m), HL_OK);
        for (size_t i = 0; i < l.count; i++)
            note(found, &l.rows[i].delivery_id);
        l.before = l.next;
        hl_operation_clear(&l.m);
    } while (l.has_more);
}

static struct hl_get_delivery get_delivery(struct fixture *f, const struct hl_id *id)
{
    struct hl_get_delivery g = {.m.msg.type = HL_STORE_GET_DELIVERY, .delivery_id = *id};
    strcpy(g.project, "p");
    cr_assert_eq(ask(f, &f->asker, &g.m), HL_OK);
    return g;
}

STORE_TEST(delivery_shows_each_attempt_of_each_round)
{
    struct hl_leased *l = lease_one(f, "https://user.example:8443/secret?token=1");
    struct hl_get_delivery g = get_delivery(f, &l->delivery_id);
    cr_assert_eq(g.delivery.n_attempts, 1);
    cr_assert_eq(g.delivery.attempts[0].verdict, HL_ATTEMPT_RUNNING);
    cr_assert_eq(g.delivery.attempts[0].ended_ms, 0);
    hl_get_delivery_fini(&g);

    cr_assert_eq(say_outcome(f, l, 1, HL_ATTEMPT_RETRY), HL_OK);
    cr_assert_eq(say_attempt(f, l, 2), HL_OK);
    cr_assert_eq(say_outcome(f, l, 2, HL_ATTEMPT_RETRY), HL_OK);
    cr_assert_eq(say_attempt(f, l, 3), HL_OK);
    cr_assert_eq(say_outcome(f, l, 3, HL_ATTEMPT_RETRY), HL_OK);
    cr_assert_eq(redeliver(f, &l->delivery_id, "p", NULL), HL_OK);
    give_lease_credit(f, 1);
    struct hl_leased *again = party_wait(&f->sender, HL_STORE_LEASED);
    cr_assert_eq(say_outcome(f, again, 1, HL_ATTEMPT_OK), HL_OK);

    static const struct {
        uint32_t round, n;
        enum hl_attempt_verdict verdict;
        uint16_t status;
    } attempts[] = {{1, 1, HL_ATTEMPT_RETRY, 503}, {1, 2, HL_ATTEMPT_RETRY, 503},
        {1, 3, HL_ATTEMPT_DEAD, 503}, {2, 1, HL_ATTEMPT_OK, 200}};
    g = get_delivery(f, &l->delivery_id);
    const struct hl_delivery_row *row = &g.delivery;
    cr_assert(hl_id_eq(&row->run_id, &l->run_id));
    cr_assert_eq(row->state, HL_DELIVERY_OK);
    cr_assert_eq(row->run_state, HL_RUN_SUCCESS);
    cr_assert_eq(row->round, 2);
    cr_assert_eq(row->n, 1);
    cr_assert_eq(row->max_attempts, 3);
    cr_assert(row->created_ms > 0 && row->done_ms >= row->created_ms);
    cr_assert(hl_str_eq(row->destination, HL_STR("https://user.example:8443")));
    cr_assert(hl_str_eq(row->project, HL_STR("p")) && hl_str_eq(row->app, HL_STR("a")));
    cr_assert_eq(row->n_attempts, HL_ARRAY_LEN(attempts));
    for (size_t i = 0; i < HL_ARRAY_LEN(attempts); i++) {
        cr_assert_eq(row->attempts[i].round, attempts[i].round);
        cr_assert_eq(row->attempts[i].n, attempts[i].n);
        cr_assert_eq(row->attempts[i].verdict, attempts[i].verdict, "attempt %zu", i);
        cr_assert_eq(row->attempts[i].http_status, attempts[i].status);
        cr_assert_geq(row->attempts[i].ended_ms, row->attempts[i].started_ms);
    }
    hl_get_delivery_fini(&g);
    hl_leased_free(again);
    hl_leased_free(l);
}

STORE_TEST(attempt_that_was_never_sent_is_not_shown)
{
    struct hl_leased *l = lease_one(f, "https://e.org/");
    struct hl_attempt_outcome o = {.m.msg.type = HL_STORE_OUTCOME,
        .delivery_id = l->delivery_id,
        .round = 1,
        .n = 1,
        .verdict = HL_ATTEMPT_ABANDONED};
    cr_assert_eq(ask(f, &f->sender, &o.m), HL_OK);
    struct hl_get_delivery g = get_delivery(f, &l->delivery_id);
    cr_assert_eq(g.delivery.n_attempts, 0);
    cr_assert_eq(g.delivery.n, 0);
    hl_get_delivery_fini(&g);
    hl_leased_free(l);
}

STORE_TEST(attempts_shown_are_the_newest_hundred_and_all_are_counted)
{
    struct hl_leased *l = lease_one(f, "https://e.org/");
    for (uint32_t round = 1; round <= HL_ATTEMPTS_SHOWN + 5; round++) {
        l->round = round;
        cr_assert_eq(say_outcome(f, l, 1, HL_ATTEMPT_DEAD), HL_OK);
        cr_assert_eq(redeliver(f, &l->delivery_id, "p", NULL), HL_OK);
        give_lease_credit(f, 1);
        hl_leased_free(party_wait(&f->sender, HL_STORE_LEASED));
    }
    struct hl_get_delivery g = get_delivery(f, &l->delivery_id);
    cr_assert_eq(g.delivery.n_attempts, HL_ATTEMPTS_SHOWN);
    cr_assert_eq(g.delivery.attempt_count, HL_ATTEMPTS_SHOWN + 6);
    cr_assert_eq(g.delivery.attempts[0].round, 7);
    cr_assert_eq(g.delivery.attempts[HL_ATTEMPTS_SHOWN - 1].round, HL_ATTEMPTS_SHOWN + 6);
    hl_get_delivery_fini(&g);
    hl_leased_free(l);
}

STORE_TEST(i12_paging_yields_each_delivery_exactly_once)
{
    enum { N = 30 };
    struct found found;
    struct hl_leased *leased[N];
    struct hl_list_deliveries l = any_deliveries("p");
    give_lease_credit(f, 2 * N);
    for (int i = 0; i < N; i++) {
        char url[32]; /* one destination has four places */
        snprintf(url, sizeof(url), "https://h%d.org/", i);
        leased[i] = lease_one(f, url);
    }
    for (int i = 0; i < N; i++)
        if (i % 3)
            cr_assert_eq(
                say_outcome(f, leased[i], 1, i % 3 == 1 ? HL_ATTEMPT_OK : HL_ATTEMPT_DEAD), HL_OK);
    l.limit = 4;
    find_deliveries(f, l, &found);
    cr_assert_eq(found.n, N);
    cr_assert(is_newest_first(&found));
    for (int state = HL_DELIVERY_PENDING; state <= HL_DELIVERY_DEAD; state++) {
        l.state = state;
        find_deliveries(f, l, &found);
        cr_assert_eq(found.n, N / 3, "%s", hl_delivery_state_text(state));
        for (int i = 0; i < N; i++)
            cr_assert_eq(times_found(&found, &leased[i]->delivery_id), i % 3 == state);
    }
    l = any_deliveries("p");
    l.run_id = leased[7]->run_id;
    find_deliveries(f, l, &found);
    cr_assert_eq(found.n, 1);
    cr_assert_eq(times_found(&found, &leased[7]->delivery_id), 1);
    find_deliveries(f, any_deliveries("q"), &found);
    cr_assert_eq(found.n, 0);
    for (int i = 0; i < N; i++)
        hl_leased_free(leased[i]);
}

STORE_TEST(list_of_deliveries_has_attempts_when_asked)
{
    struct hl_leased *l = lease_one(f, "http://e.org/x");
    for (int with = 0; with < 2; with++) {
        struct hl_list_deliveries list = any_deliveries("p");
        list.with_attempts = with;
        cr_assert_eq(ask(f, &f->asker, &list.m), HL_OK);
        cr_assert_eq(list.count, 1);
        cr_assert_eq(list.rows[0].n_attempts, (size_t)with);
        cr_assert(hl_str_eq(list.rows[0].destination, HL_STR("http://e.org")));
        hl_operation_clear(&list.m);
    }
    struct hl_get_delivery g = {
        .m.msg.type = HL_STORE_GET_DELIVERY, .delivery_id = l->delivery_id, .project = "q"};
    cr_assert_eq(ask(f, &f->asker, &g.m), HL_ERR_NOT_FOUND, "another project's");
    hl_leased_free(l);
}

STORE_TEST(redelivery_of_many_is_of_the_state_that_was_asked_for)
{
    static const enum hl_attempt_verdict verdicts[] = {
        HL_ATTEMPT_OK, HL_ATTEMPT_DEAD, HL_ATTEMPT_OK};
    struct hl_leased *leased[3];
    give_lease_credit(f, 3);
    for (int i = 0; i < 3; i++)
        leased[i] = lease_one(f, "https://e.org/");
    for (int i = 0; i < 3; i++)
        cr_assert_eq(say_outcome(f, leased[i], 1, verdicts[i]), HL_OK);
    struct hl_redeliver r = {
        .m.msg.type = HL_STORE_REDELIVER, .project = "p", .state = HL_DELIVERY_OK};
    cr_assert_eq(ask(f, &f->asker, &r.m), HL_OK);
    cr_assert_eq(r.count, 2);
    struct hl_redeliver pending = {.m.msg.type = HL_STORE_REDELIVER, .project = "p"};
    cr_assert_eq(ask(f, &f->asker, &pending.m), HL_ERR_INVALID);
    for (int i = 0; i < 3; i++)
        hl_leased_free(leased[i]);
}

/* --- apps ----------------------------------------------------------------------------------- */

STORE_TEST(list_of_apps_names_those_with_runs)
{
    end_run(f, "p", "b");
    end_run(f, "p", "a");
    queue_run(f, "p", "a");
    end_run(f, "q", "c");
    struct hl_list_apps l = {.m.msg.type = HL_STORE_LIST_APPS, .project = "p"};
    cr_assert_eq(ask(f, &f->asker, &l.m), HL_OK);
    cr_assert_eq(l.count, 2);
    cr_assert_str_eq(l.rows[0].text, "a");
    cr_assert_str_eq(l.rows[1].text, "b");
    hl_operation_clear(&l.m);
}
