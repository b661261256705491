/* test_fault.c - a store under a disk that is full, fails, or is slow. SQLite only. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <sched.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/metric.h"
#include "config/config.h"
#include "fault_vfs.h"
#include "fixture.h"
#include "store/accept.h"
#include "store/claim.h"
#include "store/gauges.h"
#include "store/lease.h"
#include "store/question.h"
#include "store/store.h"

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
    fault_vfs_fail_reads(0);
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
    cr_assert_eq(hl_counter_get(&hl_store_get_gauges(f.store)->is_full), 1);
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
    while (hl_counter_get(&hl_store_get_gauges(f.store)->is_full))
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

Test(fault, i18_finish_that_waited_for_space_is_kept_on_close_when_there_is_some)
{
    struct hl_id running;
    cr_assert_eq(record_run(&f, (struct run_spec){0}, &running), HL_OK);
    fault_vfs_fail_writes(SQLITE_FULL);
    struct hl_finish *finish = make_finish(&running, 1, "answer");
    finish->m.reply_to = &f.worker.box;
    cr_assert_eq(hl_store_post(f.store, &finish->m), HL_OK);
    cr_assert_eq(accept_run(&f, (struct run_spec){0}, NULL), HL_ERR_FULL, "the finish waits");
    cr_assert_null(party_look(&f.worker, HL_STORE_FINISH));
    fault_vfs_fail_writes(0);
    fixture_close(&f); /* before its next try */
    cr_assert_eq(party_look(&f.worker, HL_STORE_FINISH), finish);
    cr_assert_eq(finish->m.rc, HL_OK);
    hl_finish_free(finish);
    fixture_open(&f);
    cr_assert_eq(state_of(&f, &running), HL_RUN_SUCCESS);
}

static void await_failing(uint64_t is_failing)
{
    while (hl_counter_get(&hl_store_get_gauges(f.store)->is_failing) != is_failing)
        sched_yield();
}

/* Posts it, and waits until it is answered or the store fails. */
static void post_or_fail(struct hl_store_msg *m, uint32_t type, struct hl_msg **reply)
{
    m->reply_to = &f.worker.box;
    cr_assert_eq(hl_store_post(f.store, m), HL_OK);
    do
        *reply = party_look(&f.worker, type);
    while (!*reply && !hl_counter_get(&hl_store_get_gauges(f.store)->is_failing));
}

Test(fault, failed_fsync_is_never_tried_again_and_the_database_is_opened_anew)
{
    struct hl_id acked, running, lost;
    cr_assert_eq(accept_run(&f, (struct run_spec){0}, &acked), HL_OK);
    cr_assert_eq(record_run(&f, (struct run_spec){.url = "https://e.org/"}, &running), HL_OK);
    fault_vfs_fail_syncs(SQLITE_IOERR_FSYNC);
    enum hl_err rc = accept_run(&f, (struct run_spec){0}, &lost);
    cr_assert(rc == HL_ERR_IO || rc == HL_ERR_UNAVAILABLE, "%d: a checkpoint may be the first", rc);
    cr_assert_eq(hl_counter_get(&hl_store_get_gauges(f.store)->is_failing), 1);
    cr_assert_eq(accept_run(&f, (struct run_spec){0}, NULL), HL_ERR_UNAVAILABLE);
    cr_assert_eq(cancel_run(&f, &acked), HL_ERR_UNAVAILABLE, "who can ask again does not wait");
    struct hl_finish *finish = make_finish(&running, 1, "answer");
    finish->m.reply_to = &f.worker.box;
    cr_assert_eq(hl_store_post(f.store, &finish->m), HL_OK);
    give_credit(&f, &f.worker, 3, true);
    struct hl_credit *back = party_wait(&f.worker, HL_STORE_CREDIT_BACK);
    cr_assert_eq(back->n, 3);
    free(back);
    cr_assert_null(party_look(&f.worker, HL_STORE_FINISH), "it waits");

    fault_vfs_fail_syncs(0);
    cr_assert_eq(party_wait(&f.worker, HL_STORE_FINISH), finish);
    cr_assert_eq(finish->m.rc, HL_OK);
    hl_finish_free(finish);
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(state_of(&f, &acked), HL_RUN_QUEUED);
        cr_assert_eq(state_of(&f, &running), HL_RUN_SUCCESS);
        cr_assert(!is_there(&lost), "its caller was told that it was not kept");
        cr_assert_eq(accept_run(&f, (struct run_spec){0}, NULL), HL_OK);
        fixture_reopen(&f);
    }
}

