/* test_alert.c - an alert is told once when it begins and once when it ends, whatever goes wrong while it is told. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "alert/alert.h"
#include "base/clock.h"

static struct hl_id_source ids;
static const struct hl_alert_facts facts = {.text = "timeout"};

static struct hl_alert *make(enum hl_alert_kind kind)
{
    hl_id_source_init(&ids);
    struct hl_alert *a = hl_alert_new(kind, "https://a.example");
    cr_assert_not_null(a);
    return a;
}

/* It holds, and that is told. */
static struct hl_alert *make_firing(enum hl_alert_kind kind)
{
    struct hl_alert *a = make(kind);
    hl_alert_hear(a, true, &facts, 1);
    hl_alert_tell(a, false, &ids);
    hl_alert_on_told(a, true, 1);
    cr_assert_eq(a->state, HL_ALERT_FIRING);
    return a;
}

Test(alert, is_told_when_it_begins_and_when_it_has_been_calm)
{
    struct hl_alert *a = make_firing(HL_ALERT_QUEUE_AGE);
    struct hl_id begin = a->event;
    cr_assert(hl_id_eq(&a->id, &begin));
    hl_alert_hear(a, false, NULL, 1000);
    hl_alert_tick(a, 1000 + HL_ALERT_CALM_MS - 1);
    cr_assert_eq(a->state, HL_ALERT_FIRING);
    hl_alert_tick(a, 1000 + HL_ALERT_CALM_MS);
    cr_assert_eq(a->state, HL_ALERT_FALLING);
    hl_alert_tell(a, false, &ids);
    cr_assert(hl_id_eq(&a->id, &begin) && !hl_id_eq(&a->event, &begin));
    cr_assert_gt(a->until_ms, 0);
    hl_alert_on_told(a, true, 5000);
    cr_assert_eq(a->state, HL_ALERT_QUIET);
    cr_assert(hl_alert_is_over(a, 5000));
    free(a);
}

Test(alert, that_goes_to_and_fro_goes_on)
{
    struct hl_alert *a = make_firing(HL_ALERT_STORE_FULL);
    for (uint64_t ms = 1000; ms < 20000; ms += 1000) {
        hl_alert_hear(a, ms % 2000 == 0, &facts, ms);
        hl_alert_tick(a, ms);
        cr_assert_eq(a->state, HL_ALERT_FIRING);
    }
    hl_alert_hear(a, false, NULL, 20000);
    hl_alert_tick(a, 20000 + HL_ALERT_CALM_MS);
    cr_assert_eq(a->state, HL_ALERT_FALLING);
    hl_alert_hear(a, true, &facts, 30000);
    cr_assert_eq(a->state, HL_ALERT_FIRING, "its end was not told yet");
    free(a);
}

Test(alert, has_one_id_however_often_it_is_tried)
{
    struct hl_alert *a = make(HL_ALERT_APP_NOT_READY);
    hl_alert_hear(a, true, &facts, 1);
    hl_alert_tell(a, false, &ids);
    struct hl_id first = a->event;
    hl_alert_on_told(a, false, 1);
    cr_assert_eq(a->state, HL_ALERT_RISING);
    hl_alert_tell(a, true, &ids);
    cr_assert(hl_id_eq(&a->event, &first));
    hl_alert_on_told(a, true, 1);
    cr_assert(a->is_unnoted, "the store does not know of it");
    free(a);
}

Test(alert, that_ends_before_it_was_tried_is_not_told_and_one_that_was_is)
{
    struct hl_alert *a = make(HL_ALERT_STORE_FAILING);
    hl_alert_hear(a, true, &facts, 1);
    hl_alert_hear(a, false, NULL, 2);
    hl_alert_tick(a, 2 + HL_ALERT_CALM_MS);
    cr_assert_eq(a->state, HL_ALERT_QUIET);
    hl_alert_hear(a, true, &facts, 10000);
    hl_alert_tell(a, true, &ids);
    hl_alert_on_told(a, false, 10000);
    hl_alert_hear(a, false, NULL, 11000);
    hl_alert_tick(a, 11000 + HL_ALERT_CALM_MS);
    cr_assert_eq(a->state, HL_ALERT_RISING, "it may have arrived");
    free(a);
}

Test(alert, about_a_destination_ends_with_its_first_answer)
{
    struct hl_alert *a = make(HL_ALERT_DESTINATION_FAILING);
    hl_alert_hear(a, true, &facts, 1);
    hl_alert_tell(a, false, &ids);
    hl_alert_end(a);
    cr_assert_eq(a->state, HL_ALERT_TELLING, "it is with the store");
    hl_alert_on_told(a, true, 2);
    hl_alert_tick(a, 2);
    cr_assert_eq(a->state, HL_ALERT_FALLING);
    free(a);
}

Test(alert, dead_letters_of_a_window_are_told_together_and_none_is_lost)
{
    struct hl_alert *a = make(HL_ALERT_DEAD_LETTERS);
    hl_alert_count(a, 1, "status 500");
    hl_alert_tell(a, false, &ids);
    hl_alert_count(a, 1, "status 500");
    hl_alert_on_told(a, false, 1);
    cr_assert_eq(a->facts.value, 2);
    struct hl_id first = a->event;
    hl_alert_tell(a, false, &ids);
    hl_alert_count(a, 1, "status 500");
    hl_alert_on_told(a, true, 1);
    hl_alert_count(a, 2, "timeout");
    hl_alert_tick(a, HL_ALERT_WINDOW_MS);
    cr_assert_eq(a->state, HL_ALERT_FIRING);
    hl_alert_tick(a, HL_ALERT_WINDOW_MS + 1);
    cr_assert_eq(a->state, HL_ALERT_RISING);
    cr_assert_eq(a->facts.value, 3);
    hl_alert_tell(a, false, &ids);
    cr_assert_not(hl_id_eq(&a->event, &first));
    hl_alert_on_told(a, true, HL_ALERT_WINDOW_MS + 1);
    hl_alert_tick(a, 2 * HL_ALERT_WINDOW_MS + 1);
    cr_assert_eq(a->state, HL_ALERT_QUIET, "their end is not told");
    cr_assert(hl_alert_is_over(a, 2 * HL_ALERT_WINDOW_MS + 1));
    free(a);
}

Test(alert, that_others_have_told_is_not_told_again)
{
    struct hl_alert *a = make(HL_ALERT_QUEUE_AGE);
    struct hl_id theirs = hl_id_next(&ids, hl_clock_wall_ms());
    hl_alert_hear(a, true, &facts, 1);
    hl_alert_adopt(a, &theirs, 77);
    cr_assert_eq(a->state, HL_ALERT_FIRING);
    cr_assert(hl_id_eq(&a->id, &theirs));
    cr_assert_eq(a->since_ms, 77);
    hl_alert_end(a);
    hl_alert_drop(a); /* nor is its end, which they told too */
    cr_assert(hl_alert_is_over(a, 2));
    free(a);
}

Test(alert, kinds_have_names_that_are_read_back)
{
    for (int i = 0; i < HL_ALERT_KINDS; i++) {
        enum hl_alert_kind kind;
        cr_assert(hl_alert_kind_parse(hl_alert_kind_text((enum hl_alert_kind)i), &kind));
        cr_assert_eq((int)kind, i);
    }
    enum hl_alert_kind kind;
    cr_assert_not(hl_alert_kind_parse("none", &kind));
}
