/* test_account.c - service accounts and the signing key in the store. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "fixture.h"
#include "store/account.h"
#include "store/key.h"
#include "store/operation.h"
#include "store/path.h"
#include "store/question.h"
#include "store/secret.h"

#define DAY_MS (24 * 3600 * 1000ll)

/* What the next accounts are made with. */
static struct hl_limits made_with = {.max_priority = HL_PRIORITY_NORMAL};

static enum hl_err add_account(
    struct fixture *f, const char *project, const char *name, int64_t expires_ms, struct hl_id *id)
{
    struct hl_add_account add = {.m.msg.type = HL_STORE_ADD_ACCOUNT};
    struct hl_account *a = &add.account;
    if (hl_id_is_nil(id))
        *id = new_id(f);
    a->id = *id;
    a->role = HL_ROLE_ADMIN;
    a->created_ms = hl_clock_wall_ms();
    a->expires_ms = expires_ms;
    a->limits = made_with;
    snprintf(a->project, sizeof(a->project), "%s", project);
    snprintf(a->name, sizeof(a->name), "%s", name);
    return ask(f, &f->asker, &add.m);
}

static struct hl_id make_account(struct fixture *f, const char *project, const char *name)
{
    struct hl_id id = {{0}};
    cr_assert_eq(add_account(f, project, name, hl_clock_wall_ms() + DAY_MS, &id), HL_OK);
    return id;
}

static enum hl_err revoke_account(
    struct fixture *f, const struct hl_id *id, const char *project, int64_t *revoked_ms)
{
    struct hl_revoke_account r = {.m.msg.type = HL_STORE_REVOKE_ACCOUNT, .id = *id};
    snprintf(r.project, sizeof(r.project), "%s", project);
    enum hl_err rc = ask(f, &f->asker, &r.m);
    if (revoked_ms)
        *revoked_ms = r.revoked_ms;
    return rc;
}

/* How many accounts all pages show; `*out`: that one, if it is there. */
static unsigned find(
    struct fixture *f, const char *project, const struct hl_id *id, struct hl_account *out)
{
    struct hl_list_accounts l = {.m.msg.type = HL_STORE_LIST_ACCOUNTS, .limit = 3};
    unsigned n = 0;
    snprintf(l.project, sizeof(l.project), "%s", project);
    *out = (struct hl_account){0};
    do {
        l.has_more = false;
        cr_assert_eq(ask(f, &f->asker, &l.m), HL_OK);
        n += (unsigned)l.count;
        for (size_t i = 0; i < l.count; i++)
            if (hl_id_eq(&l.rows[i].id, id))
                *out = l.rows[i];
        l.before = l.next;
        hl_operation_clear(&l.m);
    } while (l.has_more);
    return n;
}

STORE_TEST(account_is_listed_as_it_was_made)
{
    struct hl_account found;
    struct hl_id id = make_account(f, "p", "für die Produktion");
    for (int i = 0; i < 7; i++)
        make_account(f, i % 2 ? "p" : "q", "more");
    cr_assert_eq(find(f, "p", &id, &found), 4);
    cr_assert_str_eq(found.project, "p");
    cr_assert_str_eq(found.name, "für die Produktion");
    cr_assert_eq(found.role, HL_ROLE_ADMIN);
    cr_assert_eq(found.expires_ms - found.created_ms <= DAY_MS, true);
    cr_assert_eq(found.revoked_ms, 0);
    cr_assert_eq(found.last_used_ms, 0);
    cr_assert_eq(find(f, "", &id, &found), 8, "all projects");
    cr_assert_eq(add_account(f, "p", "again", 1, &id), HL_ERR_EXISTS);
}

static const struct hl_limits some_limits = {.max_running = 4,
    .max_queued = 1000,
    .rate = {.count = 100, .window_s = 60},
    .max_priority = HL_PRIORITY_HIGH};

static void assert_limits(const struct hl_limits *is, struct hl_limits should_be)
{
    cr_assert_eq(is->max_running, should_be.max_running);
    cr_assert_eq(is->max_queued, should_be.max_queued);
    cr_assert_eq(is->rate.count, should_be.rate.count);
    cr_assert_eq(is->rate.window_s, should_be.rate.window_s);
    cr_assert_eq(is->max_priority, should_be.max_priority);
}

static enum hl_err limit_account(struct fixture *f, const struct hl_id *id, const char *project,
    const struct hl_limits_change *change, struct hl_account *out)
{
    struct hl_limit_account l = {
        .m.msg.type = HL_STORE_LIMIT_ACCOUNT, .id = *id, .change = *change};
    snprintf(l.project, sizeof(l.project), "%s", project);
    enum hl_err rc = ask(f, &f->asker, &l.m);
    *out = l.account;
    return rc;
}

