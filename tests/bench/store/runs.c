/* runs.c - what a worker says to the store, without an app behind it. The load's thread. */
#include "runs.h"

#include <libpq-fe.h>
#include <mbedtls/sha256.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "config/config.h"
#include "store/accept.h"
#include "store/claim.h"
#include "store/lane.h"
#include "store/lease.h"
#include "store/operation.h"
#include "store/store.h"

#define HEAD_SIZE 100 /* of an enqueue's payload; the rest is the body */

static const char payload[PAYLOAD]; /* what is in it does not matter */

static void fail(const char *what, enum hl_err err)
{
    fprintf(stderr, "bench_store: %s: %s\n", what, hl_err_text(err));
    exit(1);
}

/* --- a message's way ------------------------------------------------------------------------ */

/* The store hands `from` back untouched: here it is when the message was posted. */
static void post(struct runs_replica *replica, struct hl_store_msg *m)
{
    uint64_t now = uv_hrtime();
    m->reply_to = &replica->mail.box;
    m->from = (struct hl_slot_name){.index = (uint32_t)now, .generation = (uint32_t)(now >> 32)};
    enum hl_err err = hl_store_post(replica->store, m);
    if (err)
        fail("post", err);
}

static uint64_t posted_ns(const struct hl_store_msg *m)
{
    return (uint64_t)m->from.generation << 32 | m->from.index;
}

/* A spool hashes while a body comes in: that is no part of what is measured here. */
static const uint8_t *digest_of(size_t size)
{
    static uint8_t digests[PAYLOAD + 1][32];
    static bool has_digest[PAYLOAD + 1];
    if (!has_digest[size])
        mbedtls_sha256_ret((const unsigned char *)payload, size, digests[size], 0);
    has_digest[size] = true;
    return digests[size];
}

static struct hl_body new_body(size_t size)
{
    struct hl_body body = {.where = HL_BODY_INLINE, .size = size, .bytes = malloc(size)};
    if (!body.bytes)
        fail("body", HL_ERR_NOMEM);
    memcpy(body.bytes, payload, size);
    memcpy(body.digest, digest_of(size), sizeof(body.digest));
    return body;
}

static void give_credit_of(struct runs_replica *replica, uint32_t type, uint32_t n)
{
    struct hl_credit *credit = calloc(1, sizeof(*credit));
    if (!credit)
        fail("credit", HL_ERR_NOMEM);
    credit->m.msg.type = type;
    credit->n = n;
    post(replica, &credit->m);
}

static void give_credit(struct runs_replica *replica, uint32_t n)
{
    give_credit_of(replica, HL_STORE_CREDIT, n);
}

/* --- a run ---------------------------------------------------------------------------------- */

static void enqueue(struct queue *queue, struct load *load)
{
    (void)load;
    struct runs *runs = HL_CONTAINER_OF(queue, struct runs, queue);
    int64_t now_ms = hl_clock_wall_ms();
    char url[64] = "";
    if (runs->destinations > 0)
        snprintf(
            url, sizeof(url), "https://receiver-%u.example/hook", runs->next % runs->destinations);
    struct hl_accept tmpl = {
        .run_id = hl_id_next(&runs->ids, now_ms),
        .created_ms = now_ms,
        .project = HL_STR("project"),
        .app = HL_STR("app"),
        .method = HL_STR("POST"),
        .target = HL_STR("/run"),
        .head = {payload, HEAD_SIZE},
        .body = new_body(PAYLOAD - HEAD_SIZE),
        .webhook_url = hl_str_from(url),
    };
    struct hl_accept *accept = hl_accept_new(HL_STORE_ACCEPT, &tmpl);
    if (!accept)
        fail("accept", HL_ERR_NOMEM);
    post(&runs->replicas[runs->next++ % runs->n], &accept->m);
}

static void on_accepted(struct load *load, struct hl_accept *accept)
{
    load_acknowledged(load, posted_ns(&accept->m));
    if (accept->m.rc)
        fail("accept", accept->m.rc);
    hl_accept_free(accept);
}

