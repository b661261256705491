/* test_job.c - jobs in every store: who walks one, how many there are, what is written with each step, how they go. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "fixture.h"
#include "store/job.h"
#include "store/lease.h"
#include "store/operation.h"

#define LEASE_MS 60000

static void write_text(struct hl_buf *buf, const char *text)
{
    cr_assert_eq(hl_buf_append_str(buf, hl_str_from(text)), HL_OK);
}

static enum hl_err add(struct fixture *f, const char *project, struct hl_id *id)
{
    struct hl_add_job a = {.m.msg.type = HL_STORE_ADD_JOB};
    *id = a.job_id = new_id(f);
    snprintf(a.project, sizeof(a.project), "%s", project);
    write_text(&a.plan, "plan");
    write_text(&a.progress, "new");
    enum hl_err rc = ask(f, &f->asker, &a.m);
    hl_add_job_fini(&a);
    return rc;
}

/* Writes "is", with `n` pieces from `first` on that have that fate. */
struct step {
    int64_t version, ended_ms, first;
    size_t n;
    enum hl_job_fate fate;
    bool takes, gives_back;
};

static enum hl_err keep(
    struct fixture *f, const struct hl_id *id, const struct step *step, bool *is_stopping)
{
    struct hl_keep_job k = {.m.msg.type = HL_STORE_KEEP_JOB,
        .job_id = *id,
        .version = step->version,
        .takes = step->takes,
        .gives_back = step->gives_back,
        .lease_ms = LEASE_MS,
        .ended_ms = step->ended_ms,
        .n_pieces = step->n};
    write_text(&k.progress, "is");
    for (size_t i = 0; i < step->n; i++) {
        struct hl_job_item item = {.id = *id, .round = 7, .fate = step->fate};
        k.pieces[i].n = step->first + (int64_t)i;
        k.pieces[i].fates = 1u << step->fate;
        cr_assert_eq(hl_job_items_write(&item, 1, &k.pieces[i].items), HL_OK);
    }
    enum hl_err rc = ask(f, &f->asker, &k.m);
    if (is_stopping)
        *is_stopping = k.is_stopping;
    hl_keep_job_fini(&k);
    return rc;
}

static struct hl_list_jobs list(struct fixture *f, const char *project, const struct hl_id *id)
{
    struct hl_list_jobs l = {.m.msg.type = HL_STORE_LIST_JOBS, .limit = 10};
    snprintf(l.project, sizeof(l.project), "%s", project);
    if (id)
        l.job_id = *id;
    enum hl_err rc = ask(f, &f->asker, &l.m);
    cr_assert(rc == HL_OK || rc == HL_ERR_NOT_FOUND);
    return l;
}

STORE_TEST(a_job_is_walked_by_whoever_knows_its_version)
{
    struct hl_id id;
    cr_assert_eq(add(f, "p", &id), HL_OK);
    cr_assert_eq(keep(f, &id, &(struct step){.version = 1, .takes = true}, NULL), HL_OK);
    cr_assert_eq(keep(f, &id, &(struct step){.version = 1, .n = 1}, NULL), HL_ERR_STALE);
    struct hl_list_job_pieces none = {.m.msg.type = HL_STORE_LIST_JOB_PIECES,
        .job_id = id,
        .fates = 1u << HL_JOB_WAITING,
        .limit = 1};
    cr_assert_eq(ask(f, &f->asker, &none.m), HL_OK);
    cr_assert_eq(none.count, 0, "what is late writes nothing");
    cr_assert_eq(keep(f, &id, &(struct step){.version = 2}, NULL), HL_OK);
    struct hl_list_jobs l = list(f, "p", &id);
    cr_assert_eq(l.count, 1);
    cr_assert_eq(l.rows[0].version, 3);
    cr_assert_eq(l.rows[0].is_free, f->kind != HL_STORE_POSTGRES);
    cr_assert(hl_str_eq(hl_buf_str(&l.rows[0].plan), HL_STR("plan")));
    cr_assert(hl_str_eq(hl_buf_str(&l.rows[0].progress), HL_STR("is")));
    hl_operation_clear(&l.m);
    cr_assert_eq(keep(f, &id, &(struct step){.version = 3, .gives_back = true}, NULL), HL_OK);
    l = list(f, "", &id);
    cr_assert(l.rows[0].is_free);
    hl_operation_clear(&l.m);
    cr_assert_eq(
        keep(f, &id, &(struct step){.version = 4, .ended_ms = hl_clock_wall_ms()}, NULL), HL_OK);
    cr_assert_eq(keep(f, &id, &(struct step){.version = 5}, NULL), HL_ERR_STALE, "it has ended");
    l = list(f, "other", &id);
    cr_assert_eq(l.count, 0, "another project's is not there");
}

