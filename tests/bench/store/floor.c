/* floor.c - group commit of fixed-size records. The log's blocks are written before the start and
 * used in a circle, so that a sync writes data and nothing of the file system's own. */
#include "floor.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"

#define LOG_SIZE  (64u << 20)
#define BATCH_MAX 4096 /* records */

struct record {
    struct hl_msg msg; /* its type is the half of the run: 0 enqueue, 1 complete */
    struct load *load;
    uint64_t posted_ns;
    struct {
        uint64_t id;
        uint32_t half, size;
        char payload[PAYLOAD];
    } on_disk;
};

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

/* --- the submitters' side ------------------------------------------------------------------- */

static void post(struct floor *floor, struct record *record, uint32_t half)
{
    record->msg.type = record->on_disk.half = half;
    record->posted_ns = uv_hrtime();
    hl_mailbox_post(&floor->box, &record->msg);
}

static struct record *new_record(void)
{
    struct record *record = calloc(1, sizeof(*record));
    if (!record)
        fail("floor");
    record->on_disk.size = PAYLOAD;
    return record;
}

static void enqueue(struct queue *queue, struct load *load)
{
    struct floor *floor = HL_CONTAINER_OF(queue, struct floor, queue);
    struct hl_msg *spare = floor->spare;
    struct record *record = spare ? HL_CONTAINER_OF(spare, struct record, msg) : new_record();
    if (spare)
        floor->spare = spare->next;
    record->load = load;
    record->on_disk.id++;
    post(floor, record, 0);
}

static void on_message(struct queue *queue, struct load *load, struct hl_msg *msg)
{
    struct floor *floor = HL_CONTAINER_OF(queue, struct floor, queue);
    struct record *record = HL_CONTAINER_OF(msg, struct record, msg);
    load_acknowledged(load, record->posted_ns);
    if (msg->type == 0) {
        post(floor, record, 1);
        return;
    }
    msg->next = floor->spare;
    floor->spare = msg;
    load_run_ended(load);
}

/* --- the writer's thread -------------------------------------------------------------------- */

static void commit(struct floor *floor, size_t n)
{
    size_t size = n * sizeof(((struct record *)0)->on_disk);
    if (floor->at + size > LOG_SIZE)
        floor->at = 0;
    if (pwrite(floor->fd, floor->batch, size, (off_t)floor->at) != (ssize_t)size ||
        fdatasync(floor->fd) < 0)
        fail("floor");
    floor->at += size;
}

/* A whole batch goes back at once, which wakes its reader once: `newest` to `oldest` are linked the
 * way the mailbox has them. */
static void acknowledge(struct hl_mailbox *box, struct hl_msg *newest, struct hl_msg *oldest)
{
    struct hl_msg *before = atomic_load_explicit(&box->newest, memory_order_relaxed);
    do
        oldest->next = before;
    while (!atomic_compare_exchange_weak_explicit(
        &box->newest, &before, newest, memory_order_release, memory_order_relaxed));
    if (!before)
        box->wake(box->arg);
}

/* Appends as many records as one batch takes, acknowledges them and returns what is left. */
static struct hl_msg *write_batch(struct floor *floor, struct hl_msg *first)
{
    struct hl_msg *newest = NULL, *msg = first;
    size_t n = 0;
    for (struct hl_msg *next; msg && n < BATCH_MAX; msg = next) {
        struct record *record = HL_CONTAINER_OF(msg, struct record, msg);
        memcpy(floor->batch + n++ * sizeof(record->on_disk), &record->on_disk,
            sizeof(record->on_disk));
        next = msg->next;
        msg->next = newest;
        newest = msg;
    }
    commit(floor, n);
    acknowledge(&HL_CONTAINER_OF(first, struct record, msg)->load->mailbox.box, newest, first);
    return msg;
}

static void run(void *arg)
{
    struct floor *floor = arg;
    while (!atomic_load(&floor->is_stopping)) {
        struct hl_msg *msg = hl_mailbox_take(&floor->box);
        if (!msg)
            sem_wait(&floor->wake);
        while (msg)
            msg = write_batch(floor, msg);
    }
}

static void wake(void *arg)
{
    sem_post(&((struct floor *)arg)->wake);
}

/* --- open and close ------------------------------------------------------------------------- */

static void preallocate(int fd)
{
    static char zeros[1 << 20];
    for (size_t at = 0; at < LOG_SIZE; at += sizeof(zeros))
        if (pwrite(fd, zeros, sizeof(zeros), (off_t)at) != (ssize_t)sizeof(zeros))
            fail("floor");
    if (fsync(fd) < 0)
        fail("floor");
}

void floor_open(struct floor *floor, const char *dir)
{
    char path[4096];
    *floor = (struct floor){.queue = {.enqueue = enqueue, .on_message = on_message}};
    snprintf(path, sizeof(path), "%s/floor.log", dir);
    floor->fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    floor->batch = malloc(BATCH_MAX * sizeof(((struct record *)0)->on_disk));
    if (floor->fd < 0 || !floor->batch)
        fail(path);
    preallocate(floor->fd);
    sem_init(&floor->wake, 0, 0);
    hl_mailbox_init(&floor->box, wake, floor);
    if (hl_thread_start(&floor->thread, "floor", run, floor) != 0)
        fail("floor");
}

void floor_close(struct floor *floor)
{
    atomic_store(&floor->is_stopping, true);
    sem_post(&floor->wake);
    hl_thread_join(&floor->thread);
    sem_destroy(&floor->wake);
    for (struct hl_msg *msg = floor->spare, *next; msg; msg = next) {
        next = msg->next;
        free(HL_CONTAINER_OF(msg, struct record, msg));
    }
    free(floor->batch);
    close(floor->fd);
}
