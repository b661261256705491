/* test_request.c - requests that are kept after their runs' ends. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "config/config.h"
#include "fixture.h"
#include "store/accept.h"
#include "store/claim.h"
#include "store/question.h"

#define HEAD "POST /run HTTP/1.1\r\nHost: a\r\nX-Mine: 1\r\n"

static void init(struct fixture *f, enum hl_keep_requests keep)
{
    fixture_close(f);
    f->config->keep_requests = keep;
    fixture_open(f);
}

/* How it ends: with a claim and a finish, or without one. */
static struct hl_id run_to(struct fixture *f, enum hl_run_state state)
{
    struct run_spec spec = {
        .head = HEAD, .body = "ping", .url = "https://e.org/x", .secret = "hush"};
    struct hl_id id;
    cr_assert_eq(accept_run(f, spec, &id), HL_OK);
    if (state == HL_RUN_CANCELLED) {
        cr_assert_eq(cancel_run(f, &id), HL_OK);
        return id;
    }
    give_credit(f, &f->worker, 1, false);
    struct hl_claimed *c = party_wait(&f->worker, HL_STORE_CLAIMED);
    struct hl_finish *finish = make_finish(&id, c->epoch, "pong");
    finish->outcome.state = state;
    cr_assert_eq(ask(f, &f->worker, &finish->m), HL_OK);
    hl_finish_free(finish);
    hl_claimed_free(c);
    return id;
}

static struct hl_get_run look(
    struct fixture *f, const struct hl_id *id, enum hl_asked_request with_request)
{
    struct hl_get_run g = {
        .m.msg.type = HL_STORE_GET_RUN, .run_id = *id, .with_request = with_request};
    cr_assert_eq(ask(f, &f->asker, &g.m), HL_OK);
    return g;
}

static void check_kept(struct fixture *f, const struct hl_id *id)
{
    struct hl_get_run g = look(f, id, HL_ASKED_REQUEST);
    const struct hl_kept_request *r = &g.request;
    cr_assert(r->is_there);
    cr_assert(hl_str_eq(hl_buf_str(&r->head), HL_STR(HEAD)));
    cr_assert_eq(r->body.where, HL_BODY_INLINE);
    cr_assert(hl_str_eq((struct hl_str){r->body.bytes, r->body.size}, HL_STR("ping")));
    cr_assert(hl_str_eq(hl_buf_str(&r->webhook_url), HL_STR("https://e.org/x")));
    cr_assert(hl_str_eq(hl_buf_str(&r->webhook_secret), HL_STR("hush")));
    hl_get_run_fini(&g);
    g = look(f, id, HL_ASKED_HEAD);
    cr_assert(hl_str_eq(hl_buf_str(&g.request.head), HL_STR(HEAD)));
    cr_assert_eq(g.request.body.where, HL_BODY_NONE);
    cr_assert_eq(g.request.webhook_secret.n, 0);
    hl_get_run_fini(&g);
    g = look(f, id, HL_ASKED_NO_REQUEST);
    cr_assert_not(g.request.is_there);
    hl_get_run_fini(&g);
}

static bool is_kept(struct fixture *f, const struct hl_id *id)
{
    struct hl_get_run g = look(f, id, HL_ASKED_REQUEST);
    bool is_there = g.request.is_there;
    hl_get_run_fini(&g);
    return is_there;
}

STORE_TEST(request_of_a_run_that_did_not_succeed_is_kept)
{
    init(f, HL_KEEP_REQUESTS_FAILED);
    struct hl_id failed = run_to(f, HL_RUN_FAILURE), cancelled = run_to(f, HL_RUN_CANCELLED);
    struct hl_id good = run_to(f, HL_RUN_SUCCESS);
    check_kept(f, &failed);
    check_kept(f, &cancelled);
    cr_assert_not(is_kept(f, &good));
}

STORE_TEST(request_of_any_run_is_kept_where_all_are)
{
    init(f, HL_KEEP_REQUESTS_ALL);
    struct hl_id failed = run_to(f, HL_RUN_FAILURE), good = run_to(f, HL_RUN_SUCCESS);
    check_kept(f, &failed);
    check_kept(f, &good);
}

STORE_TEST(no_request_is_kept_where_none_are)
{
    init(f, HL_KEEP_REQUESTS_NONE);
    struct hl_id failed = run_to(f, HL_RUN_FAILURE), cancelled = run_to(f, HL_RUN_CANCELLED);
    cr_assert_not(is_kept(f, &failed));
    cr_assert_not(is_kept(f, &cancelled));
}

STORE_TEST(request_of_a_run_that_has_not_ended_can_be_read)
{
    struct hl_id id;
    struct run_spec spec = {
        .head = HEAD, .body = "ping", .url = "https://e.org/x", .secret = "hush"};
    init(f, HL_KEEP_REQUESTS_FAILED);
    cr_assert_eq(accept_run(f, spec, &id), HL_OK);
    check_kept(f, &id);
    give_credit(f, &f->worker, 1, false);
    hl_claimed_free(party_wait(&f->worker, HL_STORE_CLAIMED));
    check_kept(f, &id);
}

