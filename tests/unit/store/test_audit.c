/* test_audit.c - who changed what: the row is there when the change is, and only then. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "fixture.h"
#include "store/accept.h"
#include "store/account.h"
#include "store/audit.h"
#include "store/claim.h"
#include "store/lease.h"
#include "store/operation.h"
#include "store/question.h"

#define DAY_MS (24 * 3600 * 1000ll)

static struct hl_audit *row(
    struct fixture *f, enum hl_audit_action action, const char *project, const char *told)
{
    struct hl_audit what = {.id = new_id(f), .action = action, .count = -1};
    snprintf(what.project, sizeof(what.project), "%s", project);
    struct hl_audit *audit = hl_audit_new(&what, hl_str_from(told));
    cr_assert_not_null(audit);
    return audit;
}

/* The request is asked with that row; what it answers. */
static enum hl_err ask_with(struct fixture *f, struct hl_store_msg *m, struct hl_audit *audit)
{
    m->audit = audit;
    enum hl_err rc = ask(f, &f->asker, m);
    free(audit);
    m->audit = NULL;
    return rc;
}

static struct hl_list_audit list(struct fixture *f, const char *project)
{
    struct hl_list_audit l = {.m.msg.type = HL_STORE_LIST_AUDIT, .limit = 200, .action = -1};
    snprintf(l.project, sizeof(l.project), "%s", project);
    cr_assert_eq(ask(f, &f->asker, &l.m), HL_OK);
    return l;
}

static size_t count(struct fixture *f, const char *project)
{
    struct hl_list_audit l = list(f, project);
    size_t n = l.count;
    hl_operation_clear(&l.m);
    return n;
}

static enum hl_err note(struct fixture *f, const char *project, const char *told)
{
    struct hl_store_msg m = {.msg.type = HL_STORE_AUDIT};
    return ask_with(f, &m, row(f, HL_AUDIT_SESSION_OPENED, project, told));
}

static struct hl_id add_account(struct fixture *f, const char *project)
{
    struct hl_add_account add = {.m.msg.type = HL_STORE_ADD_ACCOUNT};
    add.account = (struct hl_account){.id = new_id(f),
        .created_ms = hl_clock_wall_ms(),
        .expires_ms = hl_clock_wall_ms() + DAY_MS,
        .limits = HL_LIMITS_NONE,
        .name = "ci"};
    snprintf(add.account.project, sizeof(add.account.project), "%s", project);
    cr_assert_eq(
        ask_with(f, &add.m, row(f, HL_AUDIT_ACCOUNT_MADE, project, "{\"n\":\"made\"}")), HL_OK);
    cr_assert_eq(ask_with(f, &add.m, row(f, HL_AUDIT_ACCOUNT_MADE, project, "{}")), HL_ERR_EXISTS);
    return add.account.id;
}

STORE_TEST(an_account_is_made_limited_and_revoked_with_a_row_or_not_at_all)
{
    struct hl_id id = add_account(f, "p");
    cr_assert_eq(count(f, "p"), 1, "what was refused has no row");
    cr_assert_eq(count(f, "other"), 0);

    struct hl_limit_account limit = {.m.msg.type = HL_STORE_LIMIT_ACCOUNT, .id = id};
    limit.change = (struct hl_limits_change){.which = 1, .to = HL_LIMITS_NONE};
    cr_assert_eq(ask_with(f, &limit.m, row(f, HL_AUDIT_ACCOUNT_LIMITED, "p", "{}")), HL_OK);
    struct hl_revoke_account revoke = {.m.msg.type = HL_STORE_REVOKE_ACCOUNT, .id = id};
    snprintf(revoke.project, sizeof(revoke.project), "other");
    cr_assert_eq(
        ask_with(f, &revoke.m, row(f, HL_AUDIT_ACCOUNT_REVOKED, "p", "{}")), HL_ERR_NOT_FOUND);
    cr_assert_eq(count(f, "p"), 2);
    revoke.project[0] = '\0';
    cr_assert_eq(ask_with(f, &revoke.m, row(f, HL_AUDIT_ACCOUNT_REVOKED, "p", "{}")), HL_OK);

    struct hl_list_audit l = list(f, "p");
    cr_assert_eq(l.count, 3);
    cr_assert_eq(l.rows[0]->action, HL_AUDIT_ACCOUNT_REVOKED, "newest first");
    cr_assert_eq(l.rows[1]->action, HL_AUDIT_ACCOUNT_LIMITED);
    cr_assert_eq(l.rows[2]->action, HL_AUDIT_ACCOUNT_MADE);
    cr_assert_str_eq(l.rows[2]->told, "{\"n\":\"made\"}");
    cr_assert_str_eq(l.rows[2]->project, "p");
    cr_assert_eq(l.rows[2]->count, -1);
    hl_operation_clear(&l.m);
}