/* Where anything outlives it. Accounts without a key that signs are refused. */
static void reopen(struct fixture *f)
{
    static const uint8_t key[] = "a key";
    if (f->kind == HL_STORE_MEMORY)
        return;
    cr_assert_eq(hl_store_put_signing_key(f->store, key, sizeof(key)), HL_OK);
    fixture_reopen(f);
}

STORE_TEST(account_has_the_limits_that_it_was_made_with)
{
    struct hl_account found;
    struct hl_id plain = make_account(f, "p", "plain");
    made_with = some_limits;
    struct hl_id limited = make_account(f, "p", "limited");
    reopen(f);
    find(f, "p", &plain, &found);
    assert_limits(&found.limits, HL_LIMITS_NONE);
    find(f, "p", &limited, &found);
    assert_limits(&found.limits, some_limits);
    find(f, "", &limited, &found);
    assert_limits(&found.limits, some_limits);
}

STORE_TEST(limits_that_are_changed_are_on_disk_and_the_others_stay)
{
    struct hl_account changed, found;
    struct hl_id id = make_account(f, "p", "n"), nobody = new_id(f);
    struct hl_limits_change all = {.which = 15, .to = some_limits};
    struct hl_limits_change lift = {
        .which = 1u << HL_LIMIT_RATE | 1u << HL_LIMIT_MAX_PRIORITY, .to = HL_LIMITS_NONE};
    cr_assert_eq(limit_account(f, &id, "q", &all, &changed), HL_ERR_NOT_FOUND, "another project's");
    cr_assert_eq(limit_account(f, &nobody, "p", &all, &changed), HL_ERR_NOT_FOUND);
    find(f, "p", &id, &found);
    assert_limits(&found.limits, HL_LIMITS_NONE);

    cr_assert_eq(limit_account(f, &id, "p", &all, &changed), HL_OK);
    cr_assert(hl_id_eq(&changed.id, &id));
    cr_assert_str_eq(changed.name, "n");
    assert_limits(&changed.limits, some_limits);
    uint32_t first = changed.limits.revision;
    cr_assert_eq(limit_account(f, &id, "", &lift, &changed), HL_OK);
    struct hl_limits left = some_limits;
    left.rate = (struct hl_rate){0};
    left.max_priority = HL_PRIORITY_NORMAL;
    assert_limits(&changed.limits, left);
    cr_assert_gt(changed.limits.revision, first, "which of two is the later");
    reopen(f);
    find(f, "p", &id, &found);
    assert_limits(&found.limits, left);
    cr_assert_eq(found.limits.revision, changed.limits.revision);
}

STORE_TEST(i14_revocation_is_on_disk_when_it_is_answered)
{
    struct hl_account found;
    int64_t first_ms, again_ms;
    struct hl_id id = make_account(f, "p", "n"), nobody = new_id(f);
    cr_assert_eq(revoke_account(f, &id, "q", NULL), HL_ERR_NOT_FOUND, "another project's");
    cr_assert_eq(revoke_account(f, &nobody, "p", NULL), HL_ERR_NOT_FOUND);
    find(f, "p", &id, &found);
    cr_assert_eq(found.revoked_ms, 0);

    cr_assert_eq(revoke_account(f, &id, "p", &first_ms), HL_OK);
    cr_assert_gt(first_ms, 0);
    cr_assert_eq(revoke_account(f, &id, "", &again_ms), HL_OK);
    cr_assert_eq(again_ms, first_ms, "once");
    if (f->kind == HL_STORE_SQLITE)
        fixture_reopen(f);
    find(f, "p", &id, &found);
    cr_assert_eq(found.revoked_ms, first_ms);
}

STORE_TEST(last_use_of_many_is_kept_and_never_goes_back)
{
    struct hl_account found;
    struct hl_touch_accounts t = {.m.msg.type = HL_STORE_TOUCH_ACCOUNTS, .n = 3};
    struct hl_id a = make_account(f, "p", "a"), b = make_account(f, "p", "b");
    t.uses[0] = (struct hl_account_use){a, 2000};
    t.uses[1] = (struct hl_account_use){new_id(f), 2000};
    t.uses[2] = (struct hl_account_use){b, 3000};
    cr_assert_eq(ask(f, &f->asker, &t.m), HL_OK);
    t.n = 1;
    t.uses[0].used_ms = 1000;
    cr_assert_eq(ask(f, &f->asker, &t.m), HL_OK);
    find(f, "p", &a, &found);
    cr_assert_eq(found.last_used_ms, 2000);
    find(f, "p", &b, &found);
    cr_assert_eq(found.last_used_ms, 3000);
}

