/* test_recovery.c - what is on disk when a process ends in any way, and what the next one makes of
 * it. What that means is the same on SQLite and PostgreSQL; the rest is of SQLite's files. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/metric.h"
#include "config/config.h"
#include "fixture.h"
#include "store/accept.h"
#include "store/body_file.h"
#include "store/claim.h"
#include "store/data_dir.h"
#include "store/gauges.h"
#include "store/lease.h"
#include "store/question.h"
#include "store/store.h"

#define URL    "https://receiver.example:8443/hook-path-5b1d"
#define SECRET "s3cret-4f6e2a90"
#define HEAD   "POST /run HTTP/1.1\r\nAuthorization: Bearer t0ken-77aa\r\n"

static struct fixture f;

static void init(void)
{
    fixture_init(&f, HL_STORE_SQLITE);
}

static void fini(void)
{
    fixture_fini(&f);
}

TestSuite(recovery, .init = init, .fini = fini, .timeout = 120);

static void init_postgres(void)
{
    fixture_init(&f, HL_STORE_POSTGRES);
}

TestSuite(postgres_recovery, .init = init_postgres, .fini = fini, .timeout = 120);

/* On both stores that outlive their process. */
#define RECOVERY_TEST(name)                                                                        \
    static void name(void);                                                                        \
    Test(recovery, name)                                                                           \
    {                                                                                              \
        name();                                                                                    \
    }                                                                                              \
    Test(postgres_recovery, name)                                                                  \
    {                                                                                              \
        name();                                                                                    \
    }                                                                                              \
    static void name(void)

/* Without an orderly end. */
static void begin_again(void)
{
    fixture_die(&f);
    fixture_open(&f);
}

static struct hl_claimed *claim_one(void)
{
    give_credit(&f, &f.worker, 1, false);
    return party_wait(&f.worker, HL_STORE_CLAIMED);
}

/* --- claims of an earlier process ------------------------------------------------------------ */

RECOVERY_TEST(queued_run_waits_for_the_next_process)
{
    struct hl_id id;
    fixture_open(&f);
    cr_assert_eq(accept_run(&f, (struct run_spec){.head = HEAD, .body = "ping"}, &id), HL_OK);
    begin_again();
    if (f.kind == HL_STORE_SQLITE) /* there it is of all replicas, some seconds old */
        cr_assert_eq(hl_counter_get(&hl_store_get_gauges(f.store)->queued_runs), 1);
    struct hl_claimed *c = claim_one();
    cr_assert(hl_id_eq(&c->run_id, &id));
    cr_assert(hl_str_eq(c->head, HL_STR(HEAD)));
    cr_assert_eq(c->attempt, 1);
    hl_claimed_free(c);
}

RECOVERY_TEST(running_run_ends_as_interrupted_with_its_webhook)
{
    struct hl_id id, recorded;
    fixture_open(&f);
    cr_assert_eq(accept_run(&f, (struct run_spec){.url = URL}, &id), HL_OK);
    hl_claimed_free(claim_one());
    cr_assert_eq(record_run(&f, (struct run_spec){.url = URL}, &recorded), HL_OK);
    begin_again();
    const struct hl_id *ids[] = {&id, &recorded};
    for (size_t i = 0; i < HL_ARRAY_LEN(ids); i++) {
        struct hl_get_run g;
        cr_assert_eq(get_run(&f, ids[i], &g), HL_OK);
        cr_assert_eq(g.run.state, HL_RUN_FAILURE);
        cr_assert_eq(g.outcome.reason, HL_REASON_INTERRUPTED);
        cr_assert_eq(g.run.deliveries_pending, 1);
        cr_assert_eq(finish_run(&f, ids[i], 1, NULL), HL_ERR_STALE, "the old claim is void");
    }
    give_lease_credit(&f, 1);
    struct hl_leased *l = party_wait(&f.sender, HL_STORE_LEASED);
    cr_assert_eq(l->outcome.reason, HL_REASON_INTERRUPTED);
    hl_leased_free(l);
}

