/* test_journal.c - one run's event stream while it comes: what can be read of it, when, and who is woken. */
#include "body/journal.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "body/journals.h"
#include "store/body_file.h"

#define PIECE (32 * 1024)

static const struct hl_id run_id = {.b = {1, 2, 3}};

static struct hl_journals all;
static struct hl_journal *j;
static struct hl_journal_tap tap;
static struct hl_mailbox box;
static unsigned wakes;
static int fd = -1; /* the stream's file */

static void wake(void *arg)
{
    (void)arg;
    wakes++;
}

static void begin(void)
{
    hl_mailbox_init(&box, wake, NULL);
    hl_journals_init(&all, 10);
    j = hl_journals_open(&all, &run_id, 2, 7);
    cr_assert_not_null(j);
    cr_assert(hl_journals_tap(&all, &run_id, &tap, &box, 5));
}

static void end(void)
{
    hl_mailbox_take(&box);
    hl_journals_close(j);
    cr_assert_not(hl_journals_untap(&tap) && tap.is_posted);
    hl_journals_fini(&all);
    if (fd >= 0)
        close(fd);
}

TestSuite(journal, .init = begin, .fini = end, .timeout = 180);

static struct hl_journal_look look(void)
{
    struct hl_journal_look now;
    hl_journal_observe(j, &now);
    return now;
}

/* Whether there was a message since; what is new from now on is another one. */
static bool is_woken(void)
{
    struct hl_msg *msg = hl_mailbox_take(&box);
    if (!msg)
        return false;
    cr_assert_eq(msg, &tap.msg);
    cr_assert_eq(msg->type, 5);
    cr_assert_null(msg->next, "one message, whatever happened");
    hl_journal_heard(&tap);
    return true;
}

static void open_file(void)
{
    char path[] = "/tmp/hl-journal-XXXXXX";
    fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    unlink(path);
}

/* As a spool does: first the file, then the journal. */
static void add(const char *p, size_t n)
{
    if (fd >= 0)
        cr_assert_eq(hl_body_file_write(fd, (struct hl_str){p, n}), HL_OK);
    cr_assert(hl_journal_add(j, (struct hl_str){p, n}, fd));
}

static char byte_at(uint64_t offset)
{
    return (char)(offset * 7 + offset / 253);
}

static void add_bytes(size_t n)
{
    static char piece[PIECE];
    for (size_t done = 0; done < n; done += PIECE) {
        uint64_t from = look().size;
        size_t size = n - done < PIECE ? n - done : PIECE;
        for (size_t i = 0; i < size; i++)
            piece[i] = byte_at(from + i);
        add(piece, size);
    }
}

static void assert_bytes(const char *p, size_t n, uint64_t from)
{
    for (size_t i = 0; i < n; i++)
        cr_assert_eq(p[i], byte_at(from + i), "byte %llu", (unsigned long long)(from + i));
}

/* ---- stages ---- */

Test(journal, is_open_until_its_app_answers)
{
    struct hl_journal_look now = look();
    cr_assert_eq(now.stage, HL_JOURNAL_OPEN);
    cr_assert_eq(now.state, HL_RUN_RUNNING);
    cr_assert_eq(now.attempt, 2);
    cr_assert_eq(now.before, 7);
    cr_assert_not(now.is_stream);
}

Test(journal, says_that_a_stream_comes)
{
    hl_journal_begin_stream(j, false);
    cr_assert_eq(look().stage, HL_JOURNAL_STREAM);
    cr_assert(look().is_stream);
    cr_assert(is_woken());
}

Test(journal, says_that_something_else_comes)
{
    hl_journal_begin_other(j);
    cr_assert_eq(look().stage, HL_JOURNAL_OTHER);
    cr_assert_not(look().is_stream);
    cr_assert(is_woken());
}

