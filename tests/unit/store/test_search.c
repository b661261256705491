/* test_search.c - runs and deliveries that are searched for, on all stores. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/clock.h"
#include "fixture.h"
#include "store/claim.h"
#include "store/lease.h"
#include "store/operation.h"
#include "store/question.h"
#include "store/run_curve.h"

/* --- what a search says ------------------------------------------------------------------------ */

Test(search, a_prefix_is_a_range_of_ids)
{
    struct hl_run_search s = {.has_tail = false};
    cr_assert(hl_search_read_prefix(HL_STR("01A2-f"), &s));
    static const struct hl_id first = {{0x01, 0xa2, 0xf0}};
    struct hl_id last;
    memset(&last, 0xff, sizeof(last));
    memcpy(&last, "\x01\xa2\xff", 3);
    cr_assert(hl_id_eq(&s.first, &first));
    cr_assert(hl_id_eq(&s.last, &last));
    struct hl_id before = hl_id_last(), from = {{0}}, behind = {{0x01, 0xa3}};
    hl_run_search_narrow(&s, &before, &from);
    cr_assert(hl_id_eq(&from, &first));
    cr_assert(hl_id_eq(&before, &behind));
    cr_assert(hl_run_search_fits_id(&s, &last));
    cr_assert_not(hl_run_search_fits_id(&s, &behind));
    cr_assert_not(hl_run_search_walks(&s), "the index knows");
}

Test(search, a_prefix_that_is_a_whole_id_is_that_one)
{
    struct hl_run_search s = {.has_tail = false};
    struct hl_id id;
    struct hl_str text = HL_STR("01a1fd70-0000-7000-8000-00000000ffff");
    cr_assert(hl_search_read_prefix(text, &s) && hl_id_parse(text, &id));
    cr_assert(hl_id_eq(&s.first, &id) && hl_id_eq(&s.last, &id));
    cr_assert_not(hl_search_read_prefix(HL_STR("01a1fd70-0000-7000-8000-00000000ffff0"), &s));
    cr_assert_not(hl_search_read_prefix(HL_STR("01g"), &s));
    cr_assert_not(hl_search_read_prefix(HL_STR("-"), &s));
}

Test(search, a_status_is_one_or_a_class_or_none)
{
    struct hl_status_range r;
    cr_assert(hl_status_range_read(HL_STR("404"), &r) && r.from == 404 && r.to == 404);
    cr_assert(hl_status_range_read(HL_STR("5xx"), &r) && r.from == 500 && r.to == 599);
    cr_assert(hl_status_range_read(HL_STR("none"), &r) && r.from == 0 && r.to == 0);
    static const char *const wrong[] = {"", "0", "40", "4x4", "600", "5XX", "4040", "abc", " 40"};
    for (size_t i = 0; i < HL_ARRAY_LEN(wrong); i++)
        cr_assert_not(hl_status_range_read(hl_str_from(wrong[i]), &r), "%s", wrong[i]);
}

/* --- runs -------------------------------------------------------------------------------------- */

static struct hl_list_runs all_runs(void)
{
    struct hl_list_runs l = {.m.msg.type = HL_STORE_LIST_RUNS, .state = -1, .is_async = -1};
    strcpy(l.project, "p");
    l.limit = 2;
    return l;
}

/* How many are found, page by page; `*newest`, if it is not NULL, is the first. */
static size_t find(struct fixture *f, struct hl_list_runs l, struct hl_id *newest)
{
    size_t n = 0;
    do {
        l.has_more = false;
        cr_assert_eq(ask(f, &f->asker, &l.m), HL_OK);
        if (n == 0 && l.count > 0 && newest)
            *newest = l.rows[0].run_id;
        n += l.count;
        l.before = l.next;
        hl_operation_clear(&l.m);
    } while (l.has_more);
    return n;
}

