/* test_spool.c - bodies at rest: in memory, in files of a data directory of the test's own,
 * dropped. */
#include "body/journal.h"
#include "body/spool.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "body/journals.h"
#include "data_dir_fixture.h"
#include "http/body_check.h"
#include "loop_fixture.h"
#include "store/body_file.h"
#include "store/digest.h"

#define NO_LIMIT UINT64_MAX
#define PIECE    (64 * 1024)

static struct hl_id_source ids;
static struct hl_spool_home home;

/* What the spool told its owner. */
static struct {
    unsigned rooms, done;
    enum hl_err err;
    struct hl_body body;
    enum hl_body_kind kind;
    uint64_t escaped;
} told;
static bool checks;

static void path_in(char *out, size_t cap, const char *name)
{
    snprintf(out, cap, "%s/%s", data_dir, name);
}

static void begin(void)
{
    data_dir_begin();
    loop_begin();
    hl_id_source_init(&ids);
    home = (struct hl_spool_home){
        .loop = &loop, .data_dir = data_dir, .ids = &ids, .burst_left = HL_SPOOL_BURST};
}

static void end(void)
{
    UNTIL(home.open == 0);
    cr_assert_eq(home.burst_left, HL_SPOOL_BURST, "all of the burst is given back");
    loop_end();
    hl_body_fini(&told.body);
    data_dir_end();
}

TestSuite(spool, .init = begin, .fini = end, .timeout = 180);

static void on_room(void *owner)
{
    (void)owner;
    told.rooms++;
}

static void on_done(void *owner, struct hl_spool *spool, enum hl_err err, struct hl_body *body)
{
    cr_assert_eq(owner, &told);
    told.done++;
    told.err = err;
    told.body = *body;
    if (checks) {
        told.kind = hl_body_check_end(hl_spool_check(spool));
        told.escaped = hl_spool_check(spool)->escaped;
    }
}

static const struct hl_spool_events events = {.on_room = on_room, .on_done = on_done};

static struct hl_spool *open_spool(uint64_t limit)
{
    struct hl_spool *s = hl_spool_new(&home, limit, false, false, &events, &told);
    cr_assert_not_null(s);
    return s;
}

static struct hl_spool *open_checking(bool expects_json)
{
    checks = true;
    struct hl_spool *s = hl_spool_new(&home, NO_LIMIT, true, expects_json, &events, &told);
    cr_assert_not_null(s);
    return s;
}

static char *make_bytes(size_t n)
{
    char *p = malloc(n);
    for (size_t i = 0; i < n; i++)
        p[i] = (char)(i * 7 + i / 253);
    return p;
}

/* Takes p[0..n) in pieces of a read's size; waits where a source would be paused. */
static void take_all(struct hl_spool *s, const char *p, size_t n)
{
    for (size_t i = 0; i < n; i += PIECE) {
        UNTIL(!hl_spool_is_full(s));
        hl_spool_take(s, p + i, n - i < PIECE ? n - i : PIECE);
    }
}

/* SHA-256 of files, and where that is wanted. */
static void assert_digest(const char *p, size_t n, bool is_sha256)
{
    uint8_t expected[HL_DIGEST_SIZE];
    (is_sha256 ? hl_digest_sha256 : hl_digest_short)((struct hl_str){p, n}, expected);
    cr_assert_arr_eq(told.body.digest, expected, HL_DIGEST_SIZE);
}

static void assert_file(const char *p, size_t n)
{
    struct stat st;
    int fd;
    cr_assert_eq(told.body.where, HL_BODY_FILE);
    cr_assert_eq(told.body.size, n);
    cr_assert_eq(hl_body_file_open(data_dir, &told.body.file, &fd), HL_OK);
    cr_assert_eq(fstat(fd, &st), 0);
    cr_assert_eq(st.st_mode & 07777, 0600);
    cr_assert_eq((size_t)st.st_size, n);
    char *got = malloc(n);
    cr_assert_eq(read(fd, got, n), (ssize_t)n);
    cr_assert_eq(memcmp(got, p, n), 0);
    free(got);
    close(fd);
    assert_digest(p, n, true);
    cr_assert_eq(data_dir_files(), 1, "nothing else is left");
}