Test(journal, says_how_the_run_ended)
{
    hl_journal_begin_stream(j, false);
    hl_journal_end(j, HL_RUN_FAILURE, HL_REASON_TIMEOUT, false);
    cr_assert_eq(look().stage, HL_JOURNAL_ENDED);
    cr_assert_eq(look().state, HL_RUN_FAILURE);
    cr_assert_eq(look().reason, HL_REASON_TIMEOUT);
    cr_assert_not(look().is_again);
    cr_assert_not(look().is_closed, "the store does not know yet");
    cr_assert(is_woken());
}

Test(journal, says_that_another_attempt_follows)
{
    hl_journal_end(j, HL_RUN_FAILURE, HL_REASON_TIMEOUT, true);
    cr_assert(look().is_again);
    cr_assert_eq(look().state, HL_RUN_QUEUED);
    cr_assert(is_woken());
}

Test(journal, that_is_closed_without_an_end_waits_again)
{
    struct hl_journal_look now;
    hl_journals_close(j);
    hl_journal_observe(tap.journal, &now);
    cr_assert_eq(now.stage, HL_JOURNAL_ENDED);
    cr_assert_eq(now.state, HL_RUN_QUEUED);
    cr_assert(now.is_again);
    cr_assert(now.is_closed);
    cr_assert(is_woken());
    j = NULL;
}

/* ---- bytes ---- */

Test(journal, gives_bytes_from_anywhere_without_a_file)
{
    char got[16];
    bool is_file = true;
    hl_journal_begin_stream(j, false);
    add("data: a\n\n", 9);
    add("data: b\n\n", 9);
    cr_assert_eq(look().size, 18);
    cr_assert_eq(hl_journal_read(j, 6, got, 5, &is_file), 5);
    cr_assert_arr_eq(got, "a\n\nda", 5);
    cr_assert_not(is_file);
    cr_assert_eq(hl_journal_read(j, 15, got, sizeof(got), &is_file), 3);
    cr_assert_eq(hl_journal_read(j, 18, got, sizeof(got), &is_file), 0);
    cr_assert_not(is_file, "there is no more");
}

Test(journal, holds_everything_without_a_file)
{
    static char got[1000];
    bool is_file;
    hl_journal_begin_stream(j, false);
    add_bytes(3 * HL_BODY_INLINE_MAX);
    cr_assert_eq(hl_journal_read(j, 0, got, sizeof(got), &is_file), sizeof(got));
    assert_bytes(got, sizeof(got), 0);
}

Test(journal, holds_all_of_a_short_stream_and_only_the_tail_of_a_long_one)
{
    static char got[PIECE];
    bool is_file;
    open_file();
    hl_journal_begin_stream(j, true);
    add_bytes(HL_BODY_INLINE_MAX);
    cr_assert_eq(hl_journal_read(j, 0, got, sizeof(got), &is_file), PIECE);
    assert_bytes(got, PIECE, 0);

    add_bytes(1);
    cr_assert_eq(hl_journal_read(j, 0, got, sizeof(got), &is_file), 0);
    cr_assert(is_file);
    uint64_t tail = HL_BODY_INLINE_MAX + 1 - HL_JOURNAL_TAIL;
    cr_assert_eq(hl_journal_read(j, tail, got, sizeof(got), &is_file), PIECE);
    cr_assert_not(is_file);
    assert_bytes(got, PIECE, tail);
}

Test(journal, does_not_grow_with_a_long_stream)
{
    open_file();
    hl_journal_begin_stream(j, true);
    add_bytes(HL_BODY_INLINE_MAX + 1);
    size_t cap = j->cap;
    add_bytes(4 << 20);
    cr_assert_leq(j->cap, cap);
    cr_assert_eq(look().size, HL_BODY_INLINE_MAX + 1 + (4 << 20));
}