/* Ended so; with a webhook where there is a URL. */
static struct hl_id end_run(
    struct fixture *f, const char *url, uint16_t status, enum hl_run_reason reason)
{
    struct hl_id id;
    cr_assert_eq(record_run(f, (struct run_spec){.project = "p", .url = url}, &id), HL_OK);
    struct hl_finish *finish = make_finish(&id, 1, NULL);
    finish->outcome.http_status = status;
    finish->outcome.reason = reason;
    finish->outcome.state = reason ? HL_RUN_FAILURE : HL_RUN_SUCCESS;
    cr_assert_eq(ask(f, &f->worker, &finish->m), HL_OK);
    hl_finish_free(finish);
    return id;
}

static void end_several(struct fixture *f, struct hl_id ids[6])
{
    ids[0] = end_run(f, NULL, 200, HL_REASON_NONE);
    ids[1] = end_run(f, NULL, 503, HL_REASON_APP_ERROR);
    ids[2] = end_run(f, "https://e.org/", 500, HL_REASON_APP_ERROR);
    ids[3] = end_run(f, NULL, 0, HL_REASON_TIMEOUT);
    ids[4] = end_run(f, NULL, 201, HL_REASON_NONE);
    cr_assert_eq(accept_run(f, (struct run_spec){.project = "p"}, &ids[5]), HL_OK);
}

STORE_TEST(runs_are_found_by_how_they_ended)
{
    struct hl_id ids[6], found;
    struct hl_list_runs l = all_runs();
    end_several(f, ids);
    l.search.reason = HL_REASON_APP_ERROR;
    cr_assert_eq(find(f, l, &found), 2);
    cr_assert(hl_id_eq(&found, &ids[2]), "newest first");
    cr_assert(hl_status_range_read(HL_STR("503"), &l.search.status));
    cr_assert_eq(find(f, l, &found), 1);
    cr_assert(hl_id_eq(&found, &ids[1]));
    l.search.reason = HL_REASON_NONE;
    cr_assert(hl_status_range_read(HL_STR("2xx"), &l.search.status));
    cr_assert_eq(find(f, l, NULL), 2);
    cr_assert(hl_status_range_read(HL_STR("none"), &l.search.status));
    cr_assert_eq(find(f, l, NULL), 2, "a time-out, and one that waits");
    l.state = HL_RUN_FAILURE;
    cr_assert_eq(find(f, l, &found), 1);
    cr_assert(hl_id_eq(&found, &ids[3]));
}

static void fail_with(struct fixture *f, const char *error)
{
    struct hl_id id;
    cr_assert_eq(record_run(f, (struct run_spec){.project = "p"}, &id), HL_OK);
    struct hl_finish *finish = make_finish(&id, 1, NULL);
    finish->outcome.reason = HL_REASON_APP_ERROR;
    finish->outcome.state = HL_RUN_FAILURE;
    strcpy(finish->outcome.error, error);
    cr_assert_eq(ask(f, &f->worker, &finish->m), HL_OK);
    hl_finish_free(finish);
}

STORE_TEST(runs_are_found_by_what_went_wrong)
{
    struct hl_id ids[6];
    struct hl_list_runs l = all_runs();
    end_several(f, ids);
    fail_with(f, "no such order");
    fail_with(f, "no such customer");
    fail_with(f, "no such order");
    strcpy(l.search.error, "no such order");
    cr_assert_eq(find(f, l, NULL), 2);
    l.state = HL_RUN_SUCCESS;
    cr_assert_eq(find(f, l, NULL), 0);
    l.state = HL_RUN_RUNNING;
    cr_assert_eq(find(f, l, NULL), 0);
    l = all_runs();
    strcpy(l.search.error, "no such");
    cr_assert_eq(find(f, l, NULL), 0, "not a part of it");
    l.search.error[0] = '\0';
    strcpy(l.search.find, "such");
    cr_assert_eq(find(f, l, NULL), 3);
    strcpy(l.search.find, "run");
    cr_assert_eq(find(f, l, NULL), 9, "it is a part of each one's path");
    l.state = HL_RUN_QUEUED;
    cr_assert_eq(find(f, l, NULL), 1);
}

