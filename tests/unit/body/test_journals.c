/* test_journals.c - which run has which journal, and for how long; who finds a place; what is remembered of
 * progress. */
#include "base/str.h"
#include "body/journal.h"
#include "body/journals.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLACES 400 /* a quarter is as many as a run may have */

static struct hl_journals all;
static struct hl_mailbox box;

static void wake(void *arg)
{
    (void)arg;
}

static void begin(void)
{
    hl_mailbox_init(&box, wake, NULL);
    hl_journals_init(&all, PLACES);
}

static void end(void)
{
    cr_assert_eq(all.map.n, 0, "no journal is left");
    hl_journals_fini(&all);
}

TestSuite(journals, .init = begin, .fini = end, .timeout = 180);

static struct hl_id id_of(unsigned n)
{
    struct hl_id id = {{0}};
    memcpy(id.b + 8, &n, sizeof(n));
    id.b[0] = 1;
    return id;
}

static struct hl_journal *open_run(unsigned n)
{
    struct hl_id id = id_of(n);
    struct hl_journal *j = hl_journals_open(&all, &id, 1, 0);
    cr_assert_not_null(j);
    return j;
}

static void tap_run(unsigned n, struct hl_journal_tap *tap)
{
    struct hl_id id = id_of(n);
    cr_assert(hl_journals_tap(&all, &id, tap, &box, 1));
}

static enum hl_journal_stage stage_at(const struct hl_journal_tap *tap)
{
    struct hl_journal_look now;
    hl_journal_observe(tap->journal, &now);
    return now.stage;
}

/* Its message, if there is one, has come. */
static void untap(struct hl_journal_tap *tap)
{
    hl_mailbox_take(&box);
    if (tap->is_posted)
        hl_journal_heard(tap);
    cr_assert(hl_journals_untap(tap));
}

/* ---- opening and closing ---- */

Test(journals, show_a_tap_the_run_that_is_inside)
{
    struct hl_journal_tap tap;
    struct hl_journal *j = open_run(1);
    tap_run(1, &tap);
    cr_assert_eq(tap.journal, j);
    cr_assert_null(hl_mailbox_take(&box), "whoever comes looks for itself");
    untap(&tap);
    hl_journals_close(j);
}

Test(journals, wake_who_came_before_the_run)
{
    struct hl_journal_tap tap;
    tap_run(1, &tap);
    cr_assert_eq(stage_at(&tap), HL_JOURNAL_AWAITED);
    struct hl_journal *j = open_run(1);
    cr_assert_eq(tap.journal, j);
    cr_assert_eq(hl_mailbox_take(&box), &tap.msg);
    cr_assert_eq(stage_at(&tap), HL_JOURNAL_OPEN);
    untap(&tap);
    hl_journals_close(j);
}

Test(journals, keep_a_run_apart_from_another)
{
    struct hl_journal *a = open_run(1), *b = open_run(2);
    struct hl_journal_tap tap;
    cr_assert_neq(a, b);
    tap_run(2, &tap);
    cr_assert_eq(tap.journal, b);
    hl_journal_begin_other(a);
    cr_assert_null(hl_mailbox_take(&box));
    untap(&tap);
    hl_journals_close(a);
    hl_journals_close(b);
}

Test(journals, hold_a_journal_for_its_tap_after_the_run_closed_it)
{
    struct hl_journal_tap tap, late;
    struct hl_journal *j = open_run(1);
    tap_run(1, &tap);
    hl_journal_end(j, HL_RUN_SUCCESS, HL_REASON_NONE, false);
    hl_journals_close(j);
    cr_assert_eq(stage_at(&tap), HL_JOURNAL_ENDED);
    tap_run(1, &late);
    cr_assert_neq(late.journal, tap.journal, "who comes now waits for another attempt");
    cr_assert_eq(stage_at(&late), HL_JOURNAL_AWAITED);
    untap(&tap);
    untap(&late);
}