STORE_TEST(an_audit_goes_on_page_by_page_with_what_all_projects_share)
{
    static const char *const projects[] = {"other", "p", "p", "", "p", "p", "other"};
    for (size_t i = 0; i < HL_ARRAY_LEN(projects); i++)
        cr_assert_eq(note(f, projects[i], "{}"), HL_OK);
    struct hl_list_audit l = {.m.msg.type = HL_STORE_LIST_AUDIT, .limit = 2, .action = -1};
    struct hl_id last = hl_id_last();
    size_t n = 0;
    bool has_more;
    snprintf(l.project, sizeof(l.project), "p");
    do {
        cr_assert_eq(ask(f, &f->asker, &l.m), HL_OK);
        for (size_t i = 0; i < l.count; i++, n++) {
            cr_assert_lt(memcmp(l.rows[i]->id.b, last.b, sizeof(last.b)), 0);
            cr_assert_str_neq(l.rows[i]->project, "other");
            last = l.rows[i]->id;
        }
        has_more = l.has_more;
        l.before = l.next;
        hl_operation_clear(&l.m);
    } while (has_more);
    cr_assert_eq(n, 5);
    cr_assert_eq(count(f, ""), 7, "all of all projects");
}

static size_t matching(
    struct fixture *f, enum hl_audit_action action, int64_t since_ms, int64_t until_ms)
{
    struct hl_list_audit l = {.m.msg.type = HL_STORE_LIST_AUDIT,
        .limit = 10,
        .action = (int)action,
        .since_ms = since_ms,
        .until_ms = until_ms};
    cr_assert_eq(ask(f, &f->asker, &l.m), HL_OK);
    size_t n = l.count;
    hl_operation_clear(&l.m);
    return n;
}

STORE_TEST(an_audit_is_searched_by_action_and_time)
{
    cr_assert_eq(note(f, "p", "{}"), HL_OK);
    struct hl_list_audit l = list(f, "p");
    int64_t at_ms = hl_id_time_ms(&l.rows[0]->id);
    hl_operation_clear(&l.m);
    cr_assert_eq(matching(f, HL_AUDIT_SESSION_OPENED, 0, 0), 1);
    cr_assert_eq(matching(f, HL_AUDIT_DRAIN_BEGUN, 0, 0), 0);
    cr_assert_eq(matching(f, HL_AUDIT_SESSION_OPENED, at_ms, at_ms + 1), 1);
    cr_assert_eq(matching(f, HL_AUDIT_SESSION_OPENED, at_ms + 1, 0), 0);
    cr_assert_eq(matching(f, HL_AUDIT_SESSION_OPENED, 0, at_ms), 0);
}