STORE_TEST(rerun_says_of_which_run_it_is)
{
    init(f, HL_KEEP_REQUESTS_FAILED);
    struct hl_id id = run_to(f, HL_RUN_FAILURE);
    struct hl_accept *a = make_accept(f, HL_STORE_ACCEPT, &(struct run_spec){.body = "ping"});
    a->rerun_of = id;
    cr_assert_eq(ask(f, &f->worker, &a->m), HL_OK);
    struct hl_get_run g = look(f, &a->run_id, HL_ASKED_NO_REQUEST);
    cr_assert(hl_id_eq(&g.run.rerun_of, &id));
    hl_get_run_fini(&g);
    hl_accept_free(a);
    g = look(f, &id, HL_ASKED_NO_REQUEST);
    cr_assert(hl_id_is_nil(&g.run.rerun_of));
    hl_get_run_fini(&g);
}

STORE_TEST(run_says_which_ones_repeat_it_the_newest_first)
{
    enum { MADE = HL_RERUNS_SHOWN + 2 };
    struct hl_id first, made[MADE];
    init(f, HL_KEEP_REQUESTS_FAILED);
    first = run_to(f, HL_RUN_FAILURE);
    for (int i = 0; i < MADE; i++) {
        struct hl_accept *a = make_accept(f, HL_STORE_ACCEPT, &(struct run_spec){.body = "ping"});
        a->rerun_of = first;
        made[i] = a->run_id;
        cr_assert_eq(ask(f, &f->worker, &a->m), HL_OK);
        hl_accept_free(a);
    }
    cr_assert_eq(cancel_run(f, &made[MADE - 1]), HL_OK);
    struct hl_get_run g = {.m.msg.type = HL_STORE_GET_RUN, .run_id = first, .with_reruns = true};
    cr_assert_eq(ask(f, &f->asker, &g.m), HL_OK);
    cr_assert_eq(g.n_reruns, HL_RERUNS_SHOWN);
    for (int i = 0; i < HL_RERUNS_SHOWN; i++) {
        const struct hl_rerun *r = &g.reruns[i];
        cr_assert(hl_id_eq(&r->run_id, &made[MADE - 1 - i]), "%d", i);
        cr_assert_eq(r->state, i == 0 ? HL_RUN_CANCELLED : HL_RUN_QUEUED, "%d", i);
        cr_assert_gt(r->created_ms, 0);
    }
    hl_get_run_fini(&g);
    g = (struct hl_get_run){.m.msg.type = HL_STORE_GET_RUN, .run_id = made[0], .with_reruns = true};
    cr_assert_eq(ask(f, &f->asker, &g.m), HL_OK);
    cr_assert_eq(g.n_reruns, 0);
    hl_get_run_fini(&g);
}

static void dies_inside(enum hl_store_kind kind)
{
    struct fixture f;
    struct hl_id id;
    struct run_spec spec = {
        .head = HEAD, .body = "ping", .url = "https://e.org/x", .secret = "hush"};
    fixture_init(&f, kind);
    fixture_open(&f);
    init(&f, HL_KEEP_REQUESTS_FAILED);
    struct hl_id failed = run_to(&f, HL_RUN_FAILURE);
    give_credit(&f, &f.worker, 1, false); /* it is handed out in the transaction that accepts it */
    cr_assert_eq(accept_run(&f, spec, &id), HL_OK);
    hl_claimed_free(party_wait(&f.worker, HL_STORE_CLAIMED));
    fixture_die(&f);
    fixture_open(&f);
    check_kept(&f, &failed);
    check_kept(&f, &id);
    cr_assert_eq(state_of(&f, &id), HL_RUN_FAILURE);
    fixture_fini(&f);
}

Test(sqlite, request_of_a_run_that_was_interrupted_is_kept)
{
    dies_inside(HL_STORE_SQLITE);
}

Test(postgres, request_of_a_run_that_was_interrupted_is_kept, .timeout = 180)
{
    dies_inside(HL_STORE_POSTGRES);
}

Test(sqlite, kept_request_that_was_changed_on_disk_is_not_shown)
{
    struct fixture f;
    fixture_init(&f, HL_STORE_SQLITE);
    fixture_open(&f);
    init(&f, HL_KEEP_REQUESTS_FAILED);
    struct hl_id id = run_to(&f, HL_RUN_FAILURE), other = run_to(&f, HL_RUN_FAILURE);
    fixture_close(&f);
    change(&f, "UPDATE request SET body_bytes = 'pong' WHERE number = 1");
    change(&f, "UPDATE request SET head = zeroblob(80) WHERE number = 2");
    fixture_open(&f);
    struct hl_get_run g = look(&f, &id, HL_ASKED_REQUEST);
    cr_assert_eq(g.request.body.where, HL_BODY_DROPPED);
    hl_get_run_fini(&g);
    cr_assert_not(is_kept(&f, &other));
    fixture_fini(&f);
}