RECOVERY_TEST(i4_interrupted_run_is_run_again_when_asked_and_epochs_grow)
{
    struct hl_id id, recorded;
    f.config->run_attempts = 2;
    fixture_open(&f);
    cr_assert_eq(accept_run(&f, (struct run_spec){.head = HEAD, .body = "ping"}, &id), HL_OK);
    cr_assert_eq(record_run(&f, (struct run_spec){.url = URL}, &recorded), HL_OK);
    struct hl_claimed *first = claim_one();
    begin_again();
    cr_assert_eq(state_of(&f, &id), HL_RUN_QUEUED);
    cr_assert_eq(state_of(&f, &recorded), HL_RUN_FAILURE, "its caller has gone");
    cr_assert_eq(finish_run(&f, &id, first->epoch, NULL), HL_ERR_STALE);

    struct hl_claimed *second = claim_one();
    cr_assert(hl_id_eq(&second->run_id, &id));
    cr_assert_eq(second->attempt, 2);
    cr_assert_gt(second->epoch, first->epoch);
    cr_assert_eq(second->body.size, 4, "the request was kept");
    cr_assert_eq(finish_run(&f, &id, first->epoch, NULL), HL_ERR_STALE);
    begin_again();
    cr_assert_eq(state_of(&f, &id), HL_RUN_FAILURE, "2 attempts were allowed");
    hl_claimed_free(first);
    hl_claimed_free(second);
}

/* It is handed out in the transaction that accepts it. */
static struct hl_claimed *begin_one(struct hl_id *id)
{
    give_credit(&f, &f.worker, 1, false);
    cr_assert_eq(accept_run(&f, (struct run_spec){.head = HEAD, .body = "ping"}, id), HL_OK);
    return party_wait(&f.worker, HL_STORE_CLAIMED);
}

static long long kept_requests(void)
{
    return query(&f, "SELECT count(*) FROM ticket WHERE head IS NOT NULL OR body_where > 0");
}

Test(recovery, request_that_can_be_of_no_more_use_is_not_kept)
{
    struct hl_id id;
    f.config->keep_requests = HL_KEEP_REQUESTS_NONE;
    fixture_open(&f);
    hl_claimed_free(begin_one(&id));
    cr_assert_eq(kept_requests(), 0);
    f.config->run_attempts = 2;
    fixture_reopen(&f);
    cr_assert_eq(state_of(&f, &id), HL_RUN_FAILURE, "it could run once when it began");
}

RECOVERY_TEST(run_that_began_as_it_came_runs_again_when_asked)
{
    struct hl_id id;
    f.config->run_attempts = 2;
    fixture_open(&f);
    hl_claimed_free(begin_one(&id));
    begin_again();
    struct hl_claimed *c = claim_one();
    cr_assert(hl_id_eq(&c->run_id, &id));
    cr_assert_eq(c->attempt, 2);
    cr_assert(hl_str_eq(c->head, HL_STR(HEAD)));
    cr_assert_eq(c->body.size, 4);
    hl_claimed_free(c);
}

RECOVERY_TEST(released_run_waits_with_its_request_for_the_next_process)
{
    struct hl_id id;
    fixture_open(&f);
    struct hl_release *r = hl_release_new(begin_one(&id));
    cr_assert(r);
    cr_assert_eq(ask(&f, &f.worker, &r->m), HL_OK);
    hl_release_free(r);
    begin_again();
    struct hl_claimed *c = claim_one();
    cr_assert(hl_id_eq(&c->run_id, &id));
    cr_assert_eq(c->attempt, 1);
    cr_assert(hl_str_eq(c->head, HL_STR(HEAD)));
    cr_assert(hl_str_eq((struct hl_str){c->body.bytes, c->body.size}, HL_STR("ping")));
    hl_claimed_free(c);
}

RECOVERY_TEST(i11_cancel_of_a_running_run_holds_across_a_crash)
{
    struct hl_id id;
    f.config->run_attempts = 5;
    fixture_open(&f);
    cr_assert_eq(accept_run(&f, (struct run_spec){0}, &id), HL_OK);
    hl_claimed_free(claim_one());
    cr_assert_eq(cancel_run(&f, &id), HL_OK);
    begin_again();
    cr_assert_eq(state_of(&f, &id), HL_RUN_CANCELLED);
}

