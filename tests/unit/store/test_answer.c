/* test_answer.c - each request has one answer, not before its commit, and nobody waits for the disk
 * to ask. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fault_vfs.h"
#include "fixture.h"
#include "store/accept.h"
#include "store/account.h"
#include "store/claim.h"
#include "store/lease.h"
#include "store/question.h"

static void post(struct fixture *f, struct hl_store_msg *m)
{
    m->reply_to = &f->asker.box;
    cr_assert_eq(hl_store_post(f->store, m), HL_OK);
}

/* --- one answer ------------------------------------------------------------------------------ */

static struct hl_store_msg *make_request(enum hl_store_op op, size_t size)
{
    struct hl_store_msg *m = calloc(1, size);
    m->msg.type = op;
    return m;
}

/* One of each kind that has a reply, all about the same run and delivery. */
static size_t make_one_of_each(
    struct fixture *f, const struct hl_leased *l, struct hl_store_msg **m)
{
    size_t n = 0;
    struct hl_release *release = hl_release_new(party_wait(&f->worker, HL_STORE_CLAIMED));
    struct hl_attempt *attempt = calloc(1, sizeof(*attempt));
    struct hl_attempt_outcome *outcome = calloc(1, sizeof(*outcome));
    struct hl_run_ref *cancel = calloc(1, sizeof(*cancel));
    struct hl_redeliver *all = calloc(1, sizeof(*all));
    struct hl_get_run *get = calloc(1, sizeof(*get));
    struct hl_store_msg *withdraw = calloc(1, sizeof(*withdraw));
    attempt->delivery_id = outcome->delivery_id = l->delivery_id;
    attempt->round = outcome->round = l->round;
    outcome->n = 1;
    outcome->verdict = HL_ATTEMPT_DEAD;
    cancel->run_id = get->run_id = l->run_id;
    strcpy(all->project, "p");
    attempt->m.msg.type = HL_STORE_ATTEMPT;
    outcome->m.msg.type = HL_STORE_OUTCOME;
    cancel->m.msg.type = HL_STORE_CANCEL;
    all->m.msg.type = HL_STORE_REDELIVER;
    all->state = HL_DELIVERY_DEAD;
    get->m.msg.type = HL_STORE_GET_RUN;
    withdraw->msg.type = HL_STORE_WITHDRAW;
    m[n++] = &make_accept(f, HL_STORE_ACCEPT, &(struct run_spec){.body = "x"})->m;
    m[n++] = &make_accept(f, HL_STORE_RECORD, &(struct run_spec){0})->m;
    m[n++] = &make_finish(&l->run_id, 1, "late")->m;
    m[n++] = &release->m;
    m[n++] = &attempt->m;
    m[n++] = &outcome->m;
    m[n++] = &cancel->m;
    m[n++] = &all->m;
    m[n++] = &get->m;
    m[n++] = withdraw;
    m[n++] = make_request(HL_STORE_LIST_RUNS, sizeof(struct hl_list_runs));
    ((struct hl_list_runs *)m[n - 1])->state = HL_RUN_RUNNING;
    m[n++] = make_request(HL_STORE_LIST_DELIVERIES, sizeof(struct hl_list_deliveries));
    m[n++] = make_request(HL_STORE_GET_DELIVERY, sizeof(struct hl_get_delivery));
    ((struct hl_get_delivery *)m[n - 1])->delivery_id = l->delivery_id;
    m[n++] = make_request(HL_STORE_LIST_APPS, sizeof(struct hl_list_apps));
    m[n++] = make_request(HL_STORE_ADD_ACCOUNT, sizeof(struct hl_add_account));
    m[n++] = make_request(HL_STORE_REVOKE_ACCOUNT, sizeof(struct hl_revoke_account));
    m[n++] = make_request(HL_STORE_LIMIT_ACCOUNT, sizeof(struct hl_limit_account));
    m[n++] = make_request(HL_STORE_TOUCH_ACCOUNTS, sizeof(struct hl_touch_accounts));
    m[n++] = make_request(HL_STORE_LIST_ACCOUNTS, sizeof(struct hl_list_accounts));
    return n;
}

