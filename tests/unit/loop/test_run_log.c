/* test_run_log.c - the lines that are kept of each run, and which go first when there are too many. */
#include "base/buf.h"
#include "base/id.h"
#include "loop/run_log.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/log_sink.h"

static struct hl_buf text;

static void drop(const char *lines, size_t n)
{
    (void)lines;
    (void)n;
}

static bool has_room(void)
{
    return true;
}

static const struct hl_log_sink nowhere = {.put = drop, .has_room = has_room};

static void begin(void)
{
    hl_log_setup(HL_LOG_INFO, HL_LOG_JSON);
    hl_log_sink_use(&nowhere);
    hl_run_log_start();
    hl_buf_init(&text, 0);
}

static void end(void)
{
    hl_run_log_stop();
    hl_buf_fini(&text);
}

TestSuite(run_log, .init = begin, .fini = end, .timeout = 180);

static struct hl_id id_of(uint32_t n)
{
    struct hl_id id = {{1}};
    memcpy(id.b + 8, &n, sizeof(n));
    return id;
}

static void say(uint32_t run, const char *what)
{
    struct hl_id id = id_of(run);
    HL_LOG(INFO, what, HL_LOG_ID("run_id", &id));
}

static size_t count_in(const char *p, const char *part)
{
    size_t n = 0;
    for (; (p = strstr(p, part)); p++)
        n++;
    return n;
}

/* What is kept of a run, as text. */
static const char *read_with(
    uint32_t run, enum hl_err (*read)(const struct hl_id *run_id, struct hl_buf *out))
{
    struct hl_id id = id_of(run);
    text.n = 0;
    cr_assert_eq(read(&id, &text), HL_OK);
    cr_assert_eq(hl_buf_append(&text, "", 1), HL_OK);
    return text.p;
}

static const char *log_of(uint32_t run)
{
    return read_with(run, hl_run_log_read);
}

Test(run_log, keeps_lines_with_the_runs_id_in_their_order)
{
    say(1, "first");
    say(2, "another's");
    say(1, "second");
    HL_LOG(INFO, "nobody's");
    const char *p = log_of(1);
    cr_assert_eq(count_in(p, "\n"), 2);
    cr_assert(strstr(p, "first") < strstr(p, "second"));
    cr_assert_str_empty(log_of(3));
}

Test(run_log, keeps_what_is_said_of_a_run_that_the_line_does_not_name)
{
    struct hl_id id = id_of(1);
    hl_log_write_of(&id, HL_LOG_INFO, "app",
        (const struct hl_log_field[]){HL_LOG_TEXT("line", "hello"), {.name = NULL}});
    cr_assert(strstr(log_of(1), "\"line\":\"hello\"}\n"));
    cr_assert_null(strstr(log_of(1), "run_id"));
}

Test(run_log, has_no_line_that_is_not_logged)
{
    struct hl_id id = id_of(1);
    HL_LOG(DEBUG, "too fine", HL_LOG_ID("run_id", &id));
    cr_assert_str_empty(log_of(1));
}

Test(run_log, is_json_whatever_the_log_is)
{
    hl_log_setup(HL_LOG_INFO, HL_LOG_PLAIN);
    say(1, "first");
    cr_assert_eq(*log_of(1), '{');
}

Test(run_log, keeps_the_last_lines_of_a_run)
{
    for (int i = 0; i < HL_RUN_LOG_LINES + 5; i++) {
        char what[32];
        snprintf(what, sizeof(what), "line %d.", i);
        say(1, what);
    }
    const char *p = log_of(1);
    cr_assert_eq(count_in(p, "\n"), HL_RUN_LOG_LINES);
    cr_assert_null(strstr(p, "line 4."));
    cr_assert(strstr(p, "line 5."));
    cr_assert(strstr(p, "line 204."));
}

