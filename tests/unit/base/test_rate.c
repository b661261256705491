/* test_rate.c - rates as people write them, and the window that counts. */
#include <criterion/criterion.h>
#include <pthread.h>

#include "base/rate.h"
#include "base/str.h"

static const struct hl_rate three_a_minute = {.count = 3, .window_s = 60};

Test(rate, is_read_and_shown)
{
    static const struct {
        const char *text;
        struct hl_rate rate;
    } rows[] = {{"100/m", {100, 60}}, {"1/s", {1, 1}}, {"10000000/h", {10000000, 3600}},
        {"5/d", {5, 86400}}};
    for (size_t i = 0; i < HL_ARRAY_LEN(rows); i++) {
        struct hl_rate rate;
        char text[HL_RATE_TEXT];
        cr_assert(hl_rate_parse(hl_str_from(rows[i].text), &rate), "%s", rows[i].text);
        cr_assert_eq(rate.count, rows[i].rate.count);
        cr_assert_eq(rate.window_s, rows[i].rate.window_s);
        cr_assert(hl_rate_is_valid(rate));
        hl_rate_format(rate, text);
        cr_assert_str_eq(text, rows[i].text);
    }
}

Test(rate, garbage_is_none)
{
    static const char *const garbage[] = {"", "100", "100/", "/m", "100/x", "100/mm", "0/m", "-1/m",
        "1.5/m", " 1/m", "1/m ", "1 /m", "10000001/m", "99999999999999999999/m", "100/M", "1/1m"};
    for (size_t i = 0; i < HL_ARRAY_LEN(garbage); i++) {
        struct hl_rate rate;
        cr_assert_not(hl_rate_parse(hl_str_from(garbage[i]), &rate), "\"%s\"", garbage[i]);
    }
    cr_assert(hl_rate_is_valid((struct hl_rate){0}), "none");
    cr_assert_not(hl_rate_is_valid((struct hl_rate){.count = 5, .window_s = 7}));
    cr_assert_not(hl_rate_is_valid((struct hl_rate){.count = HL_RATE_MAX + 1, .window_s = 60}));
}

Test(rate, window_begins_with_its_first_and_says_how_long_it_goes_on)
{
    struct hl_rate_window window = {0};
    cr_assert_eq(hl_rate_take(&window, three_a_minute, 5000), 0);
    cr_assert_eq(hl_rate_take(&window, three_a_minute, 20000), 0);
    cr_assert_eq(hl_rate_take(&window, three_a_minute, 64999), 0);
    cr_assert_eq(hl_rate_take(&window, three_a_minute, 64999), 1);
    cr_assert_eq(hl_rate_take(&window, three_a_minute, 65000), 0, "the next window");
    cr_assert_eq(hl_rate_take(&window, three_a_minute, 65000), 0);
    cr_assert_eq(hl_rate_take(&window, three_a_minute, 65000), 0);
    cr_assert_eq(hl_rate_take(&window, three_a_minute, 65000), 60000);
}

Test(rate, what_is_refused_does_not_count)
{
    struct hl_rate_window window = {0};
    struct hl_rate four_a_minute = {.count = 4, .window_s = 60};
    for (int i = 0; i < 3; i++)
        cr_assert_eq(hl_rate_take(&window, three_a_minute, 1), 0);
    for (int i = 0; i < 10; i++)
        cr_assert_eq(hl_rate_take(&window, three_a_minute, 1), 60000);
    cr_assert_eq(hl_rate_take(&window, four_a_minute, 1), 0, "it is allowed one more now");
    cr_assert_eq(hl_rate_take(&window, four_a_minute, 1), 60000);
}

Test(rate, what_is_given_back_can_be_taken_again_within_its_window)
{
    struct hl_rate_window window = {0};
    hl_rate_give_back(&window, three_a_minute, 1);
    for (int i = 0; i < 3; i++)
        cr_assert_eq(hl_rate_take(&window, three_a_minute, 1), 0);
    hl_rate_give_back(&window, three_a_minute, 2);
    cr_assert_eq(hl_rate_take(&window, three_a_minute, 3), 0);
    cr_assert_eq(hl_rate_take(&window, three_a_minute, 3), 59998);
    hl_rate_give_back(&window, three_a_minute, 60001);
    for (int i = 0; i < 3; i++)
        cr_assert_eq(hl_rate_take(&window, three_a_minute, 60001), 0);
    cr_assert_gt(hl_rate_take(&window, three_a_minute, 60001), 0, "the old one is over");
}

#define THREADS 4
#define TRIES   5000

static struct hl_rate_window shared;
static const struct hl_rate a_day = {.count = 7777, .window_s = 86400};

static void *take_many(void *taken)
{
    for (int i = 0; i < TRIES; i++)
        *(int *)taken += hl_rate_take(&shared, a_day, 1) == 0;
    return NULL;
}

Test(rate, threads_share_one_count)
{
    pthread_t threads[THREADS];
    int taken[THREADS] = {0}, all = 0;
    for (int i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, take_many, &taken[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        all += taken[i];
    }
    cr_assert_eq(all, 7777);
}