STORE_TEST(runs_are_found_by_their_webhooks)
{
    struct hl_id ids[6], found;
    struct hl_list_runs l = all_runs();
    end_several(f, ids);
    l.search.webhook = HL_SEARCH_PENDING;
    cr_assert_eq(find(f, l, &found), 1);
    cr_assert(hl_id_eq(&found, &ids[2]));
    l.search.webhook = HL_SEARCH_DEAD;
    cr_assert_eq(find(f, l, NULL), 0);
    give_lease_credit(f, 1);
    struct hl_leased *leased = party_wait(&f->sender, HL_STORE_LEASED);
    cr_assert_eq(say_outcome(f, leased, 1, HL_ATTEMPT_DEAD), HL_OK);
    hl_leased_free(leased);
    cr_assert_eq(find(f, l, &found), 1);
    cr_assert(hl_id_eq(&found, &ids[2]));
    l.search.webhook = HL_SEARCH_NO_WEBHOOK;
    cr_assert_eq(find(f, l, NULL), 5);
}

STORE_TEST(runs_are_found_by_a_part_of_their_path)
{
    struct hl_id ids[6];
    struct hl_list_runs l = all_runs();
    end_several(f, ids);
    strcpy(l.search.path, "ru");
    cr_assert_eq(find(f, l, NULL), 6);
    l.state = HL_RUN_QUEUED;
    cr_assert_eq(find(f, l, NULL), 1);
    strcpy(l.search.path, "/RUN");
    cr_assert_eq(find(f, l, NULL), 0);
    l.state = -1;
    cr_assert_eq(find(f, l, NULL), 0);
}

STORE_TEST(runs_are_found_by_both_ends_of_their_ids)
{
    struct hl_id ids[6], found;
    struct hl_list_runs l = all_runs();
    end_several(f, ids);
    for (int i = 0; i < 6; i++) {
        char text[HL_ID_TEXT];
        struct hl_list_runs whole = all_runs(), tail = all_runs();
        hl_id_format(&ids[i], text);
        cr_assert(hl_search_read_prefix((struct hl_str){text, sizeof(text)}, &whole.search));
        cr_assert_eq(find(f, whole, &found), 1);
        cr_assert(hl_id_eq(&found, &ids[i]));
        cr_assert(hl_search_read_tail((struct hl_str){text + sizeof(text) - 8, 8}, &tail.search));
        cr_assert_eq(find(f, tail, &found), 1);
        cr_assert(hl_id_eq(&found, &ids[i]));
    }
    cr_assert(hl_search_read_prefix(HL_STR("0"), &l.search));
    cr_assert_eq(find(f, l, NULL), 6);
    cr_assert(hl_search_read_prefix(HL_STR("f"), &l.search));
    cr_assert_eq(find(f, l, NULL), 0);
}

/* The same as numbers: by state, of `looks` that are looked at. */
static struct hl_list_runs count(struct fixture *f, struct hl_list_runs l, uint32_t looks)
{
    int64_t now_ms = hl_clock_wall_ms();
    l.limit = 1;
    l.only_counts = true;
    l.looks = looks;
    l.curve = (struct hl_run_curve){
        .first_ms = now_ms - 3600000, .step_ms = 60000, .n_points = HL_RUN_CURVE_POINTS};
    cr_assert_eq(ask(f, &f->asker, &l.m), HL_OK);
    cr_assert_eq(l.count, 0, "no rows");
    hl_operation_clear(&l.m);
    return l;
}

static uint64_t sum(const struct hl_list_runs *l, enum hl_run_state state)
{
    return hl_run_curve_sum(&l->curve, state);
}

