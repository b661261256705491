/* test_fault.c - a store under a disk that is full, fails, or is slow. SQLite only. */
#include <criterion/criterion.h>
#include <sched.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fault_vfs.h"
#include "fixture.h"

static struct fixture f;

static void init(void)
{
    fault_vfs_install();
    fixture_init(&f, HL_STORE_SQLITE);
    fixture_open(&f);
}

static void fini(void)
{
    fault_vfs_fail_writes(0);
    fault_vfs_fail_syncs(0);
    fault_vfs_fail_after(0, 0);
    fixture_fini(&f);
}

TestSuite(fault, .init = init, .fini = fini, .timeout = 120);

static bool is_there(const struct hl_id *id)
{
    struct hl_get_run g;
    enum hl_err rc = get_run(&f, id, &g);
    hl_body_fini(&g.outcome.body);
    return rc == HL_OK;
}

Test(fault, i15_full_volume_refuses_accepts_and_keeps_finishes)
{
    struct hl_id running, refused;
    struct run_spec keyed = {.key = "k"};
    cr_assert_eq(record_run(&f, (struct run_spec){.url = "https://e.org/"}, &running), HL_OK);
    fault_vfs_fail_writes(SQLITE_FULL);
    cr_assert_eq(accept_run(&f, keyed, &refused), HL_ERR_FULL);
    cr_assert_eq(hl_counter_get(&hl_store_gauges(f.store)->is_full), 1);
    struct hl_finish *finish = make_finish(&running, 1, "answer");
    finish->m.reply_to = &f.worker.box;
    cr_assert_eq(hl_store_post(f.store, &finish->m), HL_OK);
    cr_assert_eq(accept_run(&f, keyed, NULL), HL_ERR_FULL, "answered while the finish waits");
    cr_assert_null(party_look(&f.worker, HL_STORE_FINISH));
    cr_assert_eq(state_of(&f, &running), HL_RUN_RUNNING);

    fault_vfs_fail_writes(0);
    cr_assert_eq(party_wait(&f.worker, HL_STORE_FINISH), finish);
    cr_assert_eq(finish->m.rc, HL_OK);
    cr_assert_eq(state_of(&f, &running), HL_RUN_SUCCESS);
    hl_finish_free(finish);
    while (hl_counter_get(&hl_store_gauges(f.store)->is_full))
        ;
    cr_assert(!is_there(&refused));
    cr_assert_eq(accept_run(&f, keyed, NULL), HL_OK, "no trace was left of the refused one");
}

Test(fault, i18_finish_that_waits_for_space_is_answered_on_close)
{
    struct hl_id running;
    cr_assert_eq(record_run(&f, (struct run_spec){0}, &running), HL_OK);
    fault_vfs_fail_writes(SQLITE_FULL);
    struct hl_finish *finish = make_finish(&running, 1, "answer");
    finish->m.reply_to = &f.worker.box;
    cr_assert_eq(hl_store_post(f.store, &finish->m), HL_OK);
    fixture_close(&f);
    cr_assert_eq(party_look(&f.worker, HL_STORE_FINISH), finish);
    cr_assert_eq(finish->m.rc, HL_ERR_UNAVAILABLE);
    hl_finish_free(finish);
    fault_vfs_fail_writes(0);
    fixture_open(&f);
    cr_assert_eq(state_of(&f, &running), HL_RUN_FAILURE, "interrupted");
}

Test(fault, failed_fsync_is_never_tried_again)
{
    struct hl_id acked, lost;
    cr_assert_eq(accept_run(&f, (struct run_spec){0}, &acked), HL_OK);
    fault_vfs_fail_syncs(SQLITE_IOERR_FSYNC);
    cr_assert_eq(accept_run(&f, (struct run_spec){0}, &lost), HL_ERR_IO);
    cr_assert_eq(hl_counter_get(&hl_store_gauges(f.store)->is_failing), 1);
    fault_vfs_fail_syncs(0);
    int calls = fault_vfs_calls();
    cr_assert_eq(accept_run(&f, (struct run_spec){0}, NULL), HL_ERR_UNAVAILABLE);
    cr_assert_eq(finish_run(&f, &acked, 1, NULL), HL_ERR_UNAVAILABLE);
    cr_assert_eq(fault_vfs_calls(), calls, "nothing is written any more");
    cr_assert_eq(state_of(&f, &acked), HL_RUN_QUEUED, "questions are still answered");
    give_credit(&f, &f.worker, 3, true);
    struct hl_credit *back = party_wait(&f.worker, HL_STORE_CREDIT_BACK);
    cr_assert_eq(back->n, 3);
    free(back);
    fixture_reopen(&f);
    cr_assert_eq(state_of(&f, &acked), HL_RUN_QUEUED);
    cr_assert_eq(accept_run(&f, (struct run_spec){0}, NULL), HL_OK);
}

/* An error at the k-th write or sync, for every k that a few operations make: what was acknowledged
 * before is there after, in the state that was acknowledged. */