static void assert_inline(const char *p, size_t n)
{
    cr_assert_eq(told.err, HL_OK);
    cr_assert_eq(told.body.where, HL_BODY_INLINE);
    cr_assert_eq(told.body.size, n);
    cr_assert_eq(memcmp(told.body.bytes, p, n), 0);
    assert_digest(p, n, false);
    cr_assert_eq(data_dir_files(), 0);
}

/* ---- where bodies go ---- */

static uint64_t bytes_in_tmp(void)
{
    char path[4096];
    struct stat st;
    path_in(path, sizeof(path), "tmp");
    DIR *dir = opendir(path);
    cr_assert_not_null(dir);
    uint64_t n = 0;
    for (struct dirent *entry; (entry = readdir(dir));)
        if (entry->d_name[0] != '.' && fstatat(dirfd(dir), entry->d_name, &st, 0) == 0)
            n += (uint64_t)st.st_size;
    closedir(dir);
    return n;
}

Test(spool, gives_the_disk_back_what_is_dropped_in_the_middle)
{
    char *bytes = make_bytes(8 * PIECE);
    struct hl_spool *s = open_spool(NO_LIMIT);
    take_all(s, bytes, 8 * PIECE);
    UNTIL(bytes_in_tmp() > 0);
    hl_spool_give_up(s, HL_ERR_FULL);
    UNTIL(bytes_in_tmp() == 0);
    hl_spool_take(s, bytes, PIECE);
    cr_assert_not(hl_spool_keeps(s));
    hl_spool_end(s);
    UNTIL(told.done == 1);
    cr_assert_eq(told.err, HL_ERR_FULL);
    cr_assert_eq(told.body.where, HL_BODY_UNKEPT);
    cr_assert_eq(told.body.size, 9 * PIECE);
    free(bytes);
}

Test(spool, keeps_a_small_body_in_memory)
{
    struct hl_spool *s = open_spool(NO_LIMIT);
    hl_spool_take(s, "hello ", 6);
    hl_spool_take(s, "", 0);
    hl_spool_take(s, "world", 5);
    cr_assert_eq(hl_spool_size(s), 11);
    hl_spool_end(s);
    UNTIL(told.done == 1);
    assert_inline("hello world", 11);
}

Test(spool, knows_the_hash_of_nothing)
{
    hl_spool_end(open_spool(NO_LIMIT));
    UNTIL(told.done == 1);
    cr_assert_eq(told.body.size, 0);
    assert_digest("", 0, false);
}

Test(spool, has_sha256_of_a_body_in_memory_where_it_is_wanted)
{
    char *bytes = make_bytes(HL_BODY_INLINE_MAX);
    static const size_t sizes[] = {0, 11, HL_BODY_INLINE_MAX};
    for (unsigned i = 0; i < 2 * HL_ARRAY_LEN(sizes); i++) {
        size_t n = sizes[i / 2];
        home.wants_sha256 = i % 2;
        struct hl_spool *s = open_spool(NO_LIMIT);
        if (!home.wants_sha256)
            hl_spool_want_sha256(s);
        take_all(s, bytes, n);
        hl_spool_end(s);
        UNTIL(told.done == 1);
        cr_assert_eq(told.body.where, HL_BODY_INLINE);
        assert_digest(bytes, n, true);
        hl_body_fini(&told.body);
        told.done = 0;
    }
    free(bytes);
}

Test(spool, keeps_a_body_of_the_inline_size_in_memory)
{
    char *bytes = make_bytes(HL_BODY_INLINE_MAX);
    struct hl_spool *s = open_spool(NO_LIMIT);
    take_all(s, bytes, HL_BODY_INLINE_MAX);
    hl_spool_end(s);
    UNTIL(told.done == 1);
    assert_inline(bytes, HL_BODY_INLINE_MAX);
    free(bytes);
}

Test(spool, puts_a_longer_body_in_a_file)
{
    size_t n = HL_BODY_INLINE_MAX + 1;
    char *bytes = make_bytes(n);
    struct hl_spool *s = open_spool(NO_LIMIT);
    take_all(s, bytes, n);
    hl_spool_end(s);
    UNTIL(told.done == 1);
    cr_assert_eq(told.err, HL_OK);
    assert_file(bytes, n);
    free(bytes);
}

Test(spool, puts_many_pieces_in_a_file_in_order)
{
    size_t n = 3000017;
    char *bytes = make_bytes(n);
    struct hl_spool *s = open_spool(n);
    take_all(s, bytes, n);
    hl_spool_end(s);
    UNTIL(told.done == 1);
    cr_assert_eq(told.err, HL_OK);
    assert_file(bytes, n);
    free(bytes);
}

