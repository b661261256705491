#include <criterion/criterion.h>
#include <unistd.h>

#include "base/log.h"
#include "caller/trouble.h"

static uv_loop_t loop;
static struct hl_wheel wheel;
static struct hl_trouble trouble;
static FILE *log_file;
static int own_stderr;
static char text[65536];

static void set_up(void)
{
    uv_loop_init(&loop);
    cr_assert_eq(hl_wheel_init(&wheel, &loop), 0);
    hl_trouble_init(&trouble, &wheel);
    hl_log_setup(HL_LOG_INFO, HL_LOG_JSON);
    log_file = tmpfile();
    own_stderr = dup(STDERR_FILENO);
    dup2(fileno(log_file), STDERR_FILENO);
}

static void tear_down(void)
{
    dup2(own_stderr, STDERR_FILENO);
    close(own_stderr);
    fclose(log_file);
    hl_wheel_close(&wheel);
    uv_run(&loop, UV_RUN_DEFAULT);
    uv_loop_close(&loop);
}

TestSuite(trouble, .init = set_up, .fini = tear_down);

/* Lines of the log that have all of `a` and `b`. */
static int count_lines(const char *a, const char *b)
{
    int n = 0;
    rewind(log_file);
    size_t length = fread(text, 1, sizeof(text) - 1, log_file);
    text[length] = '\0';
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        n += strstr(line, a) && strstr(line, b);
    return n;
}

static void note(uint16_t status, const char *detail)
{
    static const struct hl_id id = {{1}};
    struct hl_trouble_case one = {
        .what = "a call failed", .run_id = &id, .status = status, .detail = detail};
    hl_trouble_note(&trouble, &one);
}

Test(trouble, says_the_first_of_each_kind_and_counts_the_others)
{
    for (int i = 0; i < 100; i++) {
        note(502, "no connection");
        note(504, "no answer");
    }
    note(504, "another");
    cr_assert_eq(count_lines("a call failed", "run_id"), 3);
    cr_assert_eq(count_lines("left_out", ""), 0);
    uv_run(&loop, UV_RUN_DEFAULT); /* the second is over */
    cr_assert_eq(count_lines("\"status\":502", "\"left_out\":99"), 1);
    cr_assert_eq(count_lines("\"status\":504", "\"left_out\":99"), 1);
    cr_assert_eq(count_lines("left_out", ""), 2);
    note(502, "no connection");
    cr_assert_eq(count_lines("a call failed", "run_id"), 4);
}

Test(trouble, says_no_more_kinds_in_a_second_than_it_has_places_for)
{
    char detail[16];
    for (int i = 0; i < HL_TROUBLE_KINDS + 5; i++) {
        snprintf(detail, sizeof(detail), "kind %d", i);
        note(503, detail);
    }
    cr_assert_eq(count_lines("kind", "run_id"), HL_TROUBLE_KINDS);
    hl_trouble_fini(&trouble);
    cr_assert_eq(count_lines("other reasons", "\"left_out\":5"), 1);
}

Test(trouble, knows_long_details_again)
{
    char detail[2 * HL_TROUBLE_DETAIL];
    memset(detail, 'x', sizeof(detail) - 1);
    detail[sizeof(detail) - 1] = '\0';
    note(502, detail);
    note(502, detail);
    hl_trouble_fini(&trouble);
    cr_assert_eq(count_lines("left_out\":1", ""), 1);
}