/* There are so many that some are in no cache after the start. */
Test(fault, queued_runs_that_cannot_be_read_just_now_wait_until_they_can)
{
    enum { RUNS = 120, BODY = 200000 };
    struct hl_id ids[RUNS];
    char *body = malloc(BODY + 1);
    memset(body, 'b', BODY);
    body[BODY] = '\0';
    for (int i = 0; i < RUNS; i++)
        cr_assert_eq(accept_run(&f, (struct run_spec){.body = body}, &ids[i]), HL_OK);
    free(body);
    fixture_reopen(&f);
    settle(&f); /* what is looked at after a start has been */
    fault_vfs_fail_reads(SQLITE_IOERR_READ);
    give_credit(&f, &f.worker, RUNS, false);
    while (!hl_counter_get(&hl_store_get_gauges(f.store)->is_failing))
        sched_yield();
    fault_vfs_fail_reads(0);
    for (int i = 0; i < RUNS; i++) {
        struct hl_claimed *c = party_wait(&f.worker, HL_STORE_CLAIMED);
        cr_assert(hl_id_eq(&c->run_id, &ids[i]), "%d", i);
        hl_claimed_free(c);
    }
}

Test(fault, finish_that_waits_for_a_failing_store_is_kept_on_close_when_that_works_again)
{
    struct hl_id running;
    cr_assert_eq(record_run(&f, (struct run_spec){0}, &running), HL_OK);
    fault_vfs_fail_syncs(SQLITE_IOERR_FSYNC);
    struct hl_finish *finish = make_finish(&running, 1, "answer");
    struct hl_msg *reply;
    post_or_fail(&finish->m, HL_STORE_FINISH, &reply);
    cr_assert_null(reply);
    fault_vfs_fail_syncs(0);
    fixture_close(&f);
    cr_assert_eq(party_look(&f.worker, HL_STORE_FINISH), finish);
    cr_assert_eq(finish->m.rc, HL_OK);
    hl_finish_free(finish);
    fixture_open(&f);
    cr_assert_eq(state_of(&f, &running), HL_RUN_SUCCESS);
}

Test(fault, store_that_was_put_elsewhere_is_not_opened_anew)
{
    char path[128], away[128];
    struct hl_id acked;
    snprintf(path, sizeof(path), "%s/hookline.db", f.dir);
    snprintf(away, sizeof(away), "%s/away", f.dir);
    cr_assert_eq(accept_run(&f, (struct run_spec){0}, &acked), HL_OK);
    fault_vfs_fail_syncs(SQLITE_IOERR_FSYNC);
    cr_assert_neq(accept_run(&f, (struct run_spec){0}, NULL), HL_OK);
    cr_assert_eq(rename(path, away), 0);
    close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    fault_vfs_fail_syncs(0);
    usleep(500000);
    cr_assert_eq(hl_counter_get(&hl_store_get_gauges(f.store)->is_failing), 1);
    cr_assert_eq(rename(away, path), 0);
    await_failing(0);
    cr_assert_eq(state_of(&f, &acked), HL_RUN_QUEUED);
}

/* One run with a webhook, as far as the disk lets it; the replies that did not come are waited for. */
static void run_as_far_as_it_goes(struct hl_id *id, bool *was_refused)
{
    struct hl_msg *recorded, *finished = NULL;
    struct hl_accept *a =
        make_accept(&f, HL_STORE_RECORD, &(struct run_spec){.url = "https://e.org/"});
    *id = a->run_id;
    post_or_fail(&a->m, HL_STORE_RECORD, &recorded);
    *was_refused = recorded && a->m.rc != HL_OK;
    struct hl_finish *finish = *was_refused ? NULL : make_finish(id, 1, "answer");
    if (finish)
        post_or_fail(&finish->m, HL_STORE_FINISH, &finished);
    fault_vfs_fail_after(0, 0);
    recorded = recorded ? recorded : party_wait(&f.worker, HL_STORE_RECORD);
    cr_assert(*was_refused || a->m.rc == HL_OK, "%d", a->m.rc);
    hl_accept_free((struct hl_accept *)recorded);
    if (!finish)
        return;
    if (!finished)
        party_wait(&f.worker, HL_STORE_FINISH);
    cr_assert_eq(finish->m.rc, HL_OK);
    hl_finish_free(finish);
}