/* Its token is good until then if nobody knows. The clock that says so may be wrong: those that
 * nobody revoked stay. */
static void purges_accounts(struct fixture *f)
{
    static const int ended_days[] = {8, 6, -90};
    struct hl_account found;
    struct hl_id revoked[3] = {{{0}}}, ended = {{0}};
    int64_t now_ms = hl_clock_wall_ms();
    cr_assert_eq(add_account(f, "p", "ended", now_ms - 800 * DAY_MS, &ended), HL_OK);
    for (int i = 0; i < 3; i++)
        cr_assert_eq(add_account(f, "p", "n", now_ms - ended_days[i] * DAY_MS, &revoked[i]), HL_OK);
    for (int i = 2; i >= 0; i--)
        cr_assert_eq(revoke_account(f, &revoked[i], "p", NULL), HL_OK);
    while (find(f, "p", &revoked[0], &found) == 4)
        ;
    cr_assert(hl_id_is_nil(&found.id), "the one that ended longest ago");
    for (int i = 1; i < 3; i++) {
        find(f, "p", &revoked[i], &found);
        cr_assert_gt(found.revoked_ms, 0);
    }
    find(f, "p", &ended, &found);
    cr_assert(hl_id_eq(&found.id, &ended), "nobody revoked it");
}

/* An account is due in months; runs that end meanwhile are due much sooner. */
static void purges_runs_beside_an_account(struct fixture *f)
{
    struct hl_id account = {{0}}, run;
    cr_assert_eq(add_account(f, "p", "n", hl_clock_wall_ms() + 90 * DAY_MS, &account), HL_OK);
    for (int i = 0; i < 4; i++) {
        struct hl_get_run g;
        cr_assert_eq(record_run(f, (struct run_spec){0}, &run), HL_OK);
        cr_assert_eq(finish_run(f, &run, 1, NULL), HL_OK);
        while (get_run(f, &run, &g) == HL_OK)
            hl_body_fini(&g.outcome.body);
    }
}

static void run_with_retention(enum hl_store_kind kind, void (*test)(struct fixture *f))
{
    struct fixture f;
    fixture_init(&f, kind);
    fixture_set_retention(&f, 30);
    fixture_open(&f);
    test(&f);
    fixture_fini(&f);
}

Test(sqlite, revoked_account_goes_a_week_after_its_token_and_no_other, .timeout = 180)
{
    run_with_retention(HL_STORE_SQLITE, purges_accounts);
}

Test(memory, revoked_account_goes_a_week_after_its_token_and_no_other, .timeout = 180)
{
    run_with_retention(HL_STORE_MEMORY, purges_accounts);
}

Test(sqlite, runs_go_beside_an_account_that_stays, .timeout = 180)
{
    run_with_retention(HL_STORE_SQLITE, purges_runs_beside_an_account);
}

Test(memory, runs_go_beside_an_account_that_stays, .timeout = 180)
{
    run_with_retention(HL_STORE_MEMORY, purges_runs_beside_an_account);
}

/* --- apps ----------------------------------------------------------------------------------- */

Test(recovery, app_that_nothing_names_any_more_goes, .timeout = 180)
{
    struct fixture f;
    struct hl_id run, queued;
    fixture_init(&f, HL_STORE_SQLITE);
    fixture_set_retention(&f, 30);
    fixture_open(&f);
    cr_assert_eq(accept_run(&f, (struct run_spec){.app = "stays"}, &queued), HL_OK);
    cr_assert_eq(record_run(&f, (struct run_spec){.app = "goes"}, &run), HL_OK);
    cr_assert_eq(finish_run(&f, &run, 1, NULL), HL_OK);
    while (query(&f, "SELECT count(*) FROM result") > 0)
        ;
    fixture_close(&f);
    change(&f, "UPDATE tally SET minute = minute - 2"); /* its minute is past the retention, too */
    fixture_open(&f);
    while (query(&f, "SELECT count(*) FROM app") > 1)
        ;
    cr_assert_eq(query(&f, "SELECT count(*) FROM app WHERE name = 'stays'"), 1);
    cr_assert_eq(accept_run(&f, (struct run_spec){.app = "goes"}, &run), HL_OK, "and comes again");
    cr_assert_eq(state_of(&f, &run), HL_RUN_QUEUED);
    fixture_fini(&f);
}

/* --- the signing key ------------------------------------------------------------------------ */

static const uint8_t key[] = "a private key, as its owner writes it";

