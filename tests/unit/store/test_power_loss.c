/* test_power_loss.c - the power fails at any point of what the store asks of its disk, and the disk
 * keeps what is synced and any part of the rest: the store opens, whole, and all that it had
 * acknowledged is there. SQLite only.
 *
 * A workload runs through the real store while its disk is logged (disk_log.h). Each
 * acknowledgement makes a promise: from this operation of the log on, this query answers 1. Then
 * the log is played again; the power fails after every third operation, or every so many as
 * HOOKLINE_TEST_IMAGE_STRIDE says, in each way that enum disk_loss knows. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <ftw.h>
#include <mbedtls/sha256.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/log.h"
#include "base/metric.h"
#include "config/config.h"
#include "disk_log.h"
#include "fixture.h"
#include "recording_vfs.h"
#include "store/accept.h"
#include "store/body_file.h"
#include "store/claim.h"
#include "store/gauges.h"
#include "store/lease.h"
#include "store/store.h"

#define URL         "https://receiver.example/hook"
#define PATIENCE_MS 60000

static char base[32]; /* disk/data: the workload's; image/data: the one under test */
static struct fixture f;

/* --- promises ------------------------------------------------------------------------------- */

struct promise {
    size_t from; /* operations of the log that had been done when it was made */
    char sql[320];
};

static struct promise promises[256];
static size_t n_promises;
static _Atomic size_t acknowledged_at;

/* The store's thread, as it sends a reply to an empty mailbox: the workload asks one thing at a
 * time. */
static void note_and_wake(void *arg)
{
    atomic_store(&acknowledged_at, disk_log_length());
    sem_post(&((struct party *)arg)->wake);
}