STORE_TEST(i18_every_kind_of_request_is_answered_once_on_close)
{
    struct hl_store_msg *requests[24];
    struct hl_leased *l = lease_one(f, "https://e.org/");
    cr_assert_eq(accept_run(f, (struct run_spec){0}, NULL), HL_OK);
    give_credit(f, &f->worker, 1, false);
    size_t n = make_one_of_each(f, l, requests);
    for (size_t i = 0; i < n; i++)
        post(f, requests[i]);
    fixture_close(f);
    for (size_t i = 0; i < n; i++) {
        uint32_t type = requests[i]->msg.type;
        cr_assert_eq(party_look(&f->asker, type), requests[i], "type %u", type);
        cr_assert_null(party_look(&f->asker, type), "type %u: once", type);
        drop_message(&requests[i]->msg);
    }
    hl_leased_free(l);
}

/* --- not before the commit -------------------------------------------------------------------- */

static bool is_there(struct fixture *f, const struct hl_id *id)
{
    struct hl_get_run g;
    enum hl_err rc = get_run(f, id, &g);
    hl_body_fini(&g.outcome.body);
    return rc == HL_OK;
}

Test(sqlite, i1_nothing_is_answered_or_seen_before_its_commit_is_synced)
{
    struct fixture f;
    fault_vfs_install();
    fixture_init(&f, HL_STORE_SQLITE);
    fixture_open(&f);
    give_credit(&f, &f.worker, 1, false);
    struct hl_accept *a = make_accept(&f, HL_STORE_ACCEPT, &(struct run_spec){0});
    a->m.reply_to = &f.worker.box;
    fault_vfs_hold();
    cr_assert_eq(hl_store_post(f.store, &a->m), HL_OK);
    fault_vfs_await();
    cr_assert_null(party_look(&f.worker, HL_STORE_ACCEPT));
    cr_assert_null(party_look(&f.worker, HL_STORE_CLAIMED));
    cr_assert(!is_there(&f, &a->run_id));
    fault_vfs_release();
    cr_assert_eq(party_wait(&f.worker, HL_STORE_ACCEPT), a);
    hl_claimed_free(party_wait(&f.worker, HL_STORE_CLAIMED));
    cr_assert(is_there(&f, &a->run_id));
    hl_accept_free(a);
    fixture_fini(&f);
}

/* --- nobody waits ----------------------------------------------------------------------------- */

/* What posting costs its caller: not what the machine does meanwhile. */
static int64_t thread_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* Posts `n` messages, finishes of nobody with bodies of 256 KiB and accepts; how many took a millisecond or more. */
static int post_many(struct fixture *f, struct hl_store_msg **messages, int n)
{
    static char body[256 * 1024];
    int long_ones = 0;
    struct hl_id nobody = {{1}};
    memset(body, 'b', sizeof(body) - 1);
    for (int i = 0; i < n; i++)
        messages[i] = i % 16 ? &make_accept(f, HL_STORE_ACCEPT, &(struct run_spec){0})->m
                             : &make_finish(&nobody, 1, body)->m;
    for (int i = 0; i < n; i++) {
        int64_t before = thread_us();
        post(f, messages[i]);
        long_ones += thread_us() - before >= 1000;
    }
    return long_ones;
}

/* Those of one type may be answered in another order than they were posted in. */
static void take_answers(struct fixture *f, int n)
{
    for (int i = 0; i < n; i++)
        drop_message(party_wait(&f->asker, i % 16 ? HL_STORE_ACCEPT : HL_STORE_FINISH));
}

/*
 * A post that hashed, sealed or copied its body would take that each time, one that looked through what waits in the
 * second half of the posts. An interrupt that the kernel serves meanwhile, or a page that it finds late, is one post's.
 */
STORE_TEST(i19_no_post_takes_a_millisecond)
{
    enum { N = 2000 };
    static struct hl_store_msg *messages[N];
    for (int round = 0; round < 4; round++) {
        int long_ones = post_many(f, messages, N);
        take_answers(f, N);
        cr_assert_lt(long_ones, N / 64, "%d of %d", long_ones, N);
    }
}

/* With the disk stuck, a post that waited for it would not come back. */
Test(sqlite, i19_posts_do_not_wait_for_a_disk_that_is_stuck)
{
    enum { N = 1000 };
    static struct hl_store_msg *messages[N];
    struct fixture f;
    fault_vfs_install();
    fixture_init(&f, HL_STORE_SQLITE);
    fixture_open(&f);
    fault_vfs_hold();
    post_many(&f, messages, N);
    fault_vfs_await();
    cr_assert_null(party_look(&f.asker, HL_STORE_ACCEPT));
    fault_vfs_release();
    take_answers(&f, N);
    fixture_fini(&f);
}