static struct fixture sf;

static void fini_sf(void)
{
    fixture_fini(&sf);
}

static void init_sf(void)
{
    fixture_init(&sf, HL_STORE_SQLITE);
}

TestSuite(signing_key, .init = init_sf, .fini = fini_sf);

static void finds_key(void)
{
    uint8_t out[HL_SIGNING_KEY_MAX];
    size_t n;
    cr_assert_eq(hl_store_get_signing_key(sf.store, out, &n), HL_OK);
    cr_assert_eq(n, sizeof(key));
    cr_assert_arr_eq(out, key, n);
}

static void write_key_file(const void *bytes, size_t n)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/signing-key", sf.dir);
    cr_assert_eq(hl_path_write(path, bytes, n), HL_OK);
}

static bool has_key_file(void)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/signing-key", sf.dir);
    return access(path, F_OK) == 0;
}

Test(signing_key, is_the_same_after_a_restart_and_sealed_in_the_database)
{
    uint8_t out[HL_SIGNING_KEY_MAX];
    size_t n;
    fixture_open(&sf);
    cr_assert_eq(hl_store_get_signing_key(sf.store, out, &n), HL_ERR_NOT_FOUND);
    cr_assert_eq(hl_store_put_signing_key(sf.store, key, sizeof(key)), HL_OK);
    fixture_reopen(&sf);
    finds_key();
    cr_assert_not(has_key_file());
    cr_assert_eq(
        query(&sf, "SELECT count(*) FROM meta WHERE instr(v, CAST('private' AS BLOB))"), 0);
    fixture_close(&sf);
    change(&sf, "UPDATE meta SET v = zeroblob(80) WHERE k = 'signing_key'");
    cr_assert_eq(fixture_try_open(&sf), HL_ERR_CORRUPT);
    cr_assert(strstr(sf.why, "signing key"), "%s", sf.why);
}

Test(signing_key, of_an_earlier_version_is_taken_over_from_its_file)
{
    static const struct hl_id no_row;
    char path[128], why[256];
    struct hl_key data_key;
    struct hl_sealer sealer;
    struct hl_buf sealed;
    fixture_open(&sf);
    fixture_close(&sf);
    snprintf(path, sizeof(path), "%s/key", sf.dir);
    cr_assert_eq(hl_key_load(&data_key, path, HL_KEY_MISSED, why, sizeof(why)), HL_OK);
    cr_assert_eq(hl_sealer_init(&sealer, &data_key), HL_OK);
    hl_buf_init(&sealed, 0);
    struct hl_str plain = {(const char *)key, sizeof(key)};
    cr_assert_eq(hl_seal(&sealer, "signing-key", &no_row, plain, &sealed), HL_OK);
    write_key_file(sealed.p, sealed.n);
    fixture_open(&sf);
    finds_key();
    cr_assert_not(has_key_file());
    fixture_reopen(&sf);
    finds_key();
    hl_buf_fini(&sealed);
    hl_sealer_fini(&sealer);
}

Test(signing_key, that_is_missing_is_not_made_anew_while_there_are_accounts)
{
    uint8_t out[HL_SIGNING_KEY_MAX];
    struct hl_account found;
    size_t n;
    fixture_open(&sf);
    struct hl_id id = make_account(&sf, "p", "n");
    fixture_close(&sf);
    cr_assert_eq(fixture_try_open(&sf), HL_ERR_NOT_FOUND);
    cr_assert(strstr(sf.why, "signing-key is missing"), "%s", sf.why);
    write_key_file("not a sealed key", 16);
    cr_assert_eq(fixture_try_open(&sf), HL_ERR_CORRUPT);
    cr_assert(has_key_file(), "it is left alone");
    write_key_file("", 0);
    fixture_open(&sf);
    cr_assert_eq(hl_store_get_signing_key(sf.store, out, &n), HL_ERR_NOT_FOUND);
    find(&sf, "p", &id, &found);
    cr_assert_gt(found.revoked_ms, 0, "its token is void");
    cr_assert_not(has_key_file());
    fixture_reopen(&sf);
}

Test(memory, signing_key_is_kept_nowhere)
{
    struct fixture f;
    uint8_t out[HL_SIGNING_KEY_MAX];
    size_t n;
    fixture_init(&f, HL_STORE_MEMORY);
    fixture_open(&f);
    cr_assert_eq(hl_store_put_signing_key(f.store, key, sizeof(key)), HL_OK);
    cr_assert_eq(hl_store_get_signing_key(f.store, out, &n), HL_ERR_NOT_FOUND);
    fixture_fini(&f);
}