static void promise(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void promise(const char *fmt, ...)
{
    cr_assert_lt(n_promises, HL_ARRAY_LEN(promises));
    struct promise *p = &promises[n_promises++];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(p->sql, sizeof(p->sql), fmt, args);
    va_end(args);
    cr_assert_lt((size_t)n, sizeof(p->sql));
    p->from = atomic_load(&acknowledged_at);
}

/* Good for two at once. */
static const char *hex(const void *bytes, size_t n)
{
    static char texts[2][2 * 32 + 1];
    static unsigned turn;
    char *text = texts[turn++ % 2];
    hl_hex_write(text, bytes, n);
    text[2 * n] = '\0';
    return text;
}

static const char *id_text(const struct hl_id *id)
{
    return hex(id->b, sizeof(id->b));
}

static void promise_accepted(const struct hl_id *id, const uint8_t sha256[32])
{
    promise("SELECT count(*) FROM run_with_state AS run LEFT JOIN ticket"
            " ON ticket.number = run.number"
            " WHERE run.run_id = x'%s' AND (run.state >= 2 OR ticket.body_sha256 = x'%s')",
        id_text(id), hex(sha256, 32));
}

static void promise_finished(const struct hl_id *id, const uint8_t sha256[32])
{
    promise("SELECT count(*) FROM run_with_state AS run JOIN result ON result.number = run.number"
            " WHERE run.run_id = x'%s' AND run.state = 2 AND result.body_sha256 = x'%s'",
        id_text(id), hex(sha256, 32));
}

/* --- the workload --------------------------------------------------------------------------- */

static char large[24 * 1024];

static struct hl_id accept_with(struct run_spec spec, struct hl_body body)
{
    struct hl_accept *a = make_accept(&f, HL_STORE_ACCEPT, &spec);
    struct hl_id id = a->run_id;
    a->body = body;
    cr_assert_eq(ask(&f, &f.worker, &a->m), HL_OK);
    promise_accepted(&id, body.digest);
    if (spec.key)
        promise("SELECT count(*) FROM idem WHERE key = CAST('%s' AS BLOB) AND run_id = x'%s'",
            spec.key, id_text(&id));
    hl_accept_free(a);
    return id;
}

/* Several in one commit. */
static void accept_many(void)
{
    struct hl_accept *accepts[12];
    for (size_t i = 0; i < HL_ARRAY_LEN(accepts); i++) {
        accepts[i] = make_accept(&f, HL_STORE_ACCEPT, &(struct run_spec){.body = "one of many"});
        accepts[i]->m.reply_to = &f.worker.box;
    }
    for (size_t i = 0; i < HL_ARRAY_LEN(accepts); i++)
        cr_assert_eq(hl_store_post(f.store, &accepts[i]->m), HL_OK);
    for (size_t i = 0; i < HL_ARRAY_LEN(accepts); i++) {
        struct hl_accept *a = party_wait(&f.worker, HL_STORE_ACCEPT);
        cr_assert_eq(a->m.rc, HL_OK);
        atomic_store(&acknowledged_at, disk_log_length());
        promise_accepted(&a->run_id, a->body.digest);
        hl_accept_free(a);
    }
}

static struct hl_claimed *claim(void)
{
    give_credit(&f, &f.worker, 1, false);
    struct hl_claimed *c = party_wait(&f.worker, HL_STORE_CLAIMED);
    promise("SELECT count(*) FROM run WHERE run_id = x'%s' AND epoch >= %u", id_text(&c->run_id),
        c->epoch);
    return c;
}

/* `is_old`: past retention already. */
static void finish_with(const struct hl_id *id, uint32_t epoch, struct hl_body body, bool is_old)
{
    struct hl_finish *finish = make_finish(id, epoch, NULL);
    finish->outcome.body = body;
    if (is_old)
        finish->outcome.finished_ms -= 2 * FIXTURE_RETENTION_MS;
    cr_assert_eq(ask(&f, &f.worker, &finish->m), HL_OK);
    if (!is_old)
        promise_finished(id, body.digest);
    hl_finish_free(finish);
}

static void finish_claim(struct hl_body body)
{
    struct hl_claimed *c = claim();
    finish_with(&c->run_id, c->epoch, body, false);
    hl_claimed_free(c);
}

/* Bodies in the database and in files, one run with each thing that a run may have. */
static void accept_and_finish(void)
{
    struct hl_id old, id;
    cr_assert_eq(record_run(&f, (struct run_spec){0}, &old), HL_OK);
    finish_with(&old, 1, make_file_body(&f, "an old answer"), true);
    accept_with((struct run_spec){0}, make_inline_body("small"));
    accept_with((struct run_spec){.url = URL, .secret = "s", .key = "k"}, make_inline_body(large));
    accept_with((struct run_spec){.url = URL}, make_file_body(&f, "a request in a file"));
    accept_many();
    finish_claim(make_inline_body("an answer"));
    finish_claim(make_inline_body(large));
    finish_claim(make_file_body(&f, "an answer in a file"));
    cr_assert_eq(record_run(&f, (struct run_spec){.url = URL}, &id), HL_OK);
    promise("SELECT count(*) FROM run WHERE run_id = x'%s'", id_text(&id));
    finish_with(&id, 1, make_inline_body("of a recorded run"), false);
}

static void release_and_cancel(void)
{
    struct hl_id cancelled = accept_with((struct run_spec){.url = URL}, make_inline_body("x"));
    cr_assert_eq(cancel_run(&f, &cancelled), HL_OK);
    promise("SELECT count(*) FROM run_with_state WHERE run_id = x'%s' AND state = 4",
        id_text(&cancelled));

    struct hl_release *release = hl_release_new(claim());
    struct hl_id released = release->claimed->run_id;
    cr_assert_eq(ask(&f, &f.worker, &release->m), HL_OK);
    promise("SELECT count(*) FROM run WHERE run_id = x'%s' AND epoch >= 2", id_text(&released));
    hl_release_free(release);

    struct hl_claimed *c = claim();
    cr_assert_eq(cancel_run(&f, &c->run_id), HL_OK);
    promise("SELECT count(*) FROM run_with_state WHERE run_id = x'%s' AND state = 4",
        id_text(&c->run_id));
    free(party_wait(&f.worker, HL_STORE_CANCEL_RUN));
    hl_claimed_free(c);
}

static struct hl_leased *lease(void)
{
    give_lease_credit(&f, 1);
    struct hl_leased *l = party_wait(&f.sender, HL_STORE_LEASED);
    promise(
        "SELECT count(*) FROM every_attempt WHERE delivery_id = x'%s' AND round = %u AND n = %u",
        id_text(&l->delivery_id), l->round, l->n);
    return l;
}

static void end_attempt(const struct hl_leased *l, uint32_t n, enum hl_attempt_verdict verdict)
{
    cr_assert_eq(say_outcome(&f, l, n, verdict), HL_OK);
    promise("SELECT count(*) FROM attempt WHERE delivery_id = x'%s' AND round = %u AND n = %u"
            " AND verdict = %d",
        id_text(&l->delivery_id), l->round, n, verdict);
}

/* One is delivered at the second attempt, one dies and begins again, one stays leased. */
static void deliver(void)
{
    struct hl_leased *l = lease();
    end_attempt(l, 1, HL_ATTEMPT_RETRY);
    cr_assert_eq(say_attempt(&f, l, 2), HL_OK);
    promise("SELECT count(*) FROM delivery WHERE delivery_id = x'%s' AND n >= 2",
        id_text(&l->delivery_id));
    end_attempt(l, 2, HL_ATTEMPT_OK);
    promise("SELECT count(*) FROM delivery WHERE delivery_id = x'%s' AND state = 1",
        id_text(&l->delivery_id));
    hl_leased_free(l);

    l = lease();
    end_attempt(l, 1, HL_ATTEMPT_DEAD);
    promise("SELECT count(*) FROM delivery WHERE delivery_id = x'%s' AND (state = 2 OR round = 2)",
        id_text(&l->delivery_id));
    cr_assert_eq(redeliver(&f, &l->delivery_id, "p", NULL), HL_OK);
    promise("SELECT count(*) FROM delivery WHERE delivery_id = x'%s' AND round = 2",
        id_text(&l->delivery_id));
    hl_leased_free(l);
    hl_leased_free(lease());
}

static void await_checkpoint(void)
{
    size_t from = disk_log_length();
    for (int i = 0; i < 10; i++)
        accept_with((struct run_spec){0}, make_inline_body(large));
    for (int ms = 0; !disk_log_has_sync_since(from, "/hookline.db"); ms++) {
        cr_assert_lt(ms, PATIENCE_MS, "no checkpoint came");
        usleep(1000);
    }
}

/* What is past retention is purged at the start. */
static void await_purge(void)
{
    for (int ms = 0; query(&f, "SELECT count(*) FROM result WHERE finished_ms <"
                               " (SELECT max(finished_ms) FROM result) - 3600000") > 0;
         ms++) {
        cr_assert_lt(ms, PATIENCE_MS, "nothing was purged");
        usleep(1000);
    }
}

static void work(void)
{
    fixture_open(&f);
    accept_and_finish();
    release_and_cancel();
    deliver();
    hl_claimed_free(claim()); /* interrupted */
    make_file_body(&f, "an orphan");
    fixture_reopen(&f);
    await_purge();
    await_checkpoint();
    finish_claim(make_file_body(&f, "another answer in a file"));
    hl_leased_free(lease());
    await_checkpoint();
    finish_claim(make_inline_body("the last answer"));
    fixture_close(&f);
}

/* --- what an image must be like -------------------------------------------------------------- */

/* Whatever was acknowledged; each counts what must not be. */
static const struct {
    const char *sql, *claim;
} invariants[] = {
    {"SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'", "it is whole"},
    {"SELECT count(*) FROM pragma_foreign_key_check", "references hold"},
    {"SELECT count(*) FROM run_with_state WHERE state = 1", "nothing is left running"},
    {"SELECT count(*) FROM run_with_state WHERE state = 0 AND attempt > 0",
        "what ran does not run again"},
    {"SELECT count(*) FROM run_with_state AS run WHERE (state < 2) <>"
     " EXISTS (SELECT 1 FROM ticket WHERE ticket.number = run.number AND ticket.run_id = "
     "run.run_id)",
        "who waits, and only who waits, has a ticket"},
    {"SELECT count(*) FROM run_with_state AS run WHERE (state >= 2) <>"
     " EXISTS (SELECT 1 FROM result WHERE result.number = run.number AND result.run_id = "
     "run.run_id)",
        "who has ended, and only who has ended, has a result"},
    {"SELECT (SELECT count(*) FROM run) <>"
     " (SELECT count(*) FROM ticket) + (SELECT count(*) FROM result)",
        "there are no tickets or results of nobody"},
    {"SELECT count(*) FROM run_with_state AS run WHERE (state >= 2 AND has_webhook) <>"
     " EXISTS (SELECT 1 FROM delivery WHERE delivery.run_id = run.run_id)",
        "I6: deliveries are there iff the finish is"},
    {"SELECT count(*) FROM delivery WHERE is_leased OR n > max_attempts", "I9: leases have ended"},
    {"SELECT count(*) FROM every_attempt WHERE verdict IS NULL", "I10: attempts have an outcome"},
    {"SELECT count(*) FROM delivery WHERE n <> (SELECT count(*) FROM attempt WHERE"
     " attempt.delivery_id = delivery.delivery_id AND attempt.round = delivery.round)",
        "each attempt is on record"},
};

static struct fixture image;
static sqlite3 *db;
static unsigned files_seen;

static long long answer(const char *sql)
{
    sqlite3_stmt *st;
    cr_assert_eq(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK, "%s", sqlite3_errmsg(db));
    cr_assert_eq(sqlite3_step(st), SQLITE_ROW, "%s: %s", sql, sqlite3_errmsg(db));
    long long n = sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
    return n;
}

static bool has_digest(const void *bytes, size_t n, const uint8_t *sha256)
{
    return hl_digest_fits(sha256, (struct hl_str){bytes, n});
}

static bool is_file_whole(const struct hl_id *file, const uint8_t *sha256)
{
    char bytes[256];
    int fd;
    if (hl_body_file_open(image.dir, file, &fd) != HL_OK)
        return false;
    ssize_t n = read(fd, bytes, sizeof(bytes));
    close(fd);
    return has_digest(bytes, n > 0 ? (size_t)n : 0, sha256);
}

static int count_file(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)path;
    (void)st;
    (void)ftw;
    files_seen += type == FTW_F;
    return 0;
}