/* An error at the k-th write or sync, for every k that a few operations make: what was begun before
 * is ended after, by the same process, and what was refused is not there. */
Test(fault, runs_survive_an_error_at_any_call)
{
    static const int codes[] = {SQLITE_IOERR_WRITE, SQLITE_IOERR_FSYNC};
    enum { MOST = 24 };
    struct hl_id ids[MOST];
    bool refused[MOST];
    for (int k = 0; k < MOST; k++) {
        fault_vfs_fail_after(1 + k / 2, codes[k % 2]);
        run_as_far_as_it_goes(&ids[k], &refused[k]);
        await_failing(0);
        cr_assert(
            refused[k] ? !is_there(&ids[k]) : state_of(&f, &ids[k]) == HL_RUN_SUCCESS, "k %d", k);
        fixture_reopen(&f); /* the pause before it is opened anew grows with each time */
    }
    for (int k = 0; k < MOST; k++)
        cr_assert(
            refused[k] ? !is_there(&ids[k]) : state_of(&f, &ids[k]) == HL_RUN_SUCCESS, "k %d", k);
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
    cr_assert_lt(hl_counter_get(&hl_store_get_gauges(f.store)->commits), 30, "256 share a commit");
}

/* --- a volume that is really full ------------------------------------------------------------ */

enum { ON_TMPFS_OK = 0, ON_TMPFS_SKIP = 77 };

enum { MOST_RUNS = 4096, LARGEST = 96 << 20 };
static struct hl_id on_volume[MOST_RUNS];

/* Queued runs, so many or as many as the volume takes. */
static unsigned fill_with_runs(unsigned most)
{
    static char large[20 * 1024];
    unsigned n = 0;
    enum hl_err rc = HL_OK;
    memset(large, 'x', sizeof(large) - 1);
    while (n < most && rc == HL_OK) {
        rc = accept_run(&f, (struct run_spec){.body = large}, &on_volume[n]);
        n += rc == HL_OK;
    }
    cr_assert(n == most || rc == HL_ERR_FULL);
    return n;
}

/* The store's thread is held at its next sync, and has work until then: what it does in a quiet
 * moment it does not do. */
static void hold_at_next_sync(bool is_held)
{
    struct hl_accept *a = make_accept(&f, HL_STORE_ACCEPT, &(struct run_spec){0});
    a->m.reply_to = &f.asker.box;
    fault_vfs_hold();
    cr_assert_eq(hl_store_post(f.store, &a->m), HL_OK);
    if (is_held)
        fault_vfs_release();
    fault_vfs_await();
}

Test(fault, end_holds_as_it_was_said_where_the_commit_of_its_cancel_failed)
{
    struct hl_id running;
    cr_assert_eq(record_run(&f, (struct run_spec){0}, &running), HL_OK);
    settle(&f);
    hold_at_next_sync(false);
    struct hl_run_ref cancel = {
        .m.msg.type = HL_STORE_CANCEL, .m.reply_to = &f.asker.box, .run_id = running};
    struct hl_finish *finish = make_finish(&running, 1, "done");
    finish->m.reply_to = &f.worker.box;
    cr_assert_eq(hl_store_post(f.store, &cancel.m), HL_OK);
    cr_assert_eq(hl_store_post(f.store, &finish->m), HL_OK);
    fault_vfs_fail_after(2, SQLITE_IOERR_WRITE); /* the sync that is held is the first */
    fault_vfs_release();
    cr_assert_eq(party_wait(&f.asker, HL_STORE_CANCEL), &cancel);
    cr_assert_eq(cancel.m.rc, HL_ERR_IO);
    await_failing(1);
    fault_vfs_fail_after(0, 0);
    cr_assert_eq(party_wait(&f.worker, HL_STORE_FINISH), finish);
    cr_assert_eq(finish->m.rc, HL_OK);
    cr_assert_eq(finish->outcome.state, HL_RUN_SUCCESS);
    hl_finish_free(finish);
    cr_assert_eq(state_of(&f, &running), HL_RUN_SUCCESS);
}

/* All of so many queued runs are claimed, and the store's thread is held since. */
static void claim_and_hold(unsigned n, struct hl_claimed *claimed[])
{
    give_credit(&f, &f.worker, n, false);
    hold_at_next_sync(false);
    for (unsigned i = 0; i < n;) {
        claimed[i] = party_look(&f.worker, HL_STORE_CLAIMED);
        if (claimed[i])
            i++;
        else
            hold_at_next_sync(true);
    }
}