Test(spool, begins_the_file_at_once_for_a_body_announced_as_long)
{
    size_t n = HL_BODY_INLINE_MAX + 100;
    char *bytes = make_bytes(n);
    struct hl_spool *s = open_spool(NO_LIMIT);
    hl_spool_expect(s, n);
    hl_spool_take(s, bytes, PIECE);
    UNTIL(data_dir_files() == 1);
    take_all(s, bytes + PIECE, n - PIECE);
    hl_spool_end(s);
    UNTIL(told.done == 1);
    assert_file(bytes, n);
    free(bytes);
}

Test(spool, writes_a_file_even_if_less_came_than_was_announced)
{
    struct hl_spool *s = open_spool(NO_LIMIT);
    hl_spool_expect(s, HL_BODY_INLINE_MAX + 100);
    hl_spool_take(s, "short", 5);
    hl_spool_end(s);
    UNTIL(told.done == 1);
    assert_file("short", 5);
}

Test(spool, keeps_everything_in_memory_without_a_data_directory)
{
    size_t n = 1500000;
    char *bytes = make_bytes(n);
    home.data_dir = NULL;
    struct hl_spool *s = open_spool(NO_LIMIT);
    hl_spool_expect(s, n);
    take_all(s, bytes, n);
    cr_assert_not(hl_spool_is_full(s));
    hl_spool_end(s);
    UNTIL(told.done == 1);
    assert_inline(bytes, n);
    free(bytes);
}

Test(spool, has_no_more_memory_than_the_store_without_a_data_directory)
{
    const uint64_t most = 1u << 20;
    _Atomic uint64_t left = most;
    size_t n = HL_BODY_INLINE_MAX + most;
    char *bytes = make_bytes(n + 1);
    home.data_dir = NULL;
    home.memory_left = &left;
    struct hl_spool *s = open_spool(NO_LIMIT);
    take_all(s, bytes, n);
    cr_assert_eq(left, 0);
    struct hl_spool *other = open_spool(NO_LIMIT);
    take_all(other, bytes, HL_BODY_INLINE_MAX); /* which each has in any case */
    hl_spool_abandon(other);
    hl_spool_take(s, bytes + n, 1);
    cr_assert_eq(left, most, "what was dropped is given back");
    hl_spool_end(s);
    UNTIL(told.done == 1);
    cr_assert_eq(told.err, HL_ERR_FULL);
    home.memory_left = NULL;
    free(bytes);
}

Test(spool, removes_a_finished_file)
{
    size_t n = HL_BODY_INLINE_MAX + 1;
    char *bytes = make_bytes(n);
    struct hl_spool *s = open_spool(NO_LIMIT);
    take_all(s, bytes, n);
    hl_spool_end(s);
    UNTIL(told.done == 1);
    cr_assert_eq(data_dir_files(), 1);
    hl_spool_remove_file(&home, &told.body.file);
    UNTIL(data_dir_files() == 0);
    free(bytes);
}

/* ---- back-pressure ---- */

Test(spool, is_full_while_the_disk_lags_and_says_when_there_is_room)
{
    char *bytes = make_bytes(4 * PIECE);
    struct hl_spool *s = open_spool(NO_LIMIT);
    hl_spool_expect(s, HL_BODY_INLINE_MAX + 1);
    hl_spool_take(s, bytes, PIECE); /* on its way to the disk */
    cr_assert_not(hl_spool_is_full(s));
    hl_spool_take(s, bytes + PIECE, PIECE - 1);
    cr_assert_not(hl_spool_is_full(s));
    hl_spool_take(s, bytes + 2 * PIECE - 1, 1);
    cr_assert(hl_spool_is_full(s));
    cr_assert_eq(told.rooms, 0);
    UNTIL(told.rooms == 1);
    cr_assert_not(hl_spool_is_full(s));
    hl_spool_end(s);
    UNTIL(told.done == 1);
    assert_file(bytes, 2 * PIECE);
    cr_assert_eq(told.rooms, 1);
    free(bytes);
}