STORE_TEST(runs_are_counted_by_state)
{
    struct hl_id ids[6];
    end_several(f, ids);
    struct hl_list_runs l = count(f, all_runs(), 100);
    cr_assert_eq(sum(&l, HL_RUN_SUCCESS), 2);
    cr_assert_eq(sum(&l, HL_RUN_FAILURE), 3);
    cr_assert_eq(sum(&l, HL_RUN_QUEUED), 1);
    cr_assert_eq(sum(&l, HL_RUN_RUNNING) + sum(&l, HL_RUN_CANCELLED), 0);
    cr_assert_not(l.has_more);
    give_credit(f, &f->worker, 1, false);
    hl_claimed_free(party_wait(&f->worker, HL_STORE_CLAIMED));
    l = count(f, all_runs(), 100);
    cr_assert_eq(sum(&l, HL_RUN_RUNNING), 1);
    for (int state = 0; state <= HL_RUN_CANCELLED; state++) {
        struct hl_list_runs one = all_runs();
        one.state = state;
        one = count(f, one, 100);
        for (int other = 0; other <= HL_RUN_CANCELLED; other++)
            cr_assert_eq(sum(&one, (enum hl_run_state)other),
                state == other ? sum(&l, (enum hl_run_state)state) : 0);
    }
}

STORE_TEST(runs_that_are_searched_for_are_counted)
{
    struct hl_id ids[6];
    struct hl_list_runs l = all_runs();
    end_several(f, ids);
    l.search.reason = HL_REASON_APP_ERROR;
    struct hl_list_runs found = count(f, l, 100);
    cr_assert_eq(sum(&found, HL_RUN_FAILURE), 2);
    cr_assert_eq(sum(&found, HL_RUN_SUCCESS) + sum(&found, HL_RUN_QUEUED), 0);
    l.search.webhook = HL_SEARCH_PENDING;
    found = count(f, l, 100);
    cr_assert_eq(sum(&found, HL_RUN_FAILURE), 1);
    l = all_runs();
    strcpy(l.search.path, "/run");
    l.state = HL_RUN_QUEUED;
    found = count(f, l, 100);
    cr_assert_eq(sum(&found, HL_RUN_QUEUED), 1);
    strcpy(l.search.path, "/other");
    found = count(f, l, 100);
    cr_assert_eq(sum(&found, HL_RUN_QUEUED), 0);
    strcpy(l.project, "q");
    found = count(f, l, 100);
    cr_assert_eq(sum(&found, HL_RUN_QUEUED), 0);
}

STORE_TEST(of_more_runs_than_are_looked_at_the_newest_are_counted)
{
    struct hl_id ids[6];
    end_several(f, ids);
    struct hl_list_runs l = count(f, all_runs(), 3);
    uint64_t n = 0;
    for (int state = 0; state <= HL_RUN_CANCELLED; state++)
        n += sum(&l, (enum hl_run_state)state);
    cr_assert_eq(n, 3);
    cr_assert_eq(sum(&l, HL_RUN_QUEUED), 1, "the newest");
    cr_assert(l.has_more);
    cr_assert(hl_id_eq(&l.next, &ids[3]), "the last that was looked at");
}

/* --- deliveries -------------------------------------------------------------------------------- */

static struct hl_list_deliveries all_deliveries(const char *destination)
{
    struct hl_list_deliveries l = {
        .m.msg.type = HL_STORE_LIST_DELIVERIES, .state = -1, .limit = 1, .with_attempts = true};
    strcpy(l.project, "p");
    strcpy(l.destination, destination);
    return l;
}

static size_t find_deliveries(struct fixture *f, struct hl_list_deliveries l)
{
    size_t n = 0;
    do {
        l.has_more = false;
        cr_assert_eq(ask(f, &f->asker, &l.m), HL_OK);
        for (size_t i = 0; l.rows && i < l.count; i++)
            cr_assert_gt(l.rows[i].run_id.b[6], 0, "a whole row");
        n += l.count;
        l.before = l.next;
        hl_operation_clear(&l.m);
    } while (l.has_more && !l.only_counts);
    return n;
}