static long long count_open_attempts(void)
{
    bool is_shared = f.kind == HL_STORE_POSTGRES;
    return fixture_count(
        &f, is_shared ? "attempt WHERE verdict IS NULL" : "every_attempt WHERE verdict IS NULL");
}

RECOVERY_TEST(i9_i10_lost_attempt_counts_and_ends_as_unknown)
{
    fixture_open(&f);
    struct hl_leased *l = lease_one(&f, URL);
    for (uint32_t n = 1; n <= 3; n++) {
        cr_assert_eq(l->n, n);
        cr_assert_eq(count_open_attempts(), 1);
        begin_again();
        cr_assert_eq(fixture_count(&f, "attempt WHERE verdict = 4"), n);
        cr_assert_eq(count_open_attempts(), 0);
        if (n == 3)
            break;
        hl_leased_free(l);
        give_lease_credit(&f, 1);
        l = party_wait(&f.sender, HL_STORE_LEASED);
    }
    struct hl_get_run g;
    cr_assert_eq(get_run(&f, &l->run_id, &g), HL_OK);
    cr_assert_eq(g.run.deliveries_dead, 1);
    hl_body_fini(&g.outcome.body);
    hl_leased_free(l);
}

RECOVERY_TEST(delivery_goes_on_with_its_count_and_history)
{
    fixture_open(&f);
    struct hl_leased *l = lease_one(&f, URL);
    cr_assert_eq(say_outcome(&f, l, 1, HL_ATTEMPT_RETRY), HL_OK);
    begin_again();
    give_lease_credit(&f, 1);
    struct hl_leased *again = party_wait(&f.sender, HL_STORE_LEASED);
    cr_assert_eq(again->n, 2);
    cr_assert_eq(say_outcome(&f, again, 2, HL_ATTEMPT_DEAD), HL_OK);
    begin_again();
    cr_assert_eq(redeliver(&f, &l->delivery_id, "p", NULL), HL_OK);
    begin_again();
    give_lease_credit(&f, 1);
    struct hl_leased *round2 = party_wait(&f.sender, HL_STORE_LEASED);
    cr_assert_eq(round2->round, 2);
    cr_assert(hl_str_eq(round2->url, HL_STR(URL)));
    cr_assert_eq(say_outcome(&f, round2, 1, HL_ATTEMPT_OK), HL_OK);
    cr_assert_eq(fixture_count(&f, "attempt WHERE ended_ms IS NOT NULL"), 3);
    hl_leased_free(l);
    hl_leased_free(again);
    hl_leased_free(round2);
}

RECOVERY_TEST(i3_key_holds_after_reopen)
{
    struct hl_id first, again;
    struct run_spec spec = {.key = "k", .subject = "s", .fingerprint = 1};
    fixture_open(&f);
    cr_assert_eq(accept_run(&f, spec, &first), HL_OK);
    begin_again();
    cr_assert_eq(accept_run(&f, spec, &again), HL_ERR_EXISTS);
    cr_assert(hl_id_eq(&first, &again));
    spec.fingerprint = 2;
    cr_assert_eq(accept_run(&f, spec, NULL), HL_ERR_CONFLICT);
}

/* --- kill -9 --------------------------------------------------------------------------------- */

struct ack {
    struct hl_id id;
    char state; /* q: queued, f: finished */
};

/* Accepts, claims and finishes for ever; each acknowledged state goes down the pipe. */
static void work_until_killed(int pipe)
{
    fixture_open(&f);
    give_credit(&f, &f.worker, 1000000, false);
    for (;;) {
        struct ack ack = {.state = 'q'};
        cr_assert_eq(accept_run(&f, (struct run_spec){.url = URL}, &ack.id), HL_OK);
        ssize_t n = write(pipe, &ack, sizeof(ack));
        struct hl_claimed *c = party_wait(&f.worker, HL_STORE_CLAIMED);
        cr_assert_eq(finish_run(&f, &c->run_id, c->epoch, "done"), HL_OK);
        ack.id = c->run_id;
        ack.state = 'f';
        n += write(pipe, &ack, sizeof(ack));
        cr_assert_eq(n, 2 * (ssize_t)sizeof(ack));
        hl_claimed_free(c);
    }
}

