/* test_source.c - a stored body on its way to the app, from memory and from a file, whole or
 * damaged. */
#include "body/source.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <mbedtls/sha256.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data_dir_fixture.h"
#include "loop_fixture.h"
#include "store/body_file.h"
#include "store/record.h"

#define PIECE (64 * 1024)
#define LONG  (3 * PIECE + 100)

static const struct hl_id file = {{0x11, 0x22}};
static char *bytes; /* what was stored */
static struct hl_body body;
static struct hl_source *source;
static struct {
    char *got;
    size_t n, room; /* blocked once n has reached it */
    unsigned ended, pieces;
    enum hl_err err;
} told;

static bool is_blocked(void *owner)
{
    (void)owner;
    return told.n >= told.room;
}

static void on_body(void *owner, struct hl_str data)
{
    (void)owner;
    cr_assert_leq(told.n + data.n, LONG);
    memcpy(told.got + told.n, data.p, data.n);
    told.n += data.n;
    told.pieces++;
}

static void on_end(void *owner, struct hl_str trailer)
{
    (void)owner;
    cr_assert_eq(trailer.n, 0);
    told.ended++;
}

static void on_unreadable(void *owner, enum hl_err err)
{
    (void)owner;
    told.err = err;
    hl_source_free(source);
    source = NULL;
}

static const struct hl_source_events events = {is_blocked, on_body, on_end, on_unreadable};

static void begin(void)
{
    loop_begin();
    data_dir_begin();
    bytes = malloc(LONG);
    for (size_t i = 0; i < LONG; i++)
        bytes[i] = (char)(i * 31 + i / 251);
    told.got = malloc(LONG);
    told.room = SIZE_MAX;
}

static void end(void)
{
    hl_source_free(source);
    UNTIL(loop_is_idle());
    hl_body_fini(&body);
    free(told.got);
    free(bytes);
    data_dir_end();
    loop_end();
}

TestSuite(source, .init = begin, .fini = end, .timeout = 180);

static void describe(enum hl_body_where where, size_t n)
{
    body = (struct hl_body){.where = where, .size = n, .file = file};
    mbedtls_sha256_ret((unsigned char *)bytes, n, body.digest, 0);
}

static void store_in_memory(size_t n)
{
    describe(HL_BODY_INLINE, n);
    body.bytes = malloc(n);
    memcpy(body.bytes, bytes, n);
}

static void store_in_file(size_t n)
{
    int fd;
    describe(HL_BODY_FILE, n);
    cr_assert_eq(hl_body_file_create(data_dir, &file, &fd), HL_OK);
    cr_assert_eq(write(fd, bytes, n), (ssize_t)n);
    cr_assert_eq(hl_body_file_commit(data_dir, &file, fd), HL_OK);
    close(fd);
}

static void start(void)
{
    source = hl_source_new(&loop, data_dir, &body, &events, NULL);
    cr_assert_not_null(source);
    hl_source_go_on(source);
}

static void assert_whole(size_t n)
{
    UNTIL(told.ended == 1);
    cr_assert_eq(told.n, n);
    cr_assert_eq(memcmp(told.got, bytes, n), 0);
}

/* ---- as it was stored ---- */

Test(source, gives_a_body_from_memory_and_has_its_bytes)
{
    store_in_memory(1000);
    start();
    cr_assert_null(body.bytes);
    cr_assert_eq(told.n, 0, "never before the return");
    assert_whole(1000);
}

Test(source, gives_a_body_from_its_file_piece_by_piece)
{
    store_in_file(LONG);
    start();
    assert_whole(LONG);
    cr_assert_eq(told.pieces, 4);
}

Test(source, gives_nothing_while_the_app_takes_nothing)
{
    store_in_file(LONG);
    told.room = PIECE;
    start();
    UNTIL(told.n == PIECE);
    UNTIL(loop_is_idle());
    cr_assert_eq(told.n, PIECE);
    hl_source_go_on(source); /* it is full still */
    UNTIL(loop_is_idle());
    cr_assert_eq(told.n, PIECE);
    told.room = SIZE_MAX;
    hl_source_go_on(source);
    assert_whole(LONG);
}

Test(source, keeps_a_piece_that_came_when_the_app_took_nothing_any_more)
{
    store_in_memory(1000);
    start();
    told.room = 0;
    UNTIL(loop_is_idle());
    cr_assert_eq(told.pieces, 0);
    told.room = SIZE_MAX;
    hl_source_go_on(source);
    assert_whole(1000);
}

Test(source, may_go_in_the_middle_of_a_read)
{
    store_in_file(LONG);
    start();
    hl_source_free(source);
    source = NULL;
    UNTIL(loop_is_idle());
    cr_assert_eq(told.n, 0);
}

/* ---- not as it was stored ---- */

static void assert_unreadable(enum hl_err err)
{
    start();
    UNTIL(told.err != HL_OK);
    cr_assert_eq(told.err, err);
    cr_assert_eq(told.ended, 0, "the app does not take it for whole");
}

Test(source, does_not_end_a_damaged_body_from_memory)
{
    store_in_memory(1000);
    body.bytes[999] ^= 1;
    assert_unreadable(HL_ERR_CORRUPT);
    cr_assert_eq(told.n, 0);
}

Test(source, keeps_the_last_piece_of_a_damaged_file_back)
{
    store_in_file(LONG);
    body.digest[0] ^= 1;
    assert_unreadable(HL_ERR_CORRUPT);
    cr_assert_eq(told.n, 3 * PIECE);
}

Test(source, finds_a_file_that_is_too_short)
{
    store_in_file(LONG - 1);
    body.size = LONG;
    assert_unreadable(HL_ERR_CORRUPT);
}

Test(source, finds_that_a_file_has_gone)
{
    store_in_file(LONG);
    hl_body_file_remove(data_dir, &file);
    assert_unreadable(HL_ERR_NOT_FOUND);
}