Test(spool, keeps_all_of_what_comes_however_far_the_disk_is_behind)
{
    size_t n = 100 * PIECE;
    char *bytes = make_bytes(n);
    home.burst_left = 0;
    struct hl_spool *s = open_spool(n);
    hl_spool_expect(s, n);
    for (size_t i = 0; i < n; i += PIECE) /* the loop does not run: no piece ends */
        hl_spool_take(s, bytes + i, PIECE);
    cr_assert(hl_spool_is_full(s));
    hl_spool_end(s);
    UNTIL(told.done == 1);
    cr_assert_eq(told.err, HL_OK);
    assert_file(bytes, n);
    home.burst_left = HL_SPOOL_BURST;
    free(bytes);
}

Test(spool, is_full_later_in_a_hurry_while_the_burst_lasts)
{
    char *bytes = make_bytes(PIECE);
    size_t waiting = 0;
    struct hl_spool *s = open_spool(NO_LIMIT), *other = open_spool(NO_LIMIT);
    hl_spool_set_hurried(s, true);
    hl_spool_expect(s, 100u << 20);
    hl_spool_take(s, bytes, PIECE); /* on its way; the loop does not run any more */
    for (; !hl_spool_is_full(s); waiting += PIECE)
        hl_spool_take(s, bytes, PIECE);
    cr_assert_eq(waiting, HL_SPOOL_BURST + PIECE);
    hl_spool_set_hurried(other, true);
    hl_spool_expect(other, 100u << 20);
    hl_spool_take(other, bytes, PIECE);
    hl_spool_take(other, bytes, PIECE);
    cr_assert(hl_spool_is_full(other), "they share it");
    hl_spool_abandon(other);
    UNTIL(told.rooms == 1);
    cr_assert_eq(home.burst_left, 0, "it is being written");
    UNTIL(home.burst_left == HL_SPOOL_BURST);
    cr_assert_eq(hl_spool_written(s), PIECE + waiting);
    hl_spool_end(s);
    UNTIL(told.done == 1);
    cr_assert_eq(told.err, HL_OK);
    cr_assert_eq(told.body.size, PIECE + waiting);
    free(bytes);
}

Test(spool, drops_in_memory_what_no_row_of_a_store_there_holds)
{
    home.data_dir = NULL;
    struct hl_spool *most = open_spool(NO_LIMIT), *more = open_spool(NO_LIMIT);
    hl_spool_expect(most, HL_BODY_MEMORY_MAX);
    hl_spool_expect(more, (uint64_t)HL_BODY_MEMORY_MAX + 1);
    cr_assert(hl_spool_keeps(most) && !hl_spool_keeps(more));
    cr_assert(hl_spool_is_over(more));
    hl_spool_abandon(most);
    hl_spool_end(more);
    UNTIL(told.done == 1);
    cr_assert_eq(told.err, HL_ERR_TOO_LARGE);
    cr_assert_eq(told.body.where, HL_BODY_DROPPED);
}

Test(spool, drops_what_is_given_up)
{
    char *bytes = make_bytes(PIECE);
    struct hl_spool *s = open_spool(NO_LIMIT);
    hl_spool_expect(s, 100u << 20);
    hl_spool_take(s, bytes, PIECE);
    hl_spool_take(s, bytes, PIECE);
    cr_assert(hl_spool_is_full(s));
    hl_spool_give_up(s, HL_ERR_TIMEOUT);
    cr_assert_not(hl_spool_is_full(s));
    hl_spool_take(s, bytes, PIECE);
    hl_spool_end(s);
    UNTIL(told.done == 1);
    cr_assert_eq(told.err, HL_ERR_TIMEOUT);
    cr_assert_eq(told.body.where, HL_BODY_UNKEPT);
    cr_assert_eq(told.body.size, 3 * PIECE);
    UNTIL(home.open == 0);
    cr_assert_eq(data_dir_files(), 0);
    free(bytes);
}

/* ---- what is dropped ---- */

static void assert_dropped(enum hl_err err, uint64_t size)
{
    UNTIL(told.done == 1);
    cr_assert_eq(told.err, err);
    cr_assert_eq(told.body.where, err == HL_ERR_TOO_LARGE ? HL_BODY_DROPPED : HL_BODY_UNKEPT);
    cr_assert_eq(told.body.size, size, "it is still counted");
    UNTIL(home.open == 0);
    cr_assert_eq(data_dir_files(), 0);
}

Test(spool, drops_a_small_body_beyond_its_limit)
{
    struct hl_spool *s = open_spool(10);
    hl_spool_take(s, "0123456789", 10);
    cr_assert_not(hl_spool_is_over(s));
    hl_spool_take(s, "x", 1);
    cr_assert(hl_spool_is_over(s));
    hl_spool_take(s, "yz", 2);
    hl_spool_end(s);
    assert_dropped(HL_ERR_TOO_LARGE, 13);
}