Test(run_log, keeps_no_more_bytes_of_a_run_than_it_may)
{
    static char wide[3000];
    memset(wide, 'x', sizeof(wide) - 1);
    for (int i = 0; i < 100; i++)
        say(1, wide);
    const char *p = log_of(1);
    cr_assert(strlen(p) <= HL_RUN_LOG_BYTES && strlen(p) > HL_RUN_LOG_BYTES - 4096);
}

/* Fills what there is for all runs about twice. */
static void say_much(uint32_t from, const char *message)
{
    static char wide[3000];
    memset(wide, 'x', sizeof(wide) - 1);
    for (uint32_t run = from; run < from + 10000; run++) {
        struct hl_id id = id_of(run);
        HL_LOG(INFO, message, HL_LOG_ID("run_id", &id), HL_LOG_TEXT("wide", wide));
    }
}

Test(run_log, drops_the_oldest_runs_lines_first)
{
    say(1, "old");
    say_much(100, "something");
    cr_assert_str_empty(log_of(1));
    cr_assert_str_empty(log_of(100));
    cr_assert_str_not_empty(log_of(100 + 9999));
    cr_assert_str_not_empty(log_of(100 + 6000), "it is not all gone");
}

Test(run_log, drops_lines_about_calls_before_others)
{
    say(1, "old");
    say_much(100, HL_LOG_CALL);
    cr_assert_str_not_empty(log_of(1));
    cr_assert_str_empty(log_of(100));
    cr_assert_str_not_empty(log_of(100 + 9999));
}

Test(run_log, tells_what_was_handed_over_from_the_rest)
{
    say(1, "first");
    cr_assert(strstr(read_with(1, hl_run_log_read_rest), "first"));
    cr_assert(strstr(read_with(1, hl_run_log_hand_over), "first"));
    cr_assert_str_empty(read_with(1, hl_run_log_read_rest));
    say(1, "second");
    cr_assert_eq(count_in(read_with(1, hl_run_log_read_rest), "\n"), 1);
    cr_assert_eq(count_in(log_of(1), "\n"), 2);
}

Test(run_log, does_not_lose_the_rest_when_lines_go)
{
    say(1, "first");
    read_with(1, hl_run_log_hand_over);
    for (int i = 0; i < HL_RUN_LOG_LINES; i++)
        say(1, "more");
    cr_assert_eq(count_in(read_with(1, hl_run_log_read_rest), "\n"), HL_RUN_LOG_LINES);
}

Test(run_log, trims_a_text_to_what_is_kept_of_a_run)
{
    for (int i = 0; i < 2 * HL_RUN_LOG_LINES; i++)
        cr_assert_eq(hl_buf_printf(&text, "%d\n", i), HL_OK);
    hl_run_log_trim(&text);
    cr_assert_eq(hl_buf_append(&text, "", 1), HL_OK);
    cr_assert_eq(strncmp(text.p, "200\n201\n", 8), 0, "%s", text.p);
    cr_assert(strstr(text.p, "\n399\n"));
    text.n = 0;
    hl_run_log_trim(&text);
    cr_assert_eq(text.n, 0);
}

Test(run_log, keeps_nothing_once_it_has_stopped)
{
    say(1, "first");
    hl_run_log_stop();
    say(1, "second");
    cr_assert_str_empty(log_of(1));
    hl_run_log_start();
    cr_assert_str_empty(log_of(1));
}

/* ---- all of them, in their order ---- */

static struct hl_run_log_page page;
static const struct hl_run_log_filter any;

/* The messages of the page's lines, one after the other. */
static const char *scan(const struct hl_run_log_filter *filter, uint64_t from)
{
    static char out[4096];
    size_t n = 0;
    hl_run_log_scan(filter, from, &page);
    out[0] = '\0';
    for (uint32_t i = 0; i < page.count; i++) {
        const char *line = page.text + page.lines[i].at;
        const char *msg = strstr(line, "\"msg\":\"") + 7;
        n +=
            (size_t)snprintf(out + n, sizeof(out) - n, "%.*s ", (int)(strchr(msg, '"') - msg), msg);
    }
    return out;
}