Test(journals, hold_a_journal_for_a_read_that_outlasts_its_tap)
{
    struct hl_journal_tap tap;
    char got[4];
    bool is_file;
    struct hl_journal *j = open_run(1);
    hl_journal_begin_stream(j, false);
    cr_assert(hl_journal_add(j, HL_STR("abcd"), -1));
    tap_run(1, &tap);
    hl_journals_hold(j);
    untap(&tap);
    hl_journals_close(j);
    cr_assert_eq(hl_journal_read(j, 0, got, sizeof(got), &is_file), 4);
    hl_journals_release(j);
}

Test(journals, have_another_journal_for_an_attempt_while_the_last_one_is_not_closed)
{
    struct hl_journal_tap tap;
    struct hl_journal *first = open_run(1), *second = open_run(1);
    cr_assert_neq(first, second);
    tap_run(1, &tap);
    cr_assert_eq(tap.journal, second);
    hl_journals_close(first);
    untap(&tap);
    tap_run(1, &tap);
    cr_assert_eq(tap.journal, second, "closing the first one hides nothing");
    untap(&tap);
    hl_journals_close(second);
    hl_journals_close(NULL);
}

Test(journals, say_when_a_tap_has_a_message_on_its_way)
{
    struct hl_journal_tap tap;
    tap_run(1, &tap);
    struct hl_journal *j = open_run(1);
    cr_assert_not(hl_journals_untap(&tap));
    cr_assert_eq(hl_mailbox_take(&box), &tap.msg);
    hl_journals_close(j);
}

Test(journals, know_where_a_run_is_placed)
{
    struct hl_id one = id_of(1), two = id_of(2);
    struct hl_journal *j = open_run(1);
    cr_assert_not(hl_journals_has_run(&all, &one, "", ""), "it was not placed");
    hl_journals_set_place(j, HL_STR("shop"), HL_STR("mail"));
    cr_assert(hl_journals_has_run(&all, &one, "", ""));
    cr_assert(hl_journals_has_run(&all, &one, "shop", "mail"));
    cr_assert(hl_journals_has_run(&all, &one, "shop", ""));
    cr_assert_not(hl_journals_has_run(&all, &one, "other", "mail"));
    cr_assert_not(hl_journals_has_run(&all, &one, "shop", "other"));
    cr_assert_not(hl_journals_has_run(&all, &two, "shop", "mail"));
    hl_journals_close(j);
    cr_assert_not(hl_journals_has_run(&all, &one, "", ""));
}

Test(journals, have_no_run_that_is_only_awaited)
{
    struct hl_journal_tap tap;
    struct hl_id id = id_of(1);
    tap_run(1, &tap);
    cr_assert_not(hl_journals_has_run(&all, &id, "", ""));
    untap(&tap);
}

/* ---- progress ---- */

static void say(unsigned n, const char *json)
{
    struct hl_id id = id_of(n);
    hl_journals_set_progress(&all, &id, hl_str_from(json));
}

static bool knows(unsigned n, const char *json)
{
    char got[HL_JOURNAL_PROGRESS + 1];
    struct hl_id id = id_of(n);
    return hl_journals_get_progress(&all, &id, got) && strcmp(got, json) == 0;
}

Test(journals, tell_followers_of_progress_and_know_it_after_the_end)
{
    struct hl_journal_tap tap;
    struct hl_journal *j = open_run(1);
    char got[HL_JOURNAL_PROGRESS + 1];
    tap_run(1, &tap);
    say(1, "{\"part\":1}");
    cr_assert_eq(hl_mailbox_take(&box), &tap.msg);
    cr_assert(hl_journal_get_progress(j, got));
    cr_assert_str_eq(got, "{\"part\":1}");
    untap(&tap);
    hl_journals_close(j);
    cr_assert(knows(1, "{\"part\":1}"));
}

Test(journals, know_the_progress_of_the_last_thousand_that_said_so)
{
    for (unsigned n = 0; n < HL_PROGRESS_KEPT; n++)
        say(n, "1");
    say(0, "2"); /* it is the last one again */
    say(HL_PROGRESS_KEPT, "3");
    cr_assert(knows(0, "2"));
    cr_assert_not(knows(1, "1"), "it was the one that said so longest ago");
    cr_assert(knows(2, "1"));
    cr_assert(knows(HL_PROGRESS_KEPT, "3"));
}