/* A slow machine has done something too by the time it is killed. */
static void await_acks(int pipe, int n)
{
    int bytes = 0;
    for (int ms = 0; bytes < n * (int)sizeof(struct ack); ms++) {
        cr_assert_lt(ms, 20000, "nothing is acknowledged");
        usleep(1000);
        cr_assert_eq(ioctl(pipe, FIONREAD, &bytes), 0);
    }
}

static void check_acks(int pipe, unsigned *n)
{
    struct ack ack;
    fixture_open(&f);
    while (read(pipe, &ack, sizeof(ack)) == (ssize_t)sizeof(ack)) {
        struct hl_get_run g;
        cr_assert_eq(get_run(&f, &ack.id, &g), HL_OK, "an acknowledged run is gone");
        if (ack.state == 'f') {
            cr_assert_eq(g.run.state, HL_RUN_SUCCESS);
            cr_assert_eq(g.run.deliveries_pending, 1);
            cr_assert_eq(g.outcome.body.size, 4);
        }
        hl_body_fini(&g.outcome.body);
        ++*n;
    }
    cr_assert_eq(
        query(&f, "SELECT count(*) FROM run_with_state AS run WHERE state >= 2 AND NOT EXISTS"
                  " (SELECT 1 FROM delivery WHERE delivery.run_id = run.run_id)"),
        0, "I6");
    cr_assert_eq(query(&f, "SELECT count(*) FROM run_with_state WHERE state = 1"), 0, "I8");
    fixture_close(&f);
}

Test(recovery, i2_acknowledged_runs_are_there_after_kill)
{
    unsigned acks = 0;
    for (int round = 0; round < 8; round++) {
        int ends[2];
        cr_assert_eq(pipe(ends), 0);
        fcntl(ends[0], F_SETPIPE_SZ, 1 << 20);
        pid_t child = fork();
        if (child == 0) {
            work_until_killed(ends[1]);
            _exit(1);
        }
        close(ends[1]);
        await_acks(ends[0], 4);
        usleep(30000 + 7919 * (unsigned)round);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        check_acks(ends[0], &acks);
        close(ends[0]);
    }
    cr_assert_gt(acks, 20);
}

/* --- bodies in files ------------------------------------------------------------------------- */

static bool has_file(const struct hl_id *file)
{
    int fd;
    if (hl_body_file_open(hl_store_data_dir(f.store), file, &fd) != HL_OK)
        return false;
    close(fd);
    return true;
}

Test(recovery, i16_files_live_as_long_as_their_records)
{
    f.config->retention_ms = 50;
    fixture_open(&f);
    struct hl_accept *a = make_accept(&f, HL_STORE_ACCEPT, &(struct run_spec){0});
    a->body = make_file_body(&f, "a large request");
    struct hl_id request = a->body.file, id = a->run_id;
    cr_assert_eq(ask(&f, &f.worker, &a->m), HL_OK);
    hl_accept_free(a);
    fixture_reopen(&f);
    cr_assert(has_file(&request), "its record names it");
    struct hl_claimed *c = claim_one();
    cr_assert_eq(c->body.where, HL_BODY_FILE);
    cr_assert(hl_id_eq(&c->body.file, &request));
    cr_assert(has_file(&request));

    struct hl_finish *finish = make_finish(&id, c->epoch, NULL);
    finish->outcome.body = make_file_body(&f, "a large response");
    struct hl_id response = finish->outcome.body.file;
    cr_assert_eq(ask(&f, &f.worker, &finish->m), HL_OK);
    settle(&f);
    cr_assert(!has_file(&request), "the run has ended");
    struct hl_get_run g;
    while (get_run(&f, &id, &g) == HL_OK)
        cr_assert_eq(g.outcome.body.where, HL_BODY_FILE);
    while (has_file(&response))
        ;
    hl_claimed_free(c);
    hl_finish_free(finish);
}