Test(spool, drops_a_file_beyond_its_limit)
{
    size_t n = 10 * PIECE;
    char *bytes = make_bytes(n);
    struct hl_spool *s = open_spool(n - 1);
    hl_spool_expect(s, n - 1);
    hl_spool_take(s, bytes, PIECE);
    UNTIL(data_dir_files() == 1);
    take_all(s, bytes + PIECE, n - PIECE);
    hl_spool_end(s);
    assert_dropped(HL_ERR_TOO_LARGE, n);
    free(bytes);
}

Test(spool, drops_a_body_announced_as_too_long)
{
    struct hl_spool *s = open_spool(1000);
    hl_spool_expect(s, 1001);
    cr_assert(hl_spool_is_over(s));
    hl_spool_take(s, "x", 1);
    hl_spool_end(s);
    assert_dropped(HL_ERR_TOO_LARGE, 1);
}

Test(spool, says_that_the_disk_failed)
{
    char *bytes = make_bytes(PIECE), path[128];
    path_in(path, sizeof(path), "tmp");
    cr_assert_eq(rmdir(path), 0);
    struct hl_spool *s = open_spool(NO_LIMIT);
    hl_spool_expect(s, HL_BODY_INLINE_MAX + 1);
    hl_spool_take(s, bytes, PIECE);
    hl_spool_take(s, bytes, PIECE);
    cr_assert(hl_spool_is_full(s));
    UNTIL(told.rooms == 1); /* its source is not left paused */
    cr_assert_not(hl_spool_is_over(s));
    hl_spool_end(s);
    UNTIL(told.done == 1);
    cr_assert_neq(told.err, HL_OK);
    cr_assert_neq(told.err, HL_ERR_TOO_LARGE);
    cr_assert_eq(told.body.where, HL_BODY_UNKEPT);
    free(bytes);
}

/* ---- abandoned in each state ---- */

static void assert_gone(void)
{
    UNTIL(home.open == 0);
    cr_assert_eq(told.done + told.rooms, 0);
    cr_assert_eq(data_dir_files(), 0);
}

Test(spool, is_abandoned_in_memory)
{
    struct hl_spool *s = open_spool(NO_LIMIT);
    hl_spool_take(s, "x", 1);
    hl_spool_abandon(s);
    hl_spool_abandon(NULL); /* harmless */
    assert_gone();
}

Test(spool, is_abandoned_while_it_is_hashed)
{
    char *bytes = make_bytes(PIECE);
    struct hl_spool *s = open_spool(NO_LIMIT);
    hl_spool_take(s, bytes, PIECE);
    hl_spool_end(s);
    cr_assert_eq(told.done, 0);
    hl_spool_abandon(s);
    assert_gone();
    free(bytes);
}

Test(spool, is_abandoned_while_a_piece_is_written)
{
    char *bytes = make_bytes(2 * PIECE);
    struct hl_spool *s = open_spool(NO_LIMIT);
    hl_spool_expect(s, HL_BODY_INLINE_MAX + 1);
    hl_spool_take(s, bytes, 2 * PIECE);
    hl_spool_abandon(s);
    assert_gone();
    free(bytes);
}

Test(spool, is_abandoned_between_pieces)
{
    char *bytes = make_bytes(2 * PIECE);
    struct hl_spool *s = open_spool(NO_LIMIT);
    hl_spool_expect(s, HL_BODY_INLINE_MAX + 1);
    hl_spool_take(s, bytes, PIECE);
    UNTIL(loop_is_idle()); /* nothing is with the pool any more */
    cr_assert_eq(data_dir_files(), 1);
    hl_spool_abandon(s);
    assert_gone();
    free(bytes);
}

Test(spool, is_abandoned_while_it_is_made_durable)
{
    char *bytes = make_bytes(PIECE);
    struct hl_spool *s = open_spool(NO_LIMIT);
    hl_spool_expect(s, HL_BODY_INLINE_MAX + 1);
    hl_spool_take(s, bytes, 100);
    hl_spool_end(s); /* the last piece is with the pool */
    hl_spool_abandon(s);
    assert_gone();
    free(bytes);
}