STORE_TEST(a_project_has_so_many_jobs_that_go_on_and_no_more)
{
    struct hl_id id, first;
    for (int i = 0; i < HL_JOBS_OPEN_MAX; i++)
        cr_assert_eq(add(f, "p", i ? &id : &first), HL_OK);
    cr_assert_eq(add(f, "p", &id), HL_ERR_BUSY);
    cr_assert_eq(add(f, "q", &id), HL_OK, "of another project");
    cr_assert_eq(
        keep(f, &first, &(struct step){.version = 1, .ended_ms = hl_clock_wall_ms()}, NULL), HL_OK);
    cr_assert_eq(add(f, "p", &id), HL_OK, "one has ended");
    struct hl_list_jobs l = list(f, "p", NULL);
    cr_assert_eq(l.count, HL_JOBS_OPEN_MAX + 1);
    cr_assert(hl_id_eq(&l.rows[0].id, &id), "newest first");
    hl_operation_clear(&l.m);
    l = (struct hl_list_jobs){
        .m.msg.type = HL_STORE_LIST_JOBS, .limit = HL_JOBS_OPEN_MAX, .only_open = true};
    cr_assert_eq(ask(f, &f->asker, &l.m), HL_OK);
    cr_assert_eq(l.count, HL_JOBS_OPEN_MAX);
    cr_assert(l.has_more, "the other project's");
    hl_operation_clear(&l.m);
}

STORE_TEST(pieces_are_listed_in_their_order_by_what_became_of_them)
{
    struct hl_id id;
    cr_assert_eq(add(f, "p", &id), HL_OK);
    cr_assert_eq(keep(f, &id, &(struct step){.version = 1, .first = 0, .n = 2}, NULL), HL_OK);
    cr_assert_eq(keep(f, &id, &(struct step){.version = 2, .first = 2, .n = 1}, NULL), HL_OK);
    cr_assert_eq(
        keep(f, &id, &(struct step){.version = 3, .first = 1, .n = 1, .fate = HL_JOB_FAILED}, NULL),
        HL_OK);
    struct hl_list_job_pieces l = {.m.msg.type = HL_STORE_LIST_JOB_PIECES,
        .job_id = id,
        .fates = 1u << HL_JOB_WAITING,
        .limit = 1};
    cr_assert_eq(ask(f, &f->asker, &l.m), HL_OK);
    cr_assert_eq(l.count, 1);
    cr_assert_eq(l.rows[0].n, 0);
    cr_assert(l.has_more);
    struct hl_job_item items[HL_JOB_PIECE_ITEMS];
    size_t n;
    cr_assert_eq(hl_job_items_read(hl_buf_str(&l.rows[0].items), items, &n), HL_OK);
    cr_assert_eq(n, 1);
    cr_assert(hl_id_eq(&items[0].id, &id));
    cr_assert_eq(items[0].round, 7);
    hl_operation_clear(&l.m);
    l.from = 1;
    cr_assert_eq(ask(f, &f->asker, &l.m), HL_OK);
    cr_assert_eq(l.count, 1);
    cr_assert_eq(l.rows[0].n, 2, "the one between has failed");
    cr_assert_not(l.has_more);
    hl_operation_clear(&l.m);
}