Test(fault, acknowledged_runs_survive_an_error_at_any_call)
{
    static const int codes[] = {SQLITE_IOERR_WRITE, SQLITE_IOERR_FSYNC, SQLITE_FULL};
    for (int k = 1; k <= 45; k++) {
        struct hl_id ids[4];
        unsigned accepted = 0, finished = 0;
        fault_vfs_fail_after(k, codes[k % 3]);
        for (int i = 0; i < 4; i++) {
            enum hl_err rc = record_run(&f, (struct run_spec){.url = "https://e.org/"}, &ids[i]);
            if (rc)
                break;
            accepted++;
        }
        for (unsigned i = 0; i < accepted && codes[k % 3] != SQLITE_FULL; i++) {
            if (finish_run(&f, &ids[i], 1, "answer"))
                break;
            finished++;
        }
        fault_vfs_fail_after(0, 0);
        fixture_reopen(&f);
        for (unsigned i = 0; i < accepted; i++) {
            enum hl_run_state state = state_of(&f, &ids[i]);
            cr_assert(i < finished ? state == HL_RUN_SUCCESS : state >= HL_RUN_SUCCESS, "k %d", k);
        }
    }
}

Test(fault, requests_beyond_the_bound_are_refused_at_once)
{
    enum { MOST = 4096 };
    static struct hl_accept *accepts[MOST + 1];
    for (int i = 0; i <= MOST; i++) {
        accepts[i] = make_accept(&f, HL_STORE_ACCEPT, &(struct run_spec){0});
        accepts[i]->m.reply_to = &f.worker.box;
    }
    fault_vfs_hold();
    for (int i = 0; i < MOST; i++)
        cr_assert_eq(hl_store_post(f.store, &accepts[i]->m), HL_OK);
    fault_vfs_await();
    cr_assert_eq(hl_store_post(f.store, &accepts[MOST]->m), HL_ERR_BUSY);
    fault_vfs_release();
    for (int i = 0; i < MOST; i++) {
        struct hl_accept *a = party_wait(&f.worker, HL_STORE_ACCEPT);
        cr_assert_eq(a->m.rc, HL_OK);
        hl_accept_free(a);
    }
    cr_assert_eq(ask(&f, &f.worker, &accepts[MOST]->m), HL_OK);
    hl_accept_free(accepts[MOST]);
    cr_assert_lt(hl_counter_get(&hl_store_gauges(f.store)->commits), 30, "256 share a commit");
}

/* --- a volume that is really full ------------------------------------------------------------ */

enum { ON_TMPFS_OK = 0, ON_TMPFS_SKIP = 77 };

/* The whole volume goes to queued runs; each is finished all the same. */
static int fill_and_finish(void)
{
    static char large[20 * 1024], answer[4 * 1024];
    static struct hl_id ids[4096];
    unsigned n = 0;
    enum hl_err rc;
    memset(large, 'x', sizeof(large) - 1);
    memset(answer, 'y', sizeof(answer) - 1);
    fixture_open(&f);
    while ((rc = accept_run(&f, (struct run_spec){.body = large}, &ids[n])) == HL_OK)
        n++;
    cr_assert_eq(rc, HL_ERR_FULL);
    cr_assert_gt(n, 100);
    give_credit(&f, &f.worker, n, false);
    for (unsigned i = 0; i < n; i++) {
        struct hl_claimed *c = party_wait(&f.worker, HL_STORE_CLAIMED);
        cr_assert_eq(finish_run(&f, &c->run_id, c->epoch, answer), HL_OK);
        hl_claimed_free(c);
    }
    fixture_reopen(&f);
    for (unsigned i = 0; i < n; i++)
        cr_assert_eq(state_of(&f, &ids[i]), HL_RUN_SUCCESS);
    while ((rc = accept_run(&f, (struct run_spec){.body = large}, NULL)) == HL_ERR_FULL)
        ; /* what is free inside the database goes back to the volume in quiet moments */
    cr_assert_eq(rc, HL_OK, "room again");
    fixture_close(&f);
    return ON_TMPFS_OK;
}

/* A tmpfs of `size` over the data directory, for this process only. */
static bool mount_small(const char *size)
{
    return unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("tmpfs", f.dir, "tmpfs", 0, size) == 0;
}

Test(volume, full_one_refuses_new_runs_and_finishes_the_accepted_ones, .timeout = 120)
{
    fixture_init(&f, HL_STORE_SQLITE);
    pid_t child = fork();
    if (child == 0)
        _exit(mount_small("size=12m") ? fill_and_finish() : ON_TMPFS_SKIP);
    int status;
    waitpid(child, &status, 0);
    fixture_fini(&f);
    if (WIFEXITED(status) && WEXITSTATUS(status) == ON_TMPFS_SKIP)
        cr_skip_test("needs the right to mount");
    cr_assert_eq(status, 0);
}
