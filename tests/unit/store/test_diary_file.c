/* test_diary_file.c - lines that a process leaves are read by the next one, or none of them. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "store/key.h"
#include "store/postgres/diary_file.h"

static uv_loop_t loop;
static struct hl_shared_keys keys;
static char dir[] = "/tmp/hookline-diary-XXXXXX", path[64];
static struct hl_buf seen; /* lines that were read, each behind a space */

static void init(void)
{
    cr_assert_eq(uv_loop_init(&loop), 0);
    cr_assert_not_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/diary.db", dir);
    hl_key_random(&keys.key);
}

static void fini(void)
{
    char command[96];
    hl_buf_fini(&seen);
    cr_assert_eq(uv_loop_close(&loop), 0);
    snprintf(command, sizeof(command), "rm -rf %s", dir);
    cr_assert_eq(system(command), 0);
}

TestSuite(diary_file, .init = init, .fini = fini);

static bool note(void *self, struct hl_str line)
{
    (void)self;
    return hl_buf_append(&seen, " ", 1) == HL_OK && hl_buf_append_str(&seen, line) == HL_OK;
}

static struct hl_pg_diary_file *begin_in(const char *schema)
{
    struct hl_pg_diary_file *d = hl_pg_diary_file_open(&loop, &keys, dir, hl_str_from(schema));
    cr_assert_not_null(d);
    return d;
}

static struct hl_pg_diary_file *begin(void)
{
    struct hl_pg_diary_file *d = begin_in("s");
    cr_assert(hl_pg_diary_file_begins_anew(d, 1));
    cr_assert_not(hl_pg_diary_file_begins_anew(d, 1));
    return d;
}

static uint64_t add(struct hl_pg_diary_file *d, const char *text)
{
    struct hl_buf line = {0};
    cr_assert_eq(hl_buf_append_str(&line, hl_str_from(text)), HL_OK);
    return hl_pg_diary_file_add(d, &line);
}

static void end(struct hl_pg_diary_file *d)
{
    hl_pg_diary_file_close(d);
    uv_run(&loop, UV_RUN_DEFAULT);
    hl_pg_diary_file_free(d);
}

/* Whether a process of this schema believes them, and which they are. */
static bool reads(const char *schema, const char *lines)
{
    struct hl_pg_diary_file *d = begin_in(schema);
    hl_buf_fini(&seen);
    bool is_believed = hl_pg_diary_file_read(d, note, NULL);
    cr_assert(!is_believed || hl_str_eq(hl_buf_str(&seen), hl_str_from(lines)), "%.*s",
        HL_STR_ARG(hl_buf_str(&seen)));
    hl_pg_diary_file_free(d);
    return is_believed;
}

static void leave_two(void)
{
    struct hl_pg_diary_file *d = begin();
    struct hl_buf first = {0};
    add(d, "a");
    uint64_t gone = add(d, "b");
    hl_pg_diary_file_turn(d);
    add(d, "c");
    cr_assert_eq(hl_buf_append(&first, "0", 1), HL_OK);
    hl_pg_diary_file_put_first(d, &first);
    hl_pg_diary_file_drop(d, gone);
    end(d);
}

Test(diary_file, what_was_written_is_read_in_order_without_what_is_gone)
{
    struct stat st;
    cr_assert(reads("s", ""), "there is none yet");
    leave_two();
    cr_assert(reads("s", " 0 a c"));
    cr_assert(reads("s", " 0 a c"), "a reading changes nothing");
    cr_assert_eq(stat(path, &st), 0);
    cr_assert_eq(st.st_mode & 0777, 0600);
}

Test(diary_file, begun_anew_it_has_what_is_added_from_then_on)
{
    leave_two();
    struct hl_pg_diary_file *d = begin();
    add(d, "d");
    end(d);
    cr_assert(reads("s", " d"));
}

Test(diary_file, of_another_schema_or_key_or_a_copy_it_is_not_believed)
{
    char command[400];
    leave_two();
    cr_assert_not(reads("t", ""));
    cr_assert(reads("t", ""), "it was begun anew");
    leave_two();
    snprintf(command, sizeof(command), "cp %s %s.2 && mv %s.2 %s", path, path, path, path);
    cr_assert_eq(system(command), 0);
    cr_assert_not(reads("s", ""));
    leave_two();
    hl_key_random(&keys.key);
    cr_assert_not(reads("s", ""));
}

Test(diary_file, is_read_with_the_key_before)
{
    leave_two();
    keys.previous = keys.key;
    keys.has_previous = true;
    hl_key_random(&keys.key);
    cr_assert(reads("s", " 0 a c"));
}

Test(diary_file, damaged_it_is_not_believed_wherever_the_damage_is)
{
    leave_two();
    struct stat st;
    char same[80]; /* another file would be a copy */
    snprintf(same, sizeof(same), "%s/same", dir);
    cr_assert_eq(link(path, same), 0);
    cr_assert_eq(stat(path, &st), 0);
    char *whole = malloc((size_t)st.st_size);
    int fd = open(path, O_RDONLY);
    cr_assert_eq(read(fd, whole, (size_t)st.st_size), st.st_size);
    close(fd);
    size_t refused = 0;
    for (off_t at = 0; at < st.st_size; at += 61) {
        char byte = (char)(whole[at] ^ 0x55);
        unlink(path);
        cr_assert_eq(link(same, path), 0);
        fd = open(path, O_WRONLY | O_TRUNC);
        cr_assert_eq(write(fd, whole, (size_t)st.st_size), st.st_size);
        cr_assert_eq(pwrite(fd, &byte, 1, at), 1);
        close(fd);
        refused += !reads("s", " 0 a c");
    }
    free(whole);
    cr_assert_gt(refused, 2);
}

Test(diary_file, where_the_disk_takes_nothing_lines_go_nowhere_until_it_does)
{
    struct hl_pg_diary_file *d = begin();
    cr_assert_eq(mkdir(path, 0700), 0); /* nobody can write that file */
    cr_assert_gt(add(d, "a"), 0);
    hl_pg_diary_file_turn(d);
    uv_run(&loop, UV_RUN_DEFAULT);
    cr_assert_eq(add(d, "b"), 0);
    cr_assert_lt(hl_pg_diary_file_due_ms(d), UINT64_MAX);
    cr_assert_eq(rmdir(path), 0);
    cr_assert(hl_pg_diary_file_begins_anew(d, hl_pg_diary_file_due_ms(d)));
    cr_assert_gt(add(d, "c"), 0);
    end(d);
    cr_assert(reads("s", " c"));
}