/* As if it had been written two hours ago. */
static void make_old(const struct hl_id *file)
{
    int fd;
    struct timespec times[2] = {{.tv_sec = time(NULL) - 7200}, {.tv_sec = time(NULL) - 7200}};
    cr_assert_eq(hl_body_file_open(hl_store_data_dir(f.store), file, &fd), HL_OK);
    cr_assert_eq(futimens(fd, times), 0);
    close(fd);
}

Test(recovery, old_orphans_are_swept_at_start)
{
    fixture_open(&f);
    struct hl_body orphan = make_file_body(&f, "nobody names this"), half = {.file = new_id(&f)};
    char tmp[128], foreign[128];
    int fd;
    cr_assert_eq(hl_body_file_create(f.dir, &half.file, &fd), HL_OK);
    close(fd);
    snprintf(foreign, sizeof(foreign), "%s/bodies/README", f.dir);
    close(open(foreign, O_CREAT | O_WRONLY, 0600));
    fixture_reopen(&f);
    cr_assert(has_file(&orphan.file), "it is young");
    make_old(&orphan.file);
    fixture_reopen(&f);
    cr_assert(!has_file(&orphan.file));
    snprintf(tmp, sizeof(tmp), "%s/tmp", f.dir);
    cr_assert_eq(rmdir(tmp), 0, "tmp/ is empty");
    cr_assert_eq(access(foreign, F_OK), 0, "what is not ours stays");
}

/* --- secrets --------------------------------------------------------------------------------- */

static const char *const secrets[] = {SECRET, "receiver.example", "hook-path-5b1d", "8443",
    "t0ken-77aa", "Authorization", "Bearer", "x=query-9d"};
static unsigned files_read;

static int find_secrets(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)ftw;
    if (type != FTW_F || st->st_size == 0)
        return 0;
    char *bytes = malloc((size_t)st->st_size);
    int fd = open(path, O_RDONLY);
    ssize_t n = read(fd, bytes, (size_t)st->st_size);
    for (size_t i = 0; i < HL_ARRAY_LEN(secrets); i++)
        cr_assert_null(memmem(bytes, (size_t)n, secrets[i], strlen(secrets[i])), "%s has %s", path,
            secrets[i]);
    close(fd);
    free(bytes);
    files_read++;
    return 0;
}

Test(recovery, i17_no_secret_in_any_file)
{
    fixture_open(&f);
    for (int i = 0; i < 3; i++) {
        struct run_spec spec = {.url = URL, .secret = SECRET, .head = HEAD "X: x=query-9d\r\n"};
        struct hl_accept *a = make_accept(&f, HL_STORE_ACCEPT, &spec);
        a->m.reply_to = &f.worker.box;
        cr_assert_eq(ask(&f, &f.worker, &a->m), HL_OK);
        hl_accept_free(a);
    }
    struct hl_claimed *c = claim_one();
    cr_assert_eq(finish_run(&f, &c->run_id, c->epoch, NULL), HL_OK);
    hl_claimed_free(c);
    give_lease_credit(&f, 1);
    struct hl_leased *l = party_wait(&f.sender, HL_STORE_LEASED);
    cr_assert(hl_str_eq(l->secret, HL_STR(SECRET)));
    cr_assert_eq(say_outcome(&f, l, 1, HL_ATTEMPT_DEAD), HL_OK);
    hl_leased_free(l);

    nftw(f.dir, find_secrets, 16, FTW_PHYS);
    fixture_close(&f);
    nftw(f.dir, find_secrets, 16, FTW_PHYS);
    cr_assert_gt(files_read, 6);
}

Test(recovery, files_are_for_their_owner_only)
{
    static const char *const names[] = {
        "hookline.db", "hookline.db-wal", "hookline.db-shm", "key", "store.lock"};
    struct stat st;
    char path[128];
    umask(0);
    fixture_open(&f);
    for (size_t i = 0; i < HL_ARRAY_LEN(names); i++) {
        snprintf(path, sizeof(path), "%s/%s", f.dir, names[i]);
        cr_assert_eq(stat(path, &st), 0, "%s", path);
        cr_assert_eq(st.st_mode & 0777, 0600, "%s is %o", path, st.st_mode & 0777);
    }
}