Test(run_log, has_all_lines_in_the_order_in_which_they_came)
{
    say(1, "one");
    HL_LOG(INFO, "own");
    say(2, "two");
    say(1, "three");
    cr_assert_str_eq(scan(&any, 1), "one own two three ");
    cr_assert_eq(page.next, hl_run_log_end());
    cr_assert_eq(page.missed, 0);
    cr_assert_not(page.is_full);
    cr_assert(hl_id_is_nil(&page.lines[1].run_id));
    cr_assert_str_eq(scan(&any, page.next), "");
    HL_LOG(WARN, "later");
    cr_assert_str_eq(scan(&any, page.next), "later ");
}

Test(run_log, lets_through_what_is_asked_for)
{
    say(1, "one");
    HL_LOG(ERROR, "own");
    say(2, "two");
    cr_assert_str_eq(scan(&(struct hl_run_log_filter){.run_id = id_of(2)}, 1), "two ");
    cr_assert_str_eq(scan(&(struct hl_run_log_filter){.least = HL_LOG_WARN}, 1), "own ");
    cr_assert_str_eq(scan(&(struct hl_run_log_filter){.without_others = true}, 1), "one two ");
}

Test(run_log, finds_the_last_lines_that_are_let_through)
{
    say(1, "one");
    say(2, "two");
    say(1, "three");
    struct hl_run_log_filter first = {.run_id = id_of(1)};
    cr_assert_str_eq(scan(&any, hl_run_log_back(&any, 2)), "two three ");
    cr_assert_str_eq(scan(&first, hl_run_log_back(&first, 2)), "one three ");
    cr_assert_str_eq(scan(&first, hl_run_log_back(&first, 9)), "one three ");
    cr_assert_str_eq(scan(&any, hl_run_log_back(&any, 0)), "");
}

Test(run_log, counts_the_lines_that_went_by)
{
    uint64_t from = hl_run_log_end();
    for (int i = 0; i < HL_RUN_LOG_LINES + 5; i++)
        say(1, "x");
    say(2, "end");
    hl_run_log_scan(&(struct hl_run_log_filter){.run_id = id_of(2)}, from, &page);
    cr_assert_eq(page.count, 1);
    cr_assert_eq(page.missed, 5);
}

Test(run_log, goes_on_page_by_page)
{
    uint64_t from = hl_run_log_end();
    for (int i = 0; i < HL_RUN_LOG_PAGE_LINES + 1; i++)
        HL_LOG(INFO, "own");
    hl_run_log_scan(&any, from, &page);
    cr_assert(page.is_full);
    cr_assert_eq(page.count, HL_RUN_LOG_PAGE_LINES);
    hl_run_log_scan(&any, page.next, &page);
    cr_assert_eq(page.count, 1);
    cr_assert_eq(page.missed, 0);
}

Test(run_log, keeps_few_lines_about_no_run)
{
    uint64_t from = hl_run_log_end();
    for (int i = 0; i < HL_RUN_LOG_OTHERS + 7; i++)
        HL_LOG(INFO, "own");
    hl_run_log_scan(&any, from, &page);
    cr_assert_eq(page.missed, 7);
}

Test(run_log, says_whose_a_run_is_once_that_is_known)
{
    struct hl_id id = id_of(1);
    say(1, "before");
    hl_run_log_note(&id, "p", "app");
    say(1, "after");
    cr_assert_str_eq(scan(&any, 1), "before after ");
    for (uint32_t i = 0; i < 2; i++) {
        cr_assert_str_eq(page.text + page.lines[i].project, "p");
        cr_assert_str_eq(page.text + page.lines[i].app, "app");
    }
    say(2, "another's");
    hl_run_log_scan(&any, 1, &page);
    cr_assert_eq(page.lines[2].project, 0);
}
