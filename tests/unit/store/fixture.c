/* fixture.c - see fixture.h. */
#include "fixture.h"

#include <criterion/criterion.h>
#include <ftw.h>
#include <mbedtls/sha256.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "config/config.h"
#include "store/accept.h"
#include "store/body_file.h"
#include "store/claim.h"
#include "store/lease.h"
#include "store/operation.h"
#include "store/postgres/param.h"
#include "store/postgres/row.h"
#include "store/postgres/session.h"
#include "store/postgres/statement.h"
#include "store/question.h"
#include "store/store.h"

#define PATIENCE_S 60
/* For this the upkeep makes three partitions of each table, for an hour 50. */
#define DAYS_MS (INT64_C(4) * 24 * 3600 * 1000)

static void wake(void *arg)
{
    sem_post(&((struct party *)arg)->wake);
}

static void party_init(struct party *p)
{
    p->first = NULL;
    sem_init(&p->wake, 0, 0);
    hl_mailbox_init(&p->box, wake, p);
}

static void take(struct party *p)
{
    struct hl_msg **end = &p->first;
    while (*end)
        end = &(*end)->next;
    *end = hl_mailbox_take(&p->box);
}

void *party_look(struct party *p, uint32_t type)
{
    take(p);
    for (struct hl_msg **at = &p->first; *at; at = &(*at)->next) {
        struct hl_msg *msg = *at;
        if (msg->type != type)
            continue;
        *at = msg->next;
        return msg;
    }
    return NULL;
}

void *party_wait(struct party *p, uint32_t type)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += PATIENCE_S;
    for (;;) {
        void *msg = party_look(p, type);
        if (msg)
            return msg;
        cr_assert(sem_clockwait(&p->wake, CLOCK_MONOTONIC, &until) == 0,
            "no message of type %u came", type);
    }
}

/* --- the store ------------------------------------------------------------------------------ */

static void choose_schema(struct fixture *f)
{
    postgres_schema_take(f->schema, f->shape);
    snprintf(f->url, sizeof(f->url), "%s?application_name=%s", postgres_url(), f->schema);
    f->config->postgres_url = hl_str_from(f->url);
    f->config->postgres_schema = hl_str_from(f->schema);
    f->config->postgres_prepare = true;
    f->config->replica = HL_STR("test");
    f->config->replica_ttl_ms = 60 * 1000;
    f->config->retention_ms = DAYS_MS;
    f->config->key = HL_STR("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f");
}

static void make_directory(struct fixture *f)
{
    const char *parent = getenv("TMPDIR");
    if (!parent || strlen(parent) > sizeof(f->dir) / 2)
        parent = "/tmp";
    snprintf(f->dir, sizeof(f->dir), "%s/hookline-store-XXXXXX", parent);
    cr_assert(mkdtemp(f->dir));
}

void fixture_init(struct fixture *f, enum hl_store_kind kind)
{
    memset(f, 0, sizeof(*f));
    party_init(&f->worker);
    party_init(&f->sender);
    party_init(&f->asker);
    hl_id_source_init(&f->ids);
    f->kind = kind;
    f->config = calloc(1, sizeof(*f->config));
    cr_assert_not_null(f->config);
    *f->config = (struct hl_config){.store = kind,
        .retention_ms = FIXTURE_RETENTION_MS,
        .stream_retention_ms = INT64_C(3650) * 24 * 3600 * 1000,
        .stream_keep_max_bytes = {.bytes = 1 << 30},
        .run_attempts = 1,
        .retry_on = {.interrupted = true},
        .webhook_attempts = 3,
        .webhook_concurrency = 256,
        .webhook_per_host = 4,
        .max_queued_runs = 100000,
        .max_pending_deliveries = 100000,
        .store_max_bytes = {.percent = 80}};
    make_directory(f);
    f->config->data_dir = hl_str_from(f->dir);
    if (kind == HL_STORE_POSTGRES)
        choose_schema(f);
}