/* --- what cannot be opened ------------------------------------------------------------------- */

static void write_file(const char *name, const void *p, size_t n)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/%s", f.dir, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    cr_assert_eq(write(fd, p, n), (ssize_t)n);
    close(fd);
}

static void refuses(enum hl_err expected, const char *what)
{
    enum hl_err err = fixture_try_open(&f);
    cr_assert_eq(err, expected, "%s: %s", hl_err_text(err), f.why);
    cr_assert_null(f.store);
    cr_assert(strstr(f.why, what), "'%s' does not say '%s'", f.why, what);
    cr_assert(strstr(f.why, f.dir), "'%s' does not name the directory", f.why);
    cr_assert_null(strchr(f.why, '\n'));
}

Test(recovery, second_process_is_told_who_has_the_directory)
{
    char pid[32];
    fixture_open(&f);
    struct hl_store *first = f.store;
    snprintf(pid, sizeof(pid), "in use by process %ld", (long)getpid());
    refuses(HL_ERR_BUSY, pid);
    cr_assert(strstr(f.why, "still holds its lock"), "%s", f.why);
    f.store = first;
}

Test(recovery, wrong_missing_or_malformed_key_is_refused)
{
    char path[128], text[128] = {0};
    fixture_open(&f);
    fixture_close(&f);
    snprintf(path, sizeof(path), "%s/key", f.dir);
    FILE *file = fopen(path, "r");
    cr_assert(fgets(text, sizeof(text), file));
    fclose(file);
    cr_assert_eq(strlen(text), 65);

    write_file("key", "short\n", 6);
    refuses(HL_ERR_INVALID, "does not hold a key");
    write_file("key", "0123456789abcdef0123456789abcdef", 32);
    refuses(HL_ERR_DENIED, "is not the one");
    unlink(path);
    refuses(HL_ERR_NOT_FOUND, "is missing");
    cr_assert_neq(access(path, F_OK), 0, "no new key is made for an old store");
    write_file("key", text, strlen(text));
    fixture_open(&f);
}

Test(recovery, key_file_may_be_elsewhere)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/elsewhere", f.dir);
    f.config->key_file = hl_str_from(path);
    fixture_open(&f);
    cr_assert_eq(access(path, F_OK), 0);
    fixture_reopen(&f);
}

/* What must not be overwritten is compared byte for byte. */
static char before[1 << 20], after[1 << 20];

static size_t read_db(char *out)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/hookline.db", f.dir);
    int fd = open(path, O_RDONLY);
    ssize_t n = read(fd, out, sizeof(before));
    close(fd);
    cr_assert(n > 0);
    return (size_t)n;
}

static void refuses_unchanged(enum hl_err expected, const char *what)
{
    size_t n = read_db(before);
    refuses(expected, what);
    cr_assert_eq(read_db(after), n);
    cr_assert_arr_eq(before, after, n);
}

Test(recovery, damaged_file_is_refused_and_left_alone)
{
    char path[128], garbage[8192];
    fixture_open(&f);
    for (int i = 0; i < 20; i++)
        cr_assert_eq(accept_run(&f, (struct run_spec){.body = "ping"}, NULL), HL_OK);
    fixture_close(&f);
    snprintf(path, sizeof(path), "%s/hookline.db", f.dir);
    memset(garbage, 0xa5, sizeof(garbage));
    int fd = open(path, O_WRONLY);
    off_t size = lseek(fd, 0, SEEK_END);
    cr_assert_gt(size, 4 * 8192);
    for (off_t page = 2; page < 8; page++)
        cr_assert_eq(pwrite(fd, garbage, sizeof(garbage), page * 8192), (ssize_t)sizeof(garbage));
    close(fd);
    refuses_unchanged(HL_ERR_CORRUPT, "is damaged");
    write_file("hookline.db", garbage, sizeof(garbage));
    refuses_unchanged(HL_ERR_CORRUPT, "is damaged");
}