/* Takes what is free on the volume, but for so much. */
static void take_the_rest(off_t left)
{
    static const char block[4096];
    char path[128];
    snprintf(path, sizeof(path), "%s/filler", f.dir);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    while (write(fd, block, sizeof(block)) > 0)
        ;
    cr_assert_eq(ftruncate(fd, lseek(fd, 0, SEEK_END) - left), 0);
    close(fd);
}

static void give_the_rest(void)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/filler", f.dir);
    cr_assert_eq(unlink(path), 0);
}

static const char *answer(void)
{
    static char text[4 * 1024];
    memset(text, 'y', sizeof(text) - 1);
    return text;
}

static void post_finish(const struct hl_claimed *c, const char *body)
{
    struct hl_finish *finish = make_finish(&c->run_id, c->epoch, body);
    finish->m.reply_to = &f.worker.box;
    cr_assert_eq(hl_store_post(f.store, &finish->m), HL_OK);
}

/* Each of the runs is finished all the same, one after the other. */
static int fill_and_finish(void)
{
    static struct hl_claimed *claimed[MOST_RUNS];
    fixture_open(&f);
    unsigned n = fill_with_runs(MOST_RUNS);
    cr_assert(n > 100 && n < MOST_RUNS);
    give_credit(&f, &f.worker, n, false);
    for (unsigned i = 0; i < n; i++)
        claimed[i] = party_wait(&f.worker, HL_STORE_CLAIMED);
    for (unsigned i = 0; i < n; i++) {
        struct hl_claimed *c = claimed[i];
        cr_assert_eq(finish_run(&f, &c->run_id, c->epoch, answer()), HL_OK);
        hl_claimed_free(c);
    }
    fixture_reopen(&f);
    for (unsigned i = 0; i < n; i++)
        cr_assert_eq(state_of(&f, &on_volume[i]), HL_RUN_SUCCESS);
    cr_assert_eq(accept_run(&f, (struct run_spec){.body = answer()}, NULL), HL_OK, "room again");
    fixture_close(&f);
    return ON_TMPFS_OK;
}

/* Somebody else takes the rest of the volume. All runs end at once, which is more than there is
 * space for at a time, and the store is closed before it has had a quiet moment. */
static int finish_all_and_close(void)
{
    static struct hl_claimed *claimed[MOST_RUNS];
    fixture_open(&f);
    unsigned n = fill_with_runs(300);
    cr_assert_eq(n, 300, "more than a batch has");
    claim_and_hold(n, claimed);
    take_the_rest(0);
    for (unsigned i = 0; i < n; i++) {
        post_finish(claimed[i], answer());
        hl_claimed_free(claimed[i]);
    }
    fault_vfs_release();
    fixture_close(&f);
    for (unsigned i = 0; i < n; i++) {
        struct hl_finish *finish = party_look(&f.worker, HL_STORE_FINISH);
        cr_assert(finish && finish->m.rc == HL_OK, "%u of %u: %s", i, n, hl_err_text(finish->m.rc));
        hl_finish_free(finish);
    }
    take_the_rest(256 << 10);
    fixture_open(&f);
    for (unsigned i = 0; i < n; i++)
        cr_assert_eq(state_of(&f, &on_volume[i]), HL_RUN_SUCCESS);
    cr_assert_eq(accept_run(&f, (struct run_spec){.body = answer()}, NULL), HL_OK,
        "what is free inside the database was given back before");
    fixture_close(&f);
    return ON_TMPFS_OK;
}

enum { LARGE_RUNS = 50, SMALL_RUNS = 10 };
static off_t left_on_volume;

/* The results of many runs come at once and are more than there is space for; so many bytes are left on
 * the volume. Then some runs with webhooks end with a few bytes, each for itself. */