/* The app answers at once. */
static void on_claimed(struct runs_replica *replica, struct hl_claimed *claimed)
{
    struct hl_finish *finish = calloc(1, sizeof(*finish));
    if (!finish)
        fail("finish", HL_ERR_NOMEM);
    finish->m.msg.type = HL_STORE_FINISH;
    finish->run_id = claimed->run_id;
    finish->epoch = claimed->epoch;
    finish->outcome = (struct hl_outcome){.state = HL_RUN_SUCCESS,
        .http_status = 200,
        .finished_ms = hl_clock_wall_ms() - replica->runs->age_ms,
        .content_type = "text/plain",
        .encoding = HL_ENCODING_TEXT,
        .escaped_size = PAYLOAD,
        .body = new_body(PAYLOAD)};
    hl_claimed_free(claimed);
    post(replica, &finish->m);
}

static void on_finished(struct runs_replica *replica, struct hl_finish *finish)
{
    struct runs *runs = replica->runs;
    load_acknowledged(replica->load, posted_ns(&finish->m));
    if (finish->m.rc)
        fail("finish", finish->m.rc);
    if (runs->ended)
        runs->ended[runs->n_ended++] = finish->run_id;
    hl_finish_free(finish);
    give_credit(replica, 1);
    if (runs->destinations == 0)
        load_run_ended(replica->load);
}

/* The receiver is in trouble: the next attempt is due much later. */
static void on_leased(struct runs_replica *replica, struct hl_leased *l)
{
    int64_t now_ms = hl_clock_wall_ms();
    struct hl_attempt_outcome *o = calloc(1, sizeof(*o));
    if (!o)
        fail("outcome", HL_ERR_NOMEM);
    *o = (struct hl_attempt_outcome){.m.msg.type = HL_STORE_OUTCOME,
        .delivery_id = l->delivery_id,
        .round = l->round,
        .n = l->n,
        .verdict = HL_ATTEMPT_RETRY,
        .http_status = 503,
        .started_ms = now_ms,
        .ended_ms = now_ms,
        .next_ms = now_ms + replica->runs->due_in_ms,
        .puts_off = true,
        .health = HL_LANE_PROVEN};
    hl_leased_free(l);
    post(replica, &o->m);
}

static void on_put_off(struct runs_replica *replica, struct hl_attempt_outcome *o)
{
    if (o->m.rc)
        fail("outcome", o->m.rc);
    free(o);
    give_credit_of(replica, HL_STORE_LEASE_CREDIT, 1);
    load_run_ended(replica->load);
}

static void on_message(void *self, struct hl_msg *msg)
{
    struct runs_replica *replica = self;
    if (msg->type == HL_STORE_ACCEPT)
        on_accepted(replica->load, (struct hl_accept *)msg);
    else if (msg->type == HL_STORE_CLAIMED)
        on_claimed(replica, (struct hl_claimed *)msg);
    else if (msg->type == HL_STORE_FINISH)
        on_finished(replica, (struct hl_finish *)msg);
    else if (msg->type == HL_STORE_LEASED)
        on_leased(replica, HL_CONTAINER_OF(msg, struct hl_leased, msg));
    else if (msg->type == HL_STORE_OUTCOME)
        on_put_off(replica, (struct hl_attempt_outcome *)msg);
    else
        free(msg); /* there is work: another replica's, or this one's credit covers it */
}

void runs_give_credit(struct runs *runs, struct load *load, uint32_t n)
{
    for (unsigned i = 0; i < runs->n; i++) {
        struct runs_replica *replica = &runs->replicas[i];
        replica->load = load;
        if (hl_uv_mailbox_init(&replica->mail, &load->loop, on_message, replica) != 0)
            fail("mailbox", HL_ERR_NOMEM);
        give_credit(replica, n);
    }
}

void runs_give_lease_credit(struct runs *runs, uint32_t n)
{
    for (unsigned i = 0; i < runs->n; i++)
        give_credit_of(&runs->replicas[i], HL_STORE_LEASE_CREDIT, n);
}

/* --- questions ------------------------------------------------------------------------------ */

struct asker {
    struct hl_mailbox box;
    sem_t wake;
};

static void wake(void *arg)
{
    sem_post(&((struct asker *)arg)->wake);
}

static enum hl_err ask(struct runs *runs, struct hl_store_msg *m)
{
    struct asker asker;
    sem_init(&asker.wake, 0, 0);
    hl_mailbox_init(&asker.box, wake, &asker);
    m->reply_to = &asker.box;
    enum hl_err err = hl_store_post(runs->replicas[0].store, m);
    if (err)
        fail("ask", err);
    sem_wait(&asker.wake);
    hl_mailbox_take(&asker.box);
    sem_destroy(&asker.wake);
    return m->rc;
}