STORE_TEST(a_cancel_and_a_rerun_have_rows_and_what_is_refused_of_them_has_none)
{
    struct hl_id id;
    cr_assert_eq(accept_run(f, (struct run_spec){.project = "p"}, &id), HL_OK);
    struct hl_run_ref ref = {.m.msg.type = HL_STORE_CANCEL, .run_id = id};
    cr_assert_eq(ask_with(f, &ref.m, row(f, HL_AUDIT_RUN_CANCELLED, "p", "{}")), HL_OK);
    cr_assert_eq(ask_with(f, &ref.m, row(f, HL_AUDIT_RUN_CANCELLED, "p", "{}")), HL_ERR_CONFLICT);
    cr_assert_eq(count(f, "p"), 1);

    for (int i = 0; i < 2; i++) {
        struct hl_accept *accept =
            make_accept(f, HL_STORE_ACCEPT, &(struct run_spec){.project = "p", .key = "k"});
        enum hl_err rc = ask_with(f, &accept->m, row(f, HL_AUDIT_RUN_RERUN, "p", "{}"));
        cr_assert_eq(rc, i == 0 ? HL_OK : HL_ERR_EXISTS);
        hl_accept_free(accept);
    }
    cr_assert_eq(count(f, "p"), 2);
}

STORE_TEST(a_running_run_is_cancelled_once)
{
    struct hl_id id;
    cr_assert_eq(accept_run(f, (struct run_spec){.project = "p"}, &id), HL_OK);
    give_credit(f, &f->worker, 1, false);
    struct hl_claimed *c = party_wait(&f->worker, HL_STORE_CLAIMED);
    struct hl_run_ref ref = {.m.msg.type = HL_STORE_CANCEL, .run_id = id};
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(ask_with(f, &ref.m, row(f, HL_AUDIT_RUN_CANCELLED, "p", "{}")), HL_OK);
        cr_assert_eq(ref.was_wished, i > 0);
    }
    cr_assert_eq(count(f, "p"), 1);
    hl_claimed_free(c);
}

STORE_TEST(deliveries_that_are_sent_again_have_a_row_each_or_one_that_counts_them)
{
    struct hl_leased *lease = lease_one(f, "http://a.example/");
    struct hl_redeliver one = {.m.msg.type = HL_STORE_REDELIVER, .delivery_id = lease->delivery_id};
    cr_assert_eq(
        ask_with(f, &one.m, row(f, HL_AUDIT_DELIVERY_REDELIVERED, "p", "{}")), HL_ERR_CONFLICT);
    cr_assert_eq(say_outcome(f, lease, 1, HL_ATTEMPT_DEAD), HL_OK);
    struct hl_redeliver all = {.m.msg.type = HL_STORE_REDELIVER, .state = HL_DELIVERY_OK};
    snprintf(all.project, sizeof(all.project), "p");
    cr_assert_eq(ask_with(f, &all.m, row(f, HL_AUDIT_DELIVERIES_REDELIVERED, "p", "{}")), HL_OK);
    cr_assert_eq(count(f, "p"), 0, "none was in that state");
    all = (struct hl_redeliver){.m.msg.type = HL_STORE_REDELIVER, .state = HL_DELIVERY_DEAD};
    snprintf(all.project, sizeof(all.project), "p");
    cr_assert_eq(ask_with(f, &all.m, row(f, HL_AUDIT_DELIVERIES_REDELIVERED, "p", "{}")), HL_OK);
    cr_assert_eq(all.count, 1);
    struct hl_list_audit l = list(f, "p");
    cr_assert_eq(l.count, 1);
    cr_assert_eq(l.rows[0]->count, 1);
    hl_operation_clear(&l.m);
    hl_leased_free(lease);
}

static enum hl_err keep(
    struct fixture *f, const char *former, const char *value, struct hl_audit *audit)
{
    struct hl_keep_settings k = {.m.msg.type = HL_STORE_KEEP_SETTINGS};
    cr_assert_eq(hl_buf_append_str(&k.former, hl_str_from(former)), HL_OK);
    cr_assert_eq(hl_buf_append_str(&k.value, hl_str_from(value)), HL_OK);
    enum hl_err rc = ask_with(f, &k.m, audit);
    hl_keep_settings_fini(&k);
    return rc;
}