STORE_TEST(whoever_walks_a_job_is_told_to_stop)
{
    struct hl_id id;
    struct hl_stop_job s = {.m.msg.type = HL_STORE_STOP_JOB, .project = "q"};
    bool is_stopping;
    cr_assert_eq(add(f, "p", &id), HL_OK);
    cr_assert_eq(keep(f, &id, &(struct step){.version = 1}, &is_stopping), HL_OK);
    cr_assert_not(is_stopping);
    s.job_id = id;
    cr_assert_eq(ask(f, &f->asker, &s.m), HL_ERR_NOT_FOUND);
    snprintf(s.project, sizeof(s.project), "p");
    cr_assert_eq(ask(f, &f->asker, &s.m), HL_OK);
    cr_assert_not(s.was_wished);
    cr_assert_eq(ask(f, &f->asker, &s.m), HL_OK);
    cr_assert(s.was_wished);
    cr_assert_eq(keep(f, &id, &(struct step){.version = 2}, &is_stopping), HL_OK);
    cr_assert(is_stopping);
    cr_assert_eq(
        keep(f, &id, &(struct step){.version = 3, .ended_ms = hl_clock_wall_ms()}, NULL), HL_OK);
    cr_assert_eq(ask(f, &f->asker, &s.m), HL_ERR_CONFLICT);
}

STORE_TEST(a_redelivery_for_a_round_that_has_gone_sends_nothing)
{
    struct hl_leased *l = lease_one(f, "https://a.example/");
    cr_assert_eq(say_outcome(f, l, 1, HL_ATTEMPT_OK), HL_OK);
    struct hl_redeliver r = {
        .m.msg.type = HL_STORE_REDELIVER, .delivery_id = l->delivery_id, .round = l->round + 1};
    cr_assert_eq(ask(f, &f->asker, &r.m), HL_ERR_STALE);
    cr_assert_eq(r.count, 0);
    r.round = l->round;
    cr_assert_eq(ask(f, &f->asker, &r.m), HL_OK);
    cr_assert_eq(r.count, 1);
    r.count = 0;
    cr_assert_eq(ask(f, &f->asker, &r.m), HL_ERR_CONFLICT, "it is pending");
    hl_leased_free(l);
}

TestSuite(job);

Test(job, damaged_items_are_none)
{
    struct hl_job_item item = {.round = 1, .fate = HL_JOB_DONE}, items[HL_JOB_PIECE_ITEMS];
    struct hl_buf text = {0};
    size_t n;
    cr_assert_eq(hl_job_items_write(&item, 1, &text), HL_OK);
    cr_assert_eq(hl_job_items_read(hl_buf_str(&text), items, &n), HL_OK);
    text.p[text.n - 2] = HL_JOB_FATES;
    cr_assert_eq(hl_job_items_read(hl_buf_str(&text), items, &n), HL_ERR_CORRUPT);
    text.n--;
    cr_assert_eq(hl_job_items_read(hl_buf_str(&text), items, &n), HL_ERR_CORRUPT);
    hl_buf_fini(&text);
}

/* Its pieces go with it. */
Test(job, one_that_has_ended_goes_as_runs_do)
{
    struct fixture f;
    struct hl_id old, young, open;
    fixture_init(&f, HL_STORE_SQLITE);
    fixture_set_retention(&f, 3600 * 1000);
    fixture_open(&f);
    int64_t now_ms = hl_clock_wall_ms();
    cr_assert_eq(add(&f, "p", &old), HL_OK);
    cr_assert_eq(add(&f, "p", &young), HL_OK);
    cr_assert_eq(add(&f, "p", &open), HL_OK);
    struct step step = {.version = 1, .n = 2, .ended_ms = now_ms};
    cr_assert_eq(keep(&f, &young, &step, NULL), HL_OK);
    step.ended_ms = 0;
    cr_assert_eq(keep(&f, &open, &step, NULL), HL_OK);
    step.ended_ms = now_ms - 2 * 3600 * 1000;
    cr_assert_eq(keep(&f, &old, &step, NULL), HL_OK);
    for (int i = 0; i < 500 && fixture_count(&f, "job") > 2; i++)
        settle(&f);
    cr_assert_eq(fixture_count(&f, "job"), 2);
    cr_assert_eq(fixture_count(&f, "job_piece"), 4);
    fixture_fini(&f);
}