/* Each body that a record names is there, byte for byte, and no others. */
static void check_bodies(const char *when)
{
    sqlite3_stmt *st;
    unsigned files = 0;
    cr_assert_eq(
        sqlite3_prepare_v2(db,
            "SELECT body_where, body_sha256, body_file, body_bytes FROM ticket"
            " UNION ALL SELECT body_where, body_sha256, body_file, body_bytes FROM result"
            " UNION ALL SELECT body_where, body_sha256, body_file, body_bytes FROM request",
            -1, &st, NULL),
        SQLITE_OK);
    while (sqlite3_step(st) == SQLITE_ROW) {
        int where = sqlite3_column_int(st, 0);
        const uint8_t *sha256 = sqlite3_column_blob(st, 1);
        if (where == HL_BODY_INLINE)
            cr_assert(
                has_digest(sqlite3_column_blob(st, 3), (size_t)sqlite3_column_bytes(st, 3), sha256),
                "%s: a body is damaged", when);
        if (where == HL_BODY_FILE)
            cr_assert(is_file_whole(sqlite3_column_blob(st, 2), sha256),
                "%s: a body's file is not there or not whole", when);
        files += where == HL_BODY_FILE;
    }
    sqlite3_finalize(st);

    static const char *const places[] = {"bodies", "tmp"};
    files_seen = 0;
    for (size_t i = 0; i < HL_ARRAY_LEN(places); i++) {
        char path[96];
        snprintf(path, sizeof(path), "%s/%s", image.dir, places[i]);
        nftw(path, count_file, 8, FTW_PHYS);
    }
    cr_assert_eq(files_seen, files, "%s: files that no record names", when);
}