Test(spool, is_abandoned_after_it_was_dropped)
{
    char *bytes = make_bytes(2 * PIECE);
    struct hl_spool *s = open_spool(PIECE);
    hl_spool_expect(s, PIECE);
    hl_spool_take(s, bytes, 2 * PIECE);
    cr_assert(hl_spool_is_over(s));
    hl_spool_abandon(s);
    assert_gone();
    free(bytes);
}

/* ---- what the body is ---- */

Test(spool, finds_json_cut_anywhere)
{
    struct hl_spool *s = open_checking(true);
    hl_spool_take(s, "{\"a\":[1,", 8);
    hl_spool_take(s, "2]}", 3);
    hl_spool_end(s);
    UNTIL(told.done == 1);
    cr_assert_eq(told.kind, HL_BODY_JSON);
}

Test(spool, finds_text_and_how_long_it_is_escaped)
{
    struct hl_spool *s = open_checking(false);
    hl_spool_take(s, "a\"\n\xc3", 4);
    hl_spool_take(s, "\xbc", 1);
    hl_spool_end(s);
    UNTIL(told.done == 1);
    cr_assert_eq(told.kind, HL_BODY_TEXT);
    cr_assert_eq(told.escaped, 7); /* a \" \n ü */
}

Test(spool, finds_that_a_long_file_is_binary)
{
    char *bytes = make_bytes(HL_BODY_INLINE_MAX + 1);
    struct hl_spool *s = open_checking(false);
    take_all(s, bytes, HL_BODY_INLINE_MAX + 1);
    hl_spool_end(s);
    UNTIL(told.done == 1);
    cr_assert_eq(told.kind, HL_BODY_BINARY);
    cr_assert_eq(told.body.where, HL_BODY_FILE);
    free(bytes);
}

/* ---- a stream that others follow ---- */

static const struct hl_id stream_file = {.b = {9, 9, 9}};
static struct hl_journals journals;
static struct hl_journal *journal;

static struct hl_spool *open_followed(uint64_t limit)
{
    static const struct hl_id run_id = {.b = {1}};
    hl_journals_init(&journals, 10);
    journal = hl_journals_open(&journals, &run_id, 1, 0);
    hl_journal_begin_stream(journal, home.data_dir != NULL);
    struct hl_spool *s = open_spool(limit);
    hl_spool_set_journal(s, journal, &stream_file);
    return s;
}

static void close_journal(void)
{
    hl_journals_close(journal);
    hl_journals_fini(&journals);
}

static struct hl_journal_look look(void)
{
    struct hl_journal_look now;
    hl_journal_observe(journal, &now);
    return now;
}

/* How long the stream's file is while it is written; -1: it is not there. */
static off_t left_size(void)
{
    int fd;
    struct stat st;
    bool is_named;
    if (hl_body_file_open_left(data_dir, &stream_file, &fd, &is_named) != HL_OK)
        return -1;
    cr_assert_eq(fstat(fd, &st), 0);
    close(fd);
    return is_named ? -1 : st.st_size;
}

Test(spool, shows_followers_a_byte_when_it_is_in_the_file_and_not_before)
{
    struct hl_spool *s = open_followed(NO_LIMIT);
    hl_spool_take(s, "data: a\n\n", 9);
    cr_assert_eq(look().size, 0, "it is on its way");
    hl_spool_take(s, "data: b\n\n", 9);
    UNTIL_WITH(cr_assert_leq((off_t)look().size, left_size()), look().size == 18);
    hl_spool_end(s);
    UNTIL(told.done == 1);
    close_journal();
}

Test(spool, writes_a_followed_stream_under_the_name_it_was_given_from_its_first_byte)
{
    struct hl_spool *s = open_followed(NO_LIMIT);
    hl_spool_take(s, "d", 1);
    UNTIL(left_size() == 1);
    hl_spool_end(s);
    UNTIL(told.done == 1);
    close_journal();
}

Test(spool, ends_a_short_followed_stream_inline_and_leaves_its_file)
{
    struct hl_spool *s = open_followed(NO_LIMIT);
    hl_spool_take(s, "data: a\n\n", 9);
    UNTIL(look().size == 9);
    hl_spool_take(s, "data: b\n\n", 9);
    hl_spool_end(s);
    UNTIL(told.done == 1);
    cr_assert_eq(told.err, HL_OK);
    cr_assert_eq(told.body.where, HL_BODY_INLINE);
    cr_assert_eq(told.body.size, 18);
    cr_assert_arr_eq(told.body.bytes, "data: a\n\ndata: b\n\n", 18);
    assert_digest("data: a\n\ndata: b\n\n", 18, false);
    cr_assert_eq(left_size(), 18, "until the record has it");
    cr_assert_eq(look().size, 18);
    close_journal();
}

