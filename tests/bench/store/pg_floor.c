/* pg_floor.c - see pg_floor.h. */
#include "pg_floor.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/compiler.h"

#define SCHEMA "hookline_floor"
#define DROP   "SET client_min_messages = warning; DROP SCHEMA IF EXISTS " SCHEMA " CASCADE"

static const char *const statements[] = {
    "INSERT INTO " SCHEMA ".queue VALUES ($1::bigint, $2::bytea)",
    "DELETE FROM " SCHEMA ".queue WHERE id = $1::bigint",
};

static const char *const names[] = {"enqueue", "complete"};

static const char payload[PAYLOAD];

struct record {
    struct hl_msg msg; /* its type is the half of the run: 0 enqueue, 1 complete */
    struct load *load;
    uint64_t posted_ns, id;
};

/* --- the submitters' side ------------------------------------------------------------------- */

static void post(struct pg_floor *floor, struct record *record, uint32_t half)
{
    record->msg.type = half;
    record->posted_ns = uv_hrtime();
    hl_mailbox_post(&floor->box, &record->msg);
}

static void enqueue(struct queue *queue, struct load *load)
{
    struct pg_floor *floor = HL_CONTAINER_OF(queue, struct pg_floor, queue);
    struct record *record = calloc(1, sizeof(*record));
    if (!record)
        exit(1);
    record->load = load;
    record->id = ++floor->last;
    post(floor, record, 0);
}

static void on_message(struct queue *queue, struct load *load, struct hl_msg *msg)
{
    struct pg_floor *floor = HL_CONTAINER_OF(queue, struct pg_floor, queue);
    struct record *record = HL_CONTAINER_OF(msg, struct record, msg);
    load_acknowledged(load, record->posted_ns);
    if (msg->type == 0) {
        post(floor, record, 1);
        return;
    }
    free(record);
    load_run_ended(load);
}

/* --- the writer's thread -------------------------------------------------------------------- */

static void fail(const struct pg_floor *floor)
{
    fprintf(stderr, "bench_store: %s", PQerrorMessage(floor->conn));
    exit(1);
}

static void expect(const struct pg_floor *floor, PGresult *result, ExecStatusType status)
{
    if (PQresultStatus(result) != status)
        fail(floor);
    PQclear(result);
}

static void send_one(struct pg_floor *floor, const struct record *record)
{
    uint64_t id = htobe64(record->id);
    const char *values[] = {(const char *)&id, payload};
    int lengths[] = {sizeof(id), sizeof(payload)}, formats[] = {1, 1};
    int n = record->msg.type == 0 ? 2 : 1;
    if (!PQsendQueryPrepared(floor->conn, names[record->msg.type], n, values, lengths, formats, 1))
        fail(floor);
}

static void commit(struct pg_floor *floor, const struct hl_msg *first)
{
    for (const struct hl_msg *msg = first; msg; msg = msg->next)
        send_one(floor, HL_CONTAINER_OF(msg, struct record, msg));
    if (!PQpipelineSync(floor->conn))
        fail(floor);
    for (const struct hl_msg *msg = first; msg; msg = msg->next) {
        expect(floor, PQgetResult(floor->conn), PGRES_COMMAND_OK);
        PQgetResult(floor->conn); /* nothing: the end of this one's */
    }
    expect(floor, PQgetResult(floor->conn), PGRES_PIPELINE_SYNC);
}

static void run(void *arg)
{
    struct pg_floor *floor = arg;
    while (!atomic_load(&floor->is_stopping)) {
        struct hl_msg *msg = hl_mailbox_take(&floor->box), *next;
        if (!msg) {
            sem_wait(&floor->wake);
            continue;
        }
        commit(floor, msg);
        for (; msg; msg = next) {
            next = msg->next;
            hl_mailbox_post(&HL_CONTAINER_OF(msg, struct record, msg)->load->mailbox.box, msg);
        }
    }
}

static void wake(void *arg)
{
    sem_post(&((struct pg_floor *)arg)->wake);
}

/* --- open and close ------------------------------------------------------------------------- */

static void tell(const struct pg_floor *floor, const char *command)
{
    expect(floor, PQexec(floor->conn, command), PGRES_COMMAND_OK);
}

void pg_floor_open(struct pg_floor *floor, const char *url)
{
    *floor = (struct pg_floor){.queue = {.enqueue = enqueue, .on_message = on_message}};
    floor->conn = PQconnectdb(url);
    if (PQstatus(floor->conn) != CONNECTION_OK)
        fail(floor);
    tell(floor, DROP "; CREATE SCHEMA " SCHEMA);
    tell(floor, "CREATE TABLE " SCHEMA ".queue (id bigint PRIMARY KEY, bytes bytea NOT NULL)");
    for (int i = 0; i < 2; i++)
        expect(floor, PQprepare(floor->conn, names[i], statements[i], 0, NULL), PGRES_COMMAND_OK);
    if (!PQenterPipelineMode(floor->conn))
        fail(floor);
    sem_init(&floor->wake, 0, 0);
    hl_mailbox_init(&floor->box, wake, floor);
    if (hl_thread_start(&floor->thread, "floor", run, floor) != 0)
        fail(floor);
}

void pg_floor_close(struct pg_floor *floor)
{
    atomic_store(&floor->is_stopping, true);
    sem_post(&floor->wake);
    hl_thread_join(&floor->thread);
    sem_destroy(&floor->wake);
    PQexitPipelineMode(floor->conn);
    tell(floor, DROP);
    PQfinish(floor->conn);
}