/* It goes on from there: what waits is claimed and can be read, and more is accepted. */
static void check_goes_on(const char *when)
{
    uint32_t queued = (uint32_t)hl_counter_get(&hl_store_get_gauges(image.store)->queued_runs);
    cr_assert_eq(accept_run(&image, (struct run_spec){.body = "more"}, NULL), HL_OK, "%s", when);
    give_credit(&image, &image.worker, queued + 1, false);
    for (uint32_t i = 0; i <= queued; i++) {
        struct hl_claimed *c = party_wait(&image.worker, HL_STORE_CLAIMED);
        cr_assert(hl_str_starts_with(c->head, HL_STR("POST /run")), "%s", when);
        hl_claimed_free(c);
    }
}

static void check_image(size_t at, const char *when)
{
    char path[96];
    enum hl_err err = fixture_try_open(&image);
    cr_assert_eq(err, HL_OK, "%s: %s: %s", when, hl_err_text(err), image.why);
    settle(&image); /* the files of interrupted runs go after a batch */
    snprintf(path, sizeof(path), "%s/hookline.db", image.dir);
    cr_assert_eq(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    for (size_t i = 0; i < HL_ARRAY_LEN(invariants); i++)
        cr_assert_eq(answer(invariants[i].sql), 0, "%s: not so: %s", when, invariants[i].claim);
    for (size_t i = 0; i < n_promises; i++)
        cr_assert(promises[i].from > at || answer(promises[i].sql) == 1, "%s: lost: %s", when,
            promises[i].sql);
    check_bodies(when);
    sqlite3_close(db);
    check_goes_on(when);
    fixture_close(&image);
}

/* --- images --------------------------------------------------------------------------------- */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

/* Files that no record names go when they are old. */
static int make_old(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    static const struct timespec long_ago[2];
    (void)st;
    (void)ftw;
    return type == FTW_F ? utimensat(AT_FDCWD, path, long_ago, 0) : 0;
}

/* The ballast takes longer to make than all else: it is taken along from image to image. */
static void make_image(struct disk *d, enum disk_loss loss, uint64_t seed)
{
    char directory[64], ballast[96], aside[64];
    snprintf(directory, sizeof(directory), "%s/image", base);
    snprintf(ballast, sizeof(ballast), "%s/ballast", image.dir);
    snprintf(aside, sizeof(aside), "%s/ballast", base);
    rename(ballast, aside);
    nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    mkdir(directory, 0700);
    disk_fail(d, loss, seed, directory);
    mkdir(image.dir, 0700);
    nftw(directory, make_old, 16, FTW_PHYS);
    rename(aside, ballast);
}

static unsigned tried[DISK_LOSSES];

static void try_image(struct disk *d, size_t at, enum disk_loss loss, uint64_t seed)
{
    char when[96];
    snprintf(when, sizeof(when), "power loss after operation %zu, %s, seed %llu", at,
        disk_loss_text(loss), (unsigned long long)seed);
    make_image(d, loss, seed);
    check_image(at, when);
    tried[loss]++;
}

static bool is_promised_at(size_t at)
{
    for (size_t i = 0; i < n_promises; i++)
        if (promises[i].from == at)
            return true;
    return false;
}

/* When all that is unsynced is lost, only syncs and promises make a difference. */
static void try_images(size_t stride, unsigned seeds)
{
    struct disk *d = disk_new();
    size_t n = disk_log_length();
    for (size_t at = 0; at <= n; at++) {
        disk_play(d, at);
        if (at == 0 || disk_log_is_sync(at - 1) || is_promised_at(at))
            try_image(d, at, DISK_LOSES_ALL, 0);
        if (at % stride > 0)
            continue;
        try_image(d, at, DISK_KEEPS_ALL, 0);
        for (unsigned seed = 0; seed < seeds; seed++) {
            try_image(d, at, DISK_KEEPS_SOME, at * seeds + seed);
            try_image(d, at, DISK_TEARS_LAST, at * seeds + seed);
        }
    }
    disk_free(d);
}

static void place(struct fixture *fixture, const char *name)
{
    char directory[64];
    fixture_init(fixture, HL_STORE_SQLITE);
    rmdir(fixture->dir);
    snprintf(directory, sizeof(directory), "%s/%s", base, name);
    mkdir(directory, 0700);
    snprintf(fixture->dir, sizeof(fixture->dir), "%s/%.8s/data", base, name);
    fixture->config->data_dir = hl_str_from(fixture->dir);
}

/* In memory if that can be: what is synced is for the log to say. */
static void init(void)
{
    hl_log_setup(HL_LOG_ERROR, HL_LOG_JSON);
    strcpy(base, "/dev/shm/hookline-power-XXXXXX");
    if (!mkdtemp(base)) {
        strcpy(base, "/tmp/hookline-power-XXXXXX");
        cr_assert(mkdtemp(base));
    }
    place(&f, "disk");
    place(&image, "image");
    fixture_set_retention(
        &image, FIXTURE_RETENTION_MS * 1000); /* nothing goes while it is looked at */
    hl_mailbox_init(&f.worker.box, note_and_wake, &f.worker);
    hl_mailbox_init(&f.sender.box, note_and_wake, &f.sender);
    hl_mailbox_init(&f.asker.box, note_and_wake, &f.asker);
    memset(large, 'l', sizeof(large) - 1);
}

static void fini(void)
{
    fixture_fini(&f);
    fixture_fini(&image);
    nftw(base, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

TestSuite(power_loss, .init = init, .fini = fini, .timeout = 3600);

Test(power_loss, all_that_was_acknowledged_is_there_after_any)
{
    char disk[64];
    snprintf(disk, sizeof(disk), "%s/disk", base);
    recording_vfs_install();
    disk_log_start(disk);
    work();
    disk_log_stop();
    const char *wanted = getenv("HOOKLINE_TEST_IMAGE_STRIDE");
    size_t stride = wanted ? strtoul(wanted, NULL, 10) : 3;
    cr_assert_gt(stride, 0, "HOOKLINE_TEST_IMAGE_STRIDE is no number: %s", wanted);
    try_images(stride, stride == 1 ? 4 : 1);
    unsigned sum = 0;
    for (int loss = 0; loss < DISK_LOSSES; loss++) {
        fprintf(stderr, "power loss: %s: %u images\n", disk_loss_text(loss), tried[loss]);
        sum += tried[loss];
    }
    fprintf(stderr, "power loss: %u images of %zu operations, %zu promises\n", sum,
        disk_log_length(), n_promises);
    cr_assert_gt(n_promises, 60);
}

/* --- the log itself: what it would find ------------------------------------------------------ */

/* How many bytes the committed body has after a power failure now; -1: it has no name. */
static int left_of_body(const struct hl_id *id, size_t at, enum disk_loss loss)
{
    struct disk *d = disk_new();
    char bytes[16];
    int fd, n = -1;
    disk_play(d, at);
    make_image(d, loss, 1);
    disk_free(d);
    if (hl_body_file_open(image.dir, id, &fd) == HL_OK) {
        n = (int)read(fd, bytes, sizeof(bytes));
        close(fd);
    }
    return n;
}

Test(power_loss, body_is_safe_once_it_is_committed_and_not_before)
{
    char disk[64], data[64];
    snprintf(disk, sizeof(disk), "%s/disk", base);
    fixture_open(&f);
    fixture_close(&f);
    nftw(f.dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    disk_log_start(disk);
    fixture_open(&f);
    struct hl_body body = make_file_body(&f, "ten bytes.");
    size_t committed = disk_log_length();
    disk_log_stop();
    snprintf(data, sizeof(data), "%s", f.dir);
    cr_assert_eq(left_of_body(&body.file, committed, DISK_LOSES_ALL), 10);
    cr_assert_eq(left_of_body(&body.file, committed - 1, DISK_LOSES_ALL), -1, "no synced name");
    for (size_t at = 0; at <= committed; at++)
        for (int loss = 0; loss < DISK_LOSSES; loss++) {
            int n = left_of_body(&body.file, at, loss);
            cr_assert(n == 10 || n == -1, "whole or not there, not %d bytes", n);
        }
}