Test(journal, holds_no_more_than_the_tail_of_one_large_piece)
{
    enum { LARGE = 4 << 20 };
    static char large[LARGE], got[PIECE];
    bool is_file;
    for (size_t i = 0; i < LARGE; i++)
        large[i] = byte_at(10 + i);
    open_file();
    hl_journal_begin_stream(j, true);
    add_bytes(10);
    add(large, LARGE);
    cr_assert_eq(look().size, 10 + LARGE);
    cr_assert_leq(j->cap, HL_BODY_INLINE_MAX);
    cr_assert_eq(hl_journal_read(j, 9, got, PIECE, &is_file), 0);
    cr_assert(is_file);
    cr_assert_eq(hl_journal_read(j, 10 + LARGE - HL_JOURNAL_TAIL, got, PIECE, &is_file), PIECE);
    assert_bytes(got, PIECE, 10 + LARGE - HL_JOURNAL_TAIL);
    add_bytes(100);
    cr_assert_eq(hl_journal_read(j, 10 + LARGE, got, PIECE, &is_file), 100);
    assert_bytes(got, 100, 10 + LARGE);
}

Test(journal, gives_what_is_behind_from_the_file_and_nothing_beyond_what_was_added)
{
    static char got[PIECE];
    bool is_file;
    open_file();
    hl_journal_begin_stream(j, true);
    add_bytes(HL_BODY_INLINE_MAX + PIECE);
    cr_assert_eq(hl_body_file_write(fd, HL_STR("not said yet")), HL_OK);
    cr_assert_eq(hl_journal_read(j, 100, got, sizeof(got), &is_file), 0);
    cr_assert(is_file);
    cr_assert_eq(hl_journal_read_file(j, 100, got, sizeof(got)), PIECE);
    assert_bytes(got, PIECE, 100);
    cr_assert_eq(hl_journal_read_file(j, look().size - 10, got, sizeof(got)), 10);
}

Test(journal, reads_the_file_after_its_writer_has_closed_it)
{
    static char got[PIECE];
    open_file();
    hl_journal_begin_stream(j, true);
    add_bytes(HL_BODY_INLINE_MAX + PIECE);
    close(fd);
    fd = -1;
    cr_assert_eq(hl_journal_read_file(j, 0, got, sizeof(got)), PIECE);
    assert_bytes(got, PIECE, 0);
}

Test(journal, says_that_a_file_cannot_be_read)
{
    static char got[16];
    open_file();
    hl_journal_begin_stream(j, true);
    add_bytes(HL_BODY_INLINE_MAX + PIECE);
    cr_assert_eq(ftruncate(fd, 0), 0);
    cr_assert_eq(hl_journal_read_file(j, 0, got, sizeof(got)), -1);
}

Test(journal, adds_nothing_without_a_descriptor_for_its_file)
{
    hl_journal_begin_stream(j, true);
    cr_assert_not(hl_journal_add(j, HL_STR("data: a\n\n"), -1));
    cr_assert_eq(look().size, 0);
}

Test(journal, leaves_what_is_closed_to_the_file_or_the_store)
{
    char got[16];
    bool is_file;
    open_file();
    hl_journal_begin_stream(j, true);
    add("data: a\n\n", 9);
    hl_journal_end(j, HL_RUN_SUCCESS, HL_REASON_NONE, false);
    hl_journals_close(j);
    cr_assert_eq(hl_journal_read(tap.journal, 0, got, sizeof(got), &is_file), 0);
    cr_assert(is_file);
    cr_assert_eq(hl_journal_read_file(tap.journal, 0, got, sizeof(got)), 9);
    j = NULL;
}

Test(journal, is_taken_whole_as_a_copy_where_there_is_a_file)
{
    char got[16];
    bool is_file;
    open_file();
    hl_journal_begin_stream(j, true);
    add("data: a\n\n", 9);
    char *taken = hl_journal_take(j);
    cr_assert_not_null(taken);
    cr_assert_arr_eq(taken, "data: a\n\n", 9);
    free(taken);
    cr_assert_eq(hl_journal_read(j, 0, got, sizeof(got), &is_file), 9, "followers go on");
}