STORE_TEST(settings_are_kept_for_the_next_start_by_whoever_knows_the_former_ones)
{
    struct hl_get_settings g = {.m.msg.type = HL_STORE_GET_SETTINGS};
    cr_assert_eq(ask(f, &f->asker, &g.m), HL_ERR_NOT_FOUND);
    cr_assert_eq(keep(f, "x", "{}", row(f, HL_AUDIT_SETTINGS_CHANGED, "", "{}")), HL_ERR_STALE);
    cr_assert_eq(keep(f, "", "a", NULL), HL_OK);
    cr_assert_eq(keep(f, "", "b", row(f, HL_AUDIT_SETTINGS_CHANGED, "", "{}")), HL_ERR_STALE);
    cr_assert_eq(count(f, "p"), 0);
    cr_assert_eq(keep(f, "a", "b", row(f, HL_AUDIT_SETTINGS_CHANGED, "", "{}")), HL_OK);
    cr_assert_eq(count(f, "p"), 1);
    cr_assert_eq(ask(f, &f->asker, &g.m), HL_OK);
    cr_assert(hl_str_eq(hl_buf_str(&g.value), HL_STR("b")));
    hl_get_settings_fini(&g);
}

TestSuite(audit);

Test(audit, a_change_whose_row_cannot_be_written_is_not_made)
{
    struct fixture f;
    fixture_init(&f, HL_STORE_SQLITE);
    fixture_open(&f);
    fixture_close(&f);
    change(&f, "CREATE TRIGGER no BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'no'); END");
    fixture_open(&f);
    struct hl_add_account add = {.m.msg.type = HL_STORE_ADD_ACCOUNT};
    add.account = (struct hl_account){.id = new_id(&f), .limits = HL_LIMITS_NONE, .project = "p"};
    cr_assert_neq(ask_with(&f, &add.m, row(&f, HL_AUDIT_ACCOUNT_MADE, "p", "{}")), HL_OK);
    cr_assert_eq(query(&f, "SELECT count(*) FROM account"), 0);
    fixture_fini(&f);
}

Test(audit, a_row_is_there_after_a_restart_and_a_note_without_one_is_refused)
{
    struct fixture f;
    fixture_init(&f, HL_STORE_SQLITE);
    fixture_open(&f);
    struct hl_store_msg none = {.msg.type = HL_STORE_AUDIT};
    cr_assert_eq(ask(&f, &f.asker, &none), HL_ERR_INVALID);
    cr_assert_eq(note(&f, "p", "{}"), HL_OK);
    fixture_reopen(&f);
    cr_assert_eq(count(&f, "p"), 1);
    fixture_fini(&f);
}

Test(audit, a_row_stays_for_ninety_days_or_for_the_retention_if_that_is_longer)
{
    cr_assert_eq(hl_audit_keep_ms(DAY_MS), 90 * DAY_MS);
    cr_assert_eq(hl_audit_keep_ms(100 * DAY_MS), 100 * DAY_MS);
    struct fixture f;
    fixture_init(&f, HL_STORE_SQLITE);
    fixture_set_retention(&f, DAY_MS);
    fixture_open(&f);
    int64_t now_ms = hl_clock_wall_ms();
    for (int days = 89; days <= 91; days += 2) {
        struct hl_audit *old = row(&f, HL_AUDIT_SESSION_OPENED, "p", "{}");
        struct hl_id at = hl_id_first_at(now_ms - days * DAY_MS);
        struct hl_store_msg m = {.msg.type = HL_STORE_AUDIT};
        memcpy(old->id.b, at.b, 6);
        cr_assert_eq(ask_with(&f, &m, old), HL_OK);
    }
    fixture_reopen(&f);
    do
        settle(&f);
    while (count(&f, "p") > 1);
    cr_assert_eq(count(&f, "p"), 1);
    fixture_fini(&f);
}