enum hl_err runs_get(struct runs *runs, const struct hl_id *id)
{
    struct hl_get_run get = {.m.msg.type = HL_STORE_GET_RUN, .run_id = *id, .with_body = true};
    enum hl_err err = ask(runs, &get.m);
    hl_get_run_fini(&get);
    return err;
}

void runs_list(struct runs *runs, const struct hl_id *before)
{
    struct hl_list_runs list = {.m.msg.type = HL_STORE_LIST_RUNS,
        .project = "project",
        .app = "app",
        .state = -1,
        .is_async = -1,
        .limit = HL_LIST_MAX,
        .before = *before};
    enum hl_err err = ask(runs, &list.m);
    if (err)
        fail("list", err);
    hl_operation_clear(&list.m);
}

/* --- open and close ------------------------------------------------------------------------- */

#define SCHEMA "hookline_bench"

static const char *postgres_url; /* NULL: SQLite */
static enum hl_keep_requests keep_requests;
static unsigned replicas = 1;
static bool is_in_memory;

void runs_keep_requests(enum hl_keep_requests keep)
{
    keep_requests = keep;
}

void runs_use_memory(void)
{
    is_in_memory = true;
}

const char *runs_postgres_url(void)
{
    return postgres_url;
}

void runs_forget(void)
{
    if (!postgres_url)
        return;
    PGconn *conn = PQconnectdb(postgres_url);
    PQclear(PQexec(conn, "SET client_min_messages = warning;"
                         " DROP SCHEMA IF EXISTS " SCHEMA " CASCADE"));
    PQfinish(conn);
}

void runs_use_postgres(const char *url, unsigned n)
{
    postgres_url = url;
    replicas = n;
    runs_forget();
    atexit(runs_forget);
}

/* A key as `hookline key create` makes them; nothing that is sealed with it stays. */
static void set_postgres(struct hl_config *config)
{
    config->store = HL_STORE_POSTGRES;
    config->postgres_url = hl_str_from(postgres_url);
    config->postgres_schema = HL_STR(SCHEMA);
    config->postgres_prepare = true;
    config->replica = HL_STR("bench");
    config->replica_ttl_ms = 60000;
    config->retention_ms = UINT64_C(7) * 24 * 3600 * 1000; /* as by default: few partitions */
    config->key = HL_STR("00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff");
}

/* Each has a directory of its own. */
static void open_replica(
    struct runs_replica *replica, const char *dir, unsigned i, uint64_t retention_ms)
{
    char why[512], data_dir[4096];
    snprintf(data_dir, sizeof(data_dir), "%s/data-%u", dir, i);
    struct hl_config config = {.store = HL_STORE_SQLITE,
        .data_dir = hl_str_from(data_dir),
        .retention_ms = retention_ms,
        .run_attempts = 1,
        .keep_requests = keep_requests,
        .webhook_attempts = 3,
        .webhook_per_host = 16,
        .max_queued_runs = 100000,
        .max_pending_deliveries = 100000000,
        .store_max_bytes = {.percent = 80}};
    if (postgres_url)
        set_postgres(&config);
    if (is_in_memory) {
        config.store = HL_STORE_MEMORY;
        config.store_max_bytes = (struct hl_store_limit){.bytes = 1 << 30};
    }
    if (hl_store_open(&replica->store, &config, why, sizeof(why)) == HL_OK)
        return;
    fprintf(stderr, "bench_store: %s\n", why);
    exit(1);
}

void runs_open(struct runs *runs, const char *dir, uint64_t retention_ms, double *ms)
{
    *runs = (struct runs){.queue = {.enqueue = enqueue}, .n = replicas};
    hl_id_source_init(&runs->ids);
    uint64_t began_ns = uv_hrtime();
    for (unsigned i = 0; i < runs->n; i++) {
        runs->replicas[i].runs = runs;
        open_replica(&runs->replicas[i], dir, i, retention_ms);
    }
    if (ms)
        *ms = (double)(uv_hrtime() - began_ns) / 1e6;
}

void runs_close(struct runs *runs)
{
    for (unsigned i = 0; i < runs->n; i++) {
        hl_store_close(runs->replicas[i].store);
        if (runs->replicas[i].load)
            hl_uv_mailbox_close(&runs->replicas[i].mail);
    }
}