Test(journals, keep_no_progress_that_is_too_long)
{
    char json[HL_JOURNAL_PROGRESS + 1];
    struct hl_id id = id_of(1);
    memset(json, '1', sizeof(json));
    say(1, "1");
    hl_journals_set_progress(&all, &id, (struct hl_str){json, sizeof(json)});
    cr_assert(knows(1, "1"));
}

/* ---- places ---- */

static struct hl_follow_place places[PLACES + 1];
static unsigned taken;

static enum hl_follow_verdict enter(unsigned run, const char *subject)
{
    struct hl_id id = id_of(run);
    enum hl_follow_verdict verdict =
        hl_journals_enter(&all, &id, hl_str_from(subject), &places[taken]);
    if (verdict == HL_FOLLOW_GRANTED)
        taken++;
    else
        cr_assert_null(places[taken].all, "it has no place");
    return verdict;
}

static void leave_all(void)
{
    while (taken > 0)
        hl_journals_leave(&places[--taken]);
    cr_assert_eq(hl_journals_followers(&all), 0);
    cr_assert_eq(all.runs.n + all.subjects.n, 0, "nothing is left of them");
}

Test(journals, have_so_many_places)
{
    for (unsigned n = 0; n < PLACES; n++)
        cr_assert_eq(enter(n, ""), HL_FOLLOW_GRANTED, "%u", n);
    cr_assert_eq(enter(PLACES, ""), HL_FOLLOW_FULL);
    cr_assert_eq(hl_journals_followers(&all), PLACES);
    hl_journals_leave(&places[--taken]);
    hl_journals_leave(&places[taken]); /* twice is harmless */
    cr_assert_eq(enter(PLACES, ""), HL_FOLLOW_GRANTED);
    leave_all();
}

Test(journals, have_a_hundred_places_a_run)
{
    for (unsigned n = 0; n < HL_FOLLOWERS_OF_RUN; n++)
        cr_assert_eq(enter(1, ""), HL_FOLLOW_GRANTED);
    cr_assert_eq(enter(1, ""), HL_FOLLOW_RUN_FULL);
    cr_assert_eq(enter(2, ""), HL_FOLLOW_GRANTED);
    hl_journals_leave(&places[0]);
    places[0] = places[--taken];
    cr_assert_eq(enter(1, ""), HL_FOLLOW_GRANTED);
    leave_all();
}

Test(journals, have_a_quarter_of_all_places_for_a_subject)
{
    for (unsigned n = 0; n < PLACES / 4; n++)
        cr_assert_eq(enter(n, "ann"), HL_FOLLOW_GRANTED);
    cr_assert_eq(enter(PLACES, "ann"), HL_FOLLOW_SUBJECT_FULL);
    cr_assert_eq(enter(PLACES, "ben"), HL_FOLLOW_GRANTED);
    cr_assert_eq(enter(PLACES, ""), HL_FOLLOW_GRANTED, "who has no name counts for none");
    hl_journals_leave(&places[0]);
    places[0] = places[--taken];
    cr_assert_eq(enter(PLACES, "ann"), HL_FOLLOW_GRANTED);
    leave_all();
}

Test(journals, count_no_follower_for_a_run_whose_subject_was_refused)
{
    for (unsigned n = 0; n < PLACES / 4; n++)
        cr_assert_eq(enter(n, "ann"), HL_FOLLOW_GRANTED);
    for (unsigned n = 0; n < HL_FOLLOWERS_OF_RUN; n++)
        cr_assert_eq(enter(PLACES, "ann"), HL_FOLLOW_SUBJECT_FULL);
    cr_assert_eq(enter(PLACES, "ben"), HL_FOLLOW_GRANTED);
    leave_all();
}

Test(journals, have_a_place_for_a_subject_however_few_there_are)
{
    all.max = 1;
    cr_assert_eq(enter(1, "ann"), HL_FOLLOW_GRANTED);
    leave_all();
    all.max = 0;
    cr_assert_eq(enter(1, ""), HL_FOLLOW_FULL);
}