Test(spool, ends_a_followed_stream_of_the_inline_size_inline)
{
    char *bytes = make_bytes(HL_BODY_INLINE_MAX);
    struct hl_spool *s = open_followed(NO_LIMIT);
    take_all(s, bytes, HL_BODY_INLINE_MAX);
    hl_spool_end(s);
    UNTIL(told.done == 1);
    cr_assert_eq(told.body.where, HL_BODY_INLINE);
    cr_assert_eq(memcmp(told.body.bytes, bytes, HL_BODY_INLINE_MAX), 0);
    assert_digest(bytes, HL_BODY_INLINE_MAX, false);
    close_journal();
    free(bytes);
}

Test(spool, ends_a_longer_followed_stream_in_its_file)
{
    size_t n = HL_BODY_INLINE_MAX + 1;
    char *bytes = make_bytes(n);
    struct hl_spool *s = open_followed(NO_LIMIT);
    take_all(s, bytes, n);
    hl_spool_end(s);
    UNTIL(told.done == 1);
    cr_assert_eq(told.err, HL_OK);
    cr_assert(hl_id_eq(&told.body.file, &stream_file));
    assert_file(bytes, n);
    cr_assert_eq(look().size, n);
    close_journal();
    free(bytes);
}

Test(spool, ends_an_empty_followed_stream_inline_without_a_file)
{
    hl_spool_end(open_followed(NO_LIMIT));
    UNTIL(told.done == 1);
    cr_assert_eq(told.body.where, HL_BODY_INLINE);
    cr_assert_eq(told.body.size, 0);
    assert_digest("", 0, false);
    cr_assert_eq(data_dir_files(), 0);
    close_journal();
}

Test(spool, shows_followers_a_byte_at_once_without_a_data_directory)
{
    home.data_dir = NULL;
    struct hl_spool *s = open_followed(NO_LIMIT);
    hl_spool_take(s, "data: a\n\n", 9);
    cr_assert_eq(look().size, 9);
    hl_spool_end(s);
    UNTIL(told.done == 1);
    assert_inline("data: a\n\n", 9);
    close_journal();
}

Test(spool, drops_the_journal_of_a_stream_beyond_its_limit)
{
    struct hl_spool *s = open_followed(10);
    hl_spool_take(s, "data: a\n\n", 9);
    UNTIL(look().size == 9);
    cr_assert(hl_spool_keeps(s));
    hl_spool_take(s, "data: b\n\n", 9);
    cr_assert(look().is_dropped);
    cr_assert_not(hl_spool_keeps(s));
    hl_spool_end(s);
    assert_dropped(HL_ERR_TOO_LARGE, 18);
    close_journal();
}

Test(spool, drops_the_journal_of_a_stream_that_cannot_be_written)
{
    char path[128];
    path_in(path, sizeof(path), "tmp");
    cr_assert_eq(rmdir(path), 0);
    struct hl_spool *s = open_followed(NO_LIMIT);
    hl_spool_take(s, "data: a\n\n", 9);
    UNTIL(look().is_dropped);
    cr_assert_eq(look().size, 0);
    hl_spool_end(s);
    UNTIL(told.done == 1);
    cr_assert_eq(told.body.where, HL_BODY_UNKEPT);
    close_journal();
}

Test(spool, leaves_the_file_of_a_stream_for_the_next_process)
{
    struct hl_spool *s = open_followed(NO_LIMIT);
    hl_spool_take(s, "data: a\n\n", 9);
    hl_spool_leave(s); /* a piece is with the pool */
    hl_spool_leave(NULL);
    UNTIL(home.open == 0);
    cr_assert_eq(told.done, 0);
    cr_assert_eq(left_size(), 9);
    close_journal();
}

Test(spool, removes_the_file_of_a_stream_that_is_abandoned)
{
    struct hl_spool *s = open_followed(NO_LIMIT);
    hl_spool_take(s, "data: a\n\n", 9);
    UNTIL(look().size == 9);
    hl_spool_abandon(s);
    assert_gone();
    close_journal();
}