static int finish_large_and_small(void)
{
    static char large[250 << 10];
    struct hl_claimed *claimed[LARGE_RUNS + SMALL_RUNS];
    memset(large, 'r', sizeof(large) - 1);
    fixture_open(&f);
    for (int i = 0; i < LARGE_RUNS; i++)
        cr_assert_eq(accept_run(&f, (struct run_spec){0}, NULL), HL_OK);
    for (int i = 0; i < SMALL_RUNS; i++)
        cr_assert_eq(accept_run(&f, (struct run_spec){.url = "https://e.org/"}, NULL), HL_OK);
    claim_and_hold(LARGE_RUNS + SMALL_RUNS, claimed);
    take_the_rest(left_on_volume);
    for (int i = 0; i < LARGE_RUNS; i++)
        post_finish(claimed[i], large);
    fault_vfs_release();

    give_lease_credit(&f, SMALL_RUNS);
    for (int i = LARGE_RUNS; i < LARGE_RUNS + SMALL_RUNS; i++) {
        struct hl_finish *finish = make_finish(&claimed[i]->run_id, claimed[i]->epoch, "done");
        cr_assert_eq(ask(&f, &f.asker, &finish->m), HL_OK);
        struct hl_leased *leased = party_wait(&f.sender, HL_STORE_LEASED);
        cr_assert_eq(say_outcome(&f, leased, 1, HL_ATTEMPT_OK), HL_OK);
        hl_leased_free(leased);
        hl_finish_free(finish);
    }
    cr_assert_eq(state_of(&f, &claimed[LARGE_RUNS - 1]->run_id), HL_RUN_RUNNING, "it found space");
    give_the_rest();
    for (int i = 0; i < LARGE_RUNS; i++) {
        struct hl_finish *finish = party_wait(&f.worker, HL_STORE_FINISH);
        cr_assert_eq(finish->m.rc, HL_OK);
        hl_finish_free(finish);
    }
    fixture_close(&f);
    return ON_TMPFS_OK;
}

/* As a backup does it: in one transaction, for as long as it takes. */
static sqlite3 *begin_reading(void)
{
    char path[128];
    sqlite3 *db;
    snprintf(path, sizeof(path), "%s/hookline.db", f.dir);
    cr_assert_eq(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    const char *sql = "BEGIN; SELECT count(*) FROM sqlite_master";
    cr_assert_eq(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK, "%s", sqlite3_errmsg(db));
    return db;
}

/* The log is to be given back in the quiet moment after a commit, and somebody reads it. */
static int commit_beside_a_reader(void)
{
    fixture_open(&f);
    take_the_rest(1000 << 10);
    sqlite3 *reader = begin_reading();
    cr_assert_eq(accept_run(&f, (struct run_spec){0}, NULL), HL_OK);
    while (fault_vfs_slept_us() == 0)
        usleep(1000);
    cr_assert_eq(accept_run(&f, (struct run_spec){0}, NULL), HL_OK);
    cr_assert_lt(fault_vfs_slept_us(), 200000);
    sqlite3_close(reader);
    fixture_close(&f);
    return ON_TMPFS_OK;
}

/* A tmpfs of `size` over the data directory, for this process only. */
static bool mount_small(const char *size)
{
    return unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("tmpfs", f.dir, "tmpfs", 0, size) == 0;
}

static void run_on_small_volume(const char *size, int (*what)(void))
{
    fixture_init(&f, HL_STORE_SQLITE);
    f.config->store_max_bytes.bytes = LARGEST; /* what is full is the volume, not the store */
    pid_t child = fork();
    if (child == 0) {
        alarm(100); /* a claim that fails in here waits for ever */
        fault_vfs_install();
        _exit(mount_small(size) ? what() : ON_TMPFS_SKIP);
    }
    int status;
    waitpid(child, &status, 0);
    fixture_fini(&f);
    if (WIFEXITED(status) && WEXITSTATUS(status) == ON_TMPFS_SKIP)
        cr_skip_test("needs the right to mount");
    cr_assert_eq(status, 0, "status %d, with %lld bytes left", status, (long long)left_on_volume);
}

Test(volume, full_one_refuses_new_runs_and_finishes_the_accepted_ones, .timeout = 120)
{
    run_on_small_volume("size=12m", fill_and_finish);
}

Test(volume, full_one_keeps_all_that_ends_at_once_and_has_room_after_the_start, .timeout = 120)
{
    run_on_small_volume("size=12m", finish_all_and_close);
}

Test(volume, full_one_keeps_small_results_from_waiting_behind_large_ones, .timeout = 120)
{
    for (left_on_volume = 0; left_on_volume <= 5 << 20; left_on_volume += 1 << 20)
        run_on_small_volume("size=96m", finish_large_and_small);
}

Test(volume, short_one_lets_no_commit_wait_for_a_backup, .timeout = 120)
{
    run_on_small_volume("size=12m", commit_beside_a_reader);
}