void fixture_move_to_memory(struct fixture *f)
{
    char dir[] = "/dev/shm/hookline-store-XXXXXX";
    if (!mkdtemp(dir))
        return;
    rmdir(f->dir);
    strcpy(f->dir, dir);
    f->config->data_dir = hl_str_from(f->dir);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static void free_question(struct hl_store_msg *m)
{
    hl_operation_clear(m);
    free(m);
}

void drop_message(struct hl_msg *msg)
{
    struct hl_store_msg *m = (struct hl_store_msg *)msg;
    if (msg->type == HL_STORE_CLAIMED)
        hl_claimed_free((struct hl_claimed *)msg);
    else if (msg->type == HL_STORE_LEASED)
        hl_leased_free((struct hl_leased *)msg);
    else if (msg->type == HL_STORE_ACCEPT || msg->type == HL_STORE_RECORD)
        hl_accept_free((struct hl_accept *)msg);
    else if (msg->type == HL_STORE_FINISH)
        hl_finish_free((struct hl_finish *)msg);
    else if (msg->type == HL_STORE_RELEASE)
        hl_release_free((struct hl_release *)msg);
    else if (hl_operation_of(m)->is_question)
        free_question(m);
    else
        free(msg);
}

static void party_fini(struct party *p)
{
    take(p);
    for (struct hl_msg *msg = p->first, *next; msg; msg = next) {
        next = msg->next;
        drop_message(msg);
    }
    sem_destroy(&p->wake);
}

void fixture_set_run_attempts(struct fixture *f, uint32_t n)
{
    f->config->run_attempts = n;
}

void fixture_set_retention(struct fixture *f, uint64_t ms)
{
    f->config->retention_ms = ms;
}

void fixture_fini(struct fixture *f)
{
    if (f->store)
        fixture_close(f);
    party_fini(&f->worker);
    party_fini(&f->sender);
    party_fini(&f->asker);
    nftw(f->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    if (f->config->store == HL_STORE_POSTGRES)
        postgres_schema_give_back(f->schema, f->shape);
    free(f->config);
}

enum hl_err fixture_try_open(struct fixture *f)
{
    return hl_store_open(&f->store, f->config, f->why, sizeof(f->why));
}

static void open_wholly(struct fixture *f)
{
    enum hl_err err = fixture_try_open(f);
    cr_assert(err == HL_OK, "open: %s: %s", hl_err_text(err), f->why);
    while (hl_store_standing(f->store) == HL_STORE_OPENING) /* on a machine that does much else */
        usleep(1000);
}

/* The first who opens one makes its tables: whatever the test's retention is, for one of some days. */
static void make_schema(struct fixture *f)
{
    uint64_t wanted = f->config->retention_ms;
    f->config->retention_ms = DAYS_MS;
    open_wholly(f);
    postgres_schema_measure(f->config->postgres_schema.p, f->shape);
    f->config->retention_ms = wanted;
    if (wanted != DAYS_MS)
        fixture_close(f);
}

void fixture_open(struct fixture *f)
{
    if (f->config->store == HL_STORE_POSTGRES && !f->shape[0])
        make_schema(f);
    if (!f->store)
        open_wholly(f);
}

void fixture_close(struct fixture *f)
{
    hl_store_close(f->store);
    f->store = NULL;
}

void fixture_reopen(struct fixture *f)
{
    fixture_close(f);
    fixture_open(f);
}

static void expect_ok(enum hl_err err, const char *why)
{
    cr_assert_eq(err, HL_OK, "%s", why);
}

static struct hl_pg_session open_session(struct fixture *f, struct hl_pg_settings *settings)
{
    char why[300] = "";
    struct hl_pg_session session;
    hl_pg_settings_init(settings, f->config);
    expect_ok(hl_pg_session_open(&session, settings, NULL, why, sizeof(why)), why);
    return session;
}

/* False: none is left. */
static bool bury_stream(struct fixture *f, struct hl_pg_session *session)
{
    char why[300] = "";
    struct hl_id nobody = {{0}};
    struct hl_pg_params params = {0};
    PGresult *result;
    hl_pg_add_id(&params, HL_PG_P_ME, &nobody);
    hl_pg_add_int(&params, HL_PG_P_DELIVERY_ATTEMPTS, f->config->webhook_attempts);
    const struct hl_statement *statement = &hl_pg_sql_statements[HL_PG_DO_NODE_BURY_STREAM];
    expect_ok(hl_pg_session_do(session, statement, &params, &result, why, sizeof(why)), why);
    struct hl_pg_row row = {.result = result};
    bool is_one = hl_pg_int(&row) > 0;
    PQclear(result);
    hl_pg_params_fini(&params);
    return is_one;
}

static void bury(struct fixture *f)
{
    static const char end[] = "UPDATE ~.node SET expires_at = now() - interval '1 s'";
    char why[300] = "";
    struct hl_id nobody = {{0}};
    struct hl_pg_settings settings;
    struct hl_pg_session session = open_session(f, &settings);
    struct hl_pg_params params = {0};
    PGresult *result;
    expect_ok(hl_pg_session_run(&session, end, why, sizeof(why)), why);
    hl_pg_add_id(&params, HL_PG_P_ME, &nobody);
    hl_pg_add_int(&params, HL_PG_P_RUN_ATTEMPTS, f->config->run_attempts);
    hl_pg_add_int(&params, HL_PG_P_DELIVERY_ATTEMPTS, f->config->webhook_attempts);
    hl_pg_add_int(&params, HL_PG_P_SILENT_TOO, true);
    const struct hl_statement *statement = &hl_pg_sql_statements[HL_PG_DO_NODE_BURY];
    expect_ok(hl_pg_session_do(&session, statement, &params, &result, why, sizeof(why)), why);
    PQclear(result);
    while (bury_stream(f, &session))
        continue;
    hl_pg_params_fini(&params);
    hl_pg_session_close(&session);
}

void fixture_die(struct fixture *f)
{
    fixture_close(f);
    if (f->config->store == HL_STORE_POSTGRES)
        bury(f);
}

void fixture_run(enum hl_store_kind kind, void (*test)(struct fixture *f))
{
    struct fixture f;
    fixture_init(&f, kind);
    fixture_open(&f);
    test(&f);
    fixture_fini(&f);
}

/* --- requests ------------------------------------------------------------------------------- */

struct hl_id new_id(struct fixture *f)
{
    return hl_id_next(&f->ids, hl_clock_wall_ms());
}

enum hl_err ask(struct fixture *f, struct party *p, struct hl_store_msg *m)
{
    uint32_t type = m->msg.type;
    m->reply_to = &p->box;
    enum hl_err err = hl_store_post(f->store, m);
    if (err)
        return err;
    struct hl_store_msg *reply = party_wait(p, type);
    cr_assert_eq(reply, m);
    return m->rc;
}

static struct hl_body make_body(enum hl_body_where where, const char *text)
{
    struct hl_body body = {.where = where, .size = strlen(text)};
    mbedtls_sha256_ret((const unsigned char *)text, body.size, body.digest, 0);
    return body;
}

struct hl_body make_inline_body(const char *text)
{
    struct hl_body body = make_body(HL_BODY_INLINE, text);
    body.bytes = strdup(text);
    return body;
}

struct hl_body make_file_body(struct fixture *f, const char *text)
{
    struct hl_body body = make_body(HL_BODY_FILE, text);
    const char *dir = hl_store_data_dir(f->store);
    int fd;
    body.file = new_id(f);
    cr_assert_eq(hl_body_file_create(dir, &body.file, &fd), HL_OK);
    cr_assert_eq(write(fd, text, body.size), (ssize_t)body.size);
    cr_assert_eq(hl_body_file_commit(dir, &body.file, fd), HL_OK);
    close(fd);
    return body;
}

/* Batches are in order: when this is answered, so is all that came before; the next batch's begin
 * comes after this one's pushes. */
void settle(struct fixture *f)
{
    struct hl_id nobody = {{1}};
    cancel_run(f, &nobody);
    cancel_run(f, &nobody);
}

struct hl_accept *make_accept(struct fixture *f, enum hl_store_op op, const struct run_spec *spec)
{
    struct hl_accept tmpl = {.run_id = hl_id_is_nil(&spec->id) ? new_id(f) : spec->id,
        .created_ms = hl_clock_wall_ms(),
        .project = hl_str_from(spec->project ? spec->project : "p"),
        .app = hl_str_from(spec->app ? spec->app : "a"),
        .method = HL_STR("POST"),
        .target = HL_STR("/run?x=1"),
        .head = hl_str_from(spec->head ? spec->head : "POST /run HTTP/1.1\r\nHost: a\r\n"),
        .webhook_url = hl_str_from(spec->url),
        .webhook_secret = hl_str_from(spec->secret),
        .traceparent = HL_STR("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
        .idempotency_key = hl_str_from(spec->key),
        .subject = hl_str_from(spec->subject),
        .identity = hl_str_from(spec->subject),
        .tags = hl_str_from(spec->tags),
        .terms = {.priority = spec->priority}};
    tmpl.fingerprint[0] = spec->fingerprint;
    if (spec->body)
        tmpl.body = make_inline_body(spec->body);
    struct hl_accept *a = hl_accept_new(op, &tmpl);
    cr_assert(a);
    return a;
}

static enum hl_err post_accept(
    struct fixture *f, enum hl_store_op op, const struct run_spec *spec, struct hl_id *id)
{
    struct hl_accept *a = make_accept(f, op, spec);
    enum hl_err rc = ask(f, &f->worker, &a->m);
    if (id)
        *id = a->run_id;
    hl_accept_free(a);
    return rc;
}

enum hl_err accept_run(struct fixture *f, struct run_spec spec, struct hl_id *id)
{
    return post_accept(f, HL_STORE_ACCEPT, &spec, id);
}

enum hl_err record_run(struct fixture *f, struct run_spec spec, struct hl_id *id)
{
    return post_accept(f, HL_STORE_RECORD, &spec, id);
}

static void post_credit(
    struct fixture *f, struct party *p, enum hl_store_op op, uint32_t n, bool returns)
{
    struct hl_credit *credit = calloc(1, sizeof(*credit));
    credit->m.msg.type = op;
    credit->m.reply_to = &p->box;
    credit->n = n;
    credit->returns = returns;
    cr_assert(hl_store_post(f->store, &credit->m) == HL_OK);
}

void give_credit(struct fixture *f, struct party *p, uint32_t n, bool returns)
{
    post_credit(f, p, HL_STORE_CREDIT, n, returns);
}

void give_lease_credit(struct fixture *f, uint32_t n)
{
    post_credit(f, &f->sender, HL_STORE_LEASE_CREDIT, n, false);
}

struct hl_finish *make_finish(const struct hl_id *id, uint32_t epoch, const char *body)
{
    struct hl_finish *finish = calloc(1, sizeof(*finish));
    finish->m.msg.type = HL_STORE_FINISH;
    finish->run_id = *id;
    finish->epoch = epoch;
    finish->outcome = (struct hl_outcome){.state = HL_RUN_SUCCESS,
        .http_status = 200,
        .finished_ms = hl_clock_wall_ms(),
        .content_type = "text/plain",
        .encoding = HL_ENCODING_TEXT,
        .escaped_size = body ? strlen(body) : 0};
    if (body)
        finish->outcome.body = make_inline_body(body);
    return finish;
}

enum hl_err finish_run(struct fixture *f, const struct hl_id *id, uint32_t epoch, const char *body)
{
    struct hl_finish *finish = make_finish(id, epoch, body);
    enum hl_err rc = ask(f, &f->worker, &finish->m);
    hl_finish_free(finish);
    return rc;
}

enum hl_err cancel_run(struct fixture *f, const struct hl_id *id)
{
    struct hl_run_ref ref = {.m.msg.type = HL_STORE_CANCEL, .run_id = *id};
    return ask(f, &f->asker, &ref.m);
}

enum hl_err get_run(struct fixture *f, const struct hl_id *id, struct hl_get_run *out)
{
    *out = (struct hl_get_run){.m.msg.type = HL_STORE_GET_RUN, .run_id = *id, .with_body = true};
    enum hl_err rc = ask(f, &f->asker, &out->m);
    free(out->run.strings);
    out->run.strings = NULL;
    return rc;
}

enum hl_run_state state_of(struct fixture *f, const struct hl_id *id)
{
    struct hl_get_run g;
    enum hl_err rc = get_run(f, id, &g);
    cr_assert(rc == HL_OK, "the run is not there: %s", hl_err_text(rc));
    hl_body_fini(&g.outcome.body);
    return g.run.state;
}

struct hl_leased *lease_one(struct fixture *f, const char *url)
{
    struct hl_id id;
    cr_assert(record_run(f, (struct run_spec){.url = url, .secret = "s3cret"}, &id) == HL_OK);
    cr_assert(finish_run(f, &id, 1, "answer") == HL_OK);
    give_lease_credit(f, 1);
    return party_wait(&f->sender, HL_STORE_LEASED);
}

enum hl_err say_outcome(
    struct fixture *f, const struct hl_leased *l, uint32_t n, enum hl_attempt_verdict verdict)
{
    struct hl_attempt_outcome o = {.m.msg.type = HL_STORE_OUTCOME,
        .delivery_id = l->delivery_id,
        .round = l->round,
        .n = n,
        .verdict = verdict,
        .http_status = verdict == HL_ATTEMPT_OK ? 200 : 503,
        .started_ms = hl_clock_wall_ms(),
        .ended_ms = hl_clock_wall_ms()};
    return ask(f, &f->sender, &o.m);
}

enum hl_err say_attempt(struct fixture *f, const struct hl_leased *l, uint32_t n)
{
    struct hl_attempt a = {
        .m.msg.type = HL_STORE_ATTEMPT, .delivery_id = l->delivery_id, .round = l->round, .n = n};
    enum hl_err rc = ask(f, &f->sender, &a.m);
    hl_leased_free(a.leased);
    return rc;
}

enum hl_err redeliver(
    struct fixture *f, const struct hl_id *delivery_id, const char *project, uint64_t *count)
{
    struct hl_redeliver r = {.m.msg.type = HL_STORE_REDELIVER, .state = HL_DELIVERY_DEAD};
    if (delivery_id)
        r.delivery_id = *delivery_id;
    snprintf(r.project, sizeof(r.project), "%s", project);
    enum hl_err rc = ask(f, &f->asker, &r.m);
    if (count)
        *count = r.count;
    return rc;
}

long long query(struct fixture *f, const char *sql)
{
    char path[128];
    sqlite3 *db;
    sqlite3_stmt *st;
    snprintf(path, sizeof(path), "%s/hookline.db", f->dir);
    cr_assert(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK);
    cr_assert(sqlite3_prepare_v2(db, sql, -1, &st, NULL) == SQLITE_OK, "%s", sqlite3_errmsg(db));
    cr_assert(sqlite3_step(st) == SQLITE_ROW, "%s", sqlite3_errmsg(db));
    long long answer = sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
    sqlite3_close(db);
    return answer;
}

static void change_postgres(struct fixture *f, const char *sql)
{
    char why[300] = "";
    struct hl_pg_settings settings;
    struct hl_pg_session session = open_session(f, &settings);
    expect_ok(hl_pg_session_run(&session, sql, why, sizeof(why)), why);
    hl_pg_session_close(&session);
}

static void change_sqlite(struct fixture *f, const char *sql)
{
    char path[128];
    sqlite3 *db;
    snprintf(path, sizeof(path), "%s/hookline.db", f->dir);
    cr_assert_eq(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_busy_timeout(db, 10000);
    cr_assert_eq(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK, "%s", sqlite3_errmsg(db));
    sqlite3_close(db);
}

void change(struct fixture *f, const char *sql)
{
    if (f->config->store == HL_STORE_POSTGRES)
        change_postgres(f, sql);
    else
        change_sqlite(f, sql);
}

static long long count_postgres(struct fixture *f, const char *from)
{
    char why[300] = "", sql[200];
    struct hl_pg_settings settings;
    struct hl_pg_session session = open_session(f, &settings);
    PGresult *result;
    snprintf(sql, sizeof(sql), "SELECT count(*) FROM ~.%s", from);
    expect_ok(hl_pg_session_ask(&session, sql, &result, why, sizeof(why)), why);
    long long n = atoll(PQgetvalue(result, 0, 0));
    PQclear(result);
    hl_pg_session_close(&session);
    return n;
}

long long fixture_count(struct fixture *f, const char *from)
{
    char sql[200];
    if (f->config->store == HL_STORE_POSTGRES)
        return count_postgres(f, from);
    snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s", from);
    return query(f, sql);
}