Test(journal, gives_its_bytes_away_where_there_is_no_file)
{
    char got[16];
    bool is_file = true;
    hl_journal_begin_stream(j, false);
    add("data: a\n\n", 9);
    char *taken = hl_journal_take(j);
    cr_assert_not_null(taken);
    cr_assert_arr_eq(taken, "data: a\n\n", 9);
    free(taken);
    cr_assert_eq(hl_journal_read(j, 0, got, sizeof(got), &is_file), 0);
    cr_assert_not(is_file, "the store will have them");
    cr_assert_eq(look().size, 9);
    cr_assert_null(hl_journal_take(j), "once");
}

Test(journal, of_which_only_the_tail_is_left_cannot_be_taken)
{
    open_file();
    hl_journal_begin_stream(j, true);
    add_bytes(HL_BODY_INLINE_MAX + 1);
    cr_assert_null(hl_journal_take(j));
}

Test(journal, has_nothing_to_read_after_it_was_dropped)
{
    char got[16];
    bool is_file;
    open_file();
    hl_journal_begin_stream(j, true);
    add("data: a\n\n", 9);
    cr_assert(is_woken());
    hl_journal_drop(j);
    cr_assert(look().is_dropped);
    cr_assert_not(look().is_stream);
    cr_assert_eq(hl_journal_read(j, 0, got, sizeof(got), &is_file), 0);
    cr_assert_not(is_file, "the file goes");
    cr_assert(is_woken());
}

/* ---- waking ---- */

Test(journal, wakes_once_until_it_is_heard)
{
    hl_journal_begin_stream(j, false);
    add("data: a\n\n", 9);
    add("data: b\n\n", 9);
    cr_assert_eq(wakes, 1);
    cr_assert(is_woken());
    cr_assert_not(is_woken());
    add("data: c\n\n", 9);
    cr_assert_eq(wakes, 2);
    cr_assert(is_woken());
}

Test(journal, wakes_nobody_for_bytes_that_are_only_expected)
{
    hl_journal_begin_stream(j, false);
    cr_assert(is_woken());
    hl_journal_expect(j, 9);
    cr_assert_not(is_woken());
    cr_assert_eq(look().coming, 9);
    cr_assert_eq(look().size, 0);
}

Test(journal, wakes_each_who_has_a_tap)
{
    struct hl_journal_tap other;
    struct hl_mailbox others;
    hl_mailbox_init(&others, wake, NULL);
    cr_assert(hl_journals_tap(&all, &run_id, &other, &others, 6));
    hl_journal_begin_stream(j, false);
    cr_assert(is_woken());
    cr_assert_eq(hl_mailbox_take(&others), &other.msg);
    hl_journal_heard(&other);
    cr_assert(hl_journals_untap(&other));
    add("data: a\n\n", 9);
    cr_assert(is_woken());
    cr_assert_null(hl_mailbox_take(&others), "it has none any more");
}

/* ---- progress ---- */

Test(journal, has_the_last_progress_and_wakes_for_it)
{
    char json[HL_JOURNAL_PROGRESS + 1];
    cr_assert_not(hl_journal_get_progress(j, json));
    hl_journal_set_progress(j, HL_STR("{\"done\":10}"));
    hl_journal_set_progress(j, HL_STR("2"));
    cr_assert_eq(look().progress, 2);
    cr_assert(hl_journal_get_progress(j, json));
    cr_assert_str_eq(json, "2");
    cr_assert(is_woken());
}

Test(journal, keeps_progress_of_the_longest_size_and_none_beyond)
{
    char json[HL_JOURNAL_PROGRESS + 1], longest[HL_JOURNAL_PROGRESS + 1];
    memset(longest, '1', sizeof(longest));
    hl_journal_set_progress(j, (struct hl_str){longest, HL_JOURNAL_PROGRESS});
    cr_assert(hl_journal_get_progress(j, json));
    cr_assert_eq(strlen(json), HL_JOURNAL_PROGRESS);
    hl_journal_set_progress(j, (struct hl_str){longest, sizeof(longest)});
    cr_assert_eq(look().progress, 1);
}