Test(recovery, bodies_without_their_database_are_left_alone)
{
    char path[128], away[128];
    fixture_open(&f);
    struct hl_body body = make_file_body(&f, "what was the database's");
    make_old(&body.file);
    fixture_close(&f);
    snprintf(path, sizeof(path), "%s/hookline.db", f.dir);
    snprintf(away, sizeof(away), "%s/elsewhere", f.dir);
    cr_assert_eq(rename(path, away), 0);
    for (int i = 0; i < 2; i++) {
        refuses(HL_ERR_NOT_FOUND, "is missing");
        cr_assert_neq(access(path, F_OK), 0, "nothing is in its place");
    }
    cr_assert_eq(rename(away, path), 0);
    fixture_open(&f);
}

Test(recovery, database_of_somebody_else_is_refused)
{
    change(&f, "CREATE TABLE theirs (x); PRAGMA user_version = 7");
    refuses_unchanged(HL_ERR_INVALID, "not a hookline database");
}

Test(recovery, database_of_a_newer_version_is_refused)
{
    fixture_open(&f);
    fixture_close(&f);
    change(&f, "PRAGMA user_version = 1000");
    refuses_unchanged(HL_ERR_INVALID, "newer hookline");
}

Test(recovery, directory_that_cannot_be_written_is_refused)
{
    pid_t child = fork();
    if (child == 0) {
        chmod(f.dir, 0500);
        if (getuid() == 0 && (chown(f.dir, 65534, 65534) || setgid(65534) || setuid(65534)))
            _exit(2);
        enum hl_err err = fixture_try_open(&f);
        _exit(err == HL_ERR_DENIED && strstr(f.why, f.dir) ? 0 : 1);
    }
    int status;
    waitpid(child, &status, 0);
    cr_assert_eq(status, 0);
    chmod(f.dir, 0700);
}

Test(recovery, network_file_systems_are_refused)
{
    static const uint64_t network[] = {0x6969, 0xff534d42, 0x65735546, 0x01021997};
    static const uint64_t local[] = {0xef53, 0x58465342, 0x9123683e, 0x01021994, 0x794c7630};
    const char *name;
    for (size_t i = 0; i < HL_ARRAY_LEN(network); i++)
        cr_assert(hl_data_dir_is_refused(network[i], &name));
    for (size_t i = 0; i < HL_ARRAY_LEN(local); i++)
        cr_assert(!hl_data_dir_is_refused(local[i], &name));
}

Test(recovery, response_that_was_damaged_is_not_given_out_and_its_run_is_as_it_was)
{
    struct hl_id id;
    struct hl_get_run g;
    fixture_open(&f);
    cr_assert_eq(record_run(&f, (struct run_spec){0}, &id), HL_OK);
    cr_assert_eq(finish_run(&f, &id, 1, "answer"), HL_OK);
    fixture_close(&f);
    change(&f, "UPDATE result SET body_bytes = CAST('answes' AS BLOB)");
    fixture_open(&f);
    cr_assert_eq(get_run(&f, &id, &g), HL_ERR_CORRUPT);
    cr_assert_eq(g.run.state, HL_RUN_SUCCESS);
    cr_assert_eq(g.outcome.http_status, 200);
    cr_assert_eq(g.outcome.body.where, HL_BODY_DROPPED);
    cr_assert_eq(g.outcome.body.size, 6);
    cr_assert_null(g.outcome.body.bytes);
}

/* --- settings -------------------------------------------------------------------------------- */

Test(recovery, settings_hold)
{
    fixture_open(&f);
    cr_assert_eq(query(&f, "PRAGMA page_size"), 8192);
    cr_assert_eq(query(&f, "PRAGMA auto_vacuum"), 2);
    cr_assert_eq(query(&f, "PRAGMA journal_mode = WAL"), 0, "text: wal");
    cr_assert_eq(query(&f, "PRAGMA application_id"), 0x686b6c6e);
    cr_assert_geq(query(&f, "PRAGMA user_version"), 1);
}