static void end_attempt(struct fixture *f, const char *url, enum hl_attempt_verdict verdict)
{
    struct hl_leased *l = lease_one(f, url);
    cr_assert_eq(say_outcome(f, l, 1, verdict), HL_OK);
    hl_leased_free(l);
}

STORE_TEST(deliveries_are_found_by_destination_and_last_status)
{
    give_lease_credit(f, 10);
    end_attempt(f, "https://a.example/x", HL_ATTEMPT_OK);
    end_attempt(f, "https://a.example/y", HL_ATTEMPT_DEAD);
    end_attempt(f, "https://b.example:8443/", HL_ATTEMPT_DEAD);
    end_attempt(f, "https://a.example/z", HL_ATTEMPT_DEAD);
    hl_leased_free(lease_one(f, "https://a.example/"));

    cr_assert_eq(find_deliveries(f, all_deliveries("https://a.example")), 4);
    cr_assert_eq(find_deliveries(f, all_deliveries("https://A.example")), 4);
    cr_assert_eq(find_deliveries(f, all_deliveries("http://a.example")), 0, "another scheme");
    cr_assert_eq(find_deliveries(f, all_deliveries("https://b.example")), 0, "another port");
    cr_assert_eq(find_deliveries(f, all_deliveries("https://b.example:8443")), 1);

    struct hl_list_deliveries l = all_deliveries("https://a.example");
    cr_assert(hl_status_range_read(HL_STR("5xx"), &l.status));
    cr_assert_eq(find_deliveries(f, l), 2);
    l.only_counts = true;
    cr_assert_eq(find_deliveries(f, l), 2);
    l.destination[0] = '\0';
    cr_assert_eq(find_deliveries(f, l), 3);
    l.only_counts = false;
    cr_assert_eq(find_deliveries(f, l), 3);
    l.state = HL_DELIVERY_OK;
    cr_assert_eq(find_deliveries(f, l), 0);
    cr_assert(hl_status_range_read(HL_STR("none"), &l.status));
    l.state = -1;
    cr_assert_eq(find_deliveries(f, l), 0, "the first attempt has not ended");
    l = all_deliveries("");
    l.only_counts = true;
    cr_assert_eq(find_deliveries(f, l), 5);
    l.state = HL_DELIVERY_DEAD;
    cr_assert_eq(find_deliveries(f, l), 3);
}

STORE_TEST(many_are_redelivered_by_the_time_by_which_they_are_listed)
{
    int64_t began_ms = hl_clock_wall_ms();
    give_lease_credit(f, 2);
    end_attempt(f, "https://e.org/", HL_ATTEMPT_DEAD);
    struct hl_redeliver r = {.m.msg.type = HL_STORE_REDELIVER,
        .project = "p",
        .state = HL_DELIVERY_DEAD,
        .since_ms = hl_clock_wall_ms() + 60000};
    cr_assert_eq(ask(f, &f->asker, &r.m), HL_OK);
    cr_assert_eq(r.count, 0, "none was made then or later");
    r.since_ms = began_ms;
    memset(&r.mark, 0, sizeof(r.mark));
    cr_assert_eq(ask(f, &f->asker, &r.m), HL_OK);
    cr_assert_eq(r.count, 1);
}

Test(search, tags_are_those_that_can_be_up_to_eight)
{
    struct hl_run_search s = {0};
    static const char *const wrong[] = {"", "a=", "=b", "a b", "a=b,c"};
    for (size_t i = 0; i < HL_ARRAY_LEN(wrong); i++)
        cr_assert_not(hl_search_add_tag(hl_str_from(wrong[i]), &s), "%s", wrong[i]);
    cr_assert_not(hl_run_search_walks(&s));
    cr_assert(hl_search_add_tag(HL_STR("tier"), &s));
    cr_assert(hl_run_search_reads(&s));
    for (int i = 1; i < HL_TAGS_MAX; i++)
        cr_assert(hl_search_add_tag(HL_STR("order=17=x"), &s));
    cr_assert_not(hl_search_add_tag(HL_STR("one=more"), &s));
}
