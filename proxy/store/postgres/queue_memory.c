/* queue_memory.c - see thread.h.
 *
 * Promise: beyond 16 MiB the bodies of results are files, which go to the database as long ones do
 * (bodies.c); beyond HOOKLINE_STORE_MAX_BYTES of files, or when the volume takes nothing, the result is
 * kept without its body. What is left of each in memory is a few hundred bytes. */
#include "store/postgres/thread.h"

#include <features.h>
#include <malloc.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "config/choice.h"
#include "loop/mailbox.h"
#include "store/body_file.h"
#include "store/claim.h"
#include "store/data_dir.h"
#include "store/intake.h"
#include "store/operation.h"
#include "store/postgres/bodies.h"
#include "store/postgres/op.h"

#define MEMORY_MAX (16u << 20)
/* A shorter body takes less room than what goes along with it: a file would not make that smaller. */
#define FILE_MIN 1024
#define TRIM_AT  (4u << 20)

static struct hl_finish *finish_of(const struct hl_pg_op *op)
{
    return op->m->msg.type == HL_STORE_FINISH ? (struct hl_finish *)op->m : NULL;
}

static uint64_t files_max(const struct hl_pg_store *s)
{
    return hl_store_limit_bytes(&s->store_max, s->scratch.volume_size);
}

static bool is_file_due(const struct hl_pg_store *s, const struct hl_pg_op *op)
{
    const struct hl_body *body = &finish_of(op)->outcome.body;
    return body->where == HL_BODY_INLINE && body->size >= FILE_MIN &&
           s->queue_memory.memory + op->weight > MEMORY_MAX;
}

/* The file is scratch: it need not be durable. */
static enum hl_err write_file(
    struct hl_pg_store *s, const struct hl_body *body, const struct hl_id *id)
{
    int fd;
    enum hl_err err = hl_body_file_create(s->scratch.path, id, &fd);
    if (err)
        return err;
    err = hl_body_file_write(fd, (struct hl_str){body->bytes, body->size});
    close(fd);
    if (!err)
        err = hl_body_file_publish(s->scratch.path, id);
    if (err)
        hl_body_file_remove(s->scratch.path, id);
    return err;
}

/* From memory to a file. */
static enum hl_err spill(struct hl_pg_store *s, struct hl_body *body)
{
    struct hl_body file = *body;
    file.where = HL_BODY_FILE;
    file.bytes = NULL;
    file.file = hl_id_next(&s->ids, hl_clock_wall_ms());
    enum hl_err err = write_file(s, body, &file.file);
    if (err)
        return err;
    hl_body_fini(body);
    *body = file;
    return HL_OK;
}

static void drop(struct hl_pg_store *s, struct hl_finish *f)
{
    struct hl_body *body = &f->outcome.body;
    uint64_t size = body->size;
    hl_pg_bodies_remove(s, body);
    hl_body_fini(body);
    *body = (struct hl_body){.where = HL_BODY_UNKEPT, .size = size};
    f->outcome.encoding = HL_ENCODING_NONE;
}

/* What is freed here lies in the arena of the thread that received it, between what still waits: glibc
 * would keep the pages. */
static void give_back(struct hl_pg_store *s, uint64_t bytes)
{
    s->queue_memory.freed += bytes;
    if (s->queue_memory.freed < TRIM_AT)
        return;
    s->queue_memory.freed = 0;
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

/* Sees to it that its body is where there is room for it. */
static void place_body(struct hl_pg_store *s, struct hl_pg_op *op)
{
    struct hl_finish *f = finish_of(op);
    bool is_due = is_file_due(s, op);
    if (!is_due && f->outcome.body.where != HL_BODY_FILE)
        return;
    enum hl_err err =
        s->queue_memory.files + f->outcome.body.size > files_max(s) ? HL_ERR_FULL : HL_OK;
    if (!err && is_due)
        err = spill(s, &f->outcome.body);
    if (err) {
        HL_LOG(WARN, "store: PostgreSQL accepts no writes; a response is not kept",
            HL_LOG_ID("run_id", &f->run_id), HL_LOG_TEXT("error", hl_err_text(err)),
            HL_LOG_INT("bytes", f->outcome.body.size));
        drop(s, f);
    } else {
        op->own_file = f->outcome.body.size;
    }
    if (is_due)
        give_back(s, f->outcome.body.size);
}

void hl_pg_queue_memory_enter(struct hl_pg_store *s, struct hl_pg_op *op)
{
    if (finish_of(op))
        place_body(s, op);
    size_t weight = hl_operation_weigh(op->m);
    hl_intake_shrink(&s->intake, op->weight - weight);
    op->own_memory = op->weight = weight;
    s->queue_memory.memory += op->own_memory;
    s->queue_memory.files += op->own_file;
}

void hl_pg_queue_memory_leave(struct hl_pg_store *s, struct hl_pg_op *op)
{
    s->queue_memory.memory -= op->own_memory;
    s->queue_memory.files -= op->own_file;
}

void hl_pg_queue_memory_strip(struct hl_pg_store *s, struct hl_pg_op *op)
{
    struct hl_finish *f = finish_of(op);
    HL_LOG(WARN, "store: a response cannot be written, and is not kept",
        HL_LOG_ID("run_id", &f->run_id), HL_LOG_INT("bytes", f->outcome.body.size));
    drop(s, f);
    f->outcome.state = HL_RUN_FAILURE;
    f->outcome.reason = HL_REASON_RESPONSE_NOT_KEPT;
    f->outcome.content_type[0] = f->outcome.content_encoding[0] = f->outcome.error[0] = '\0';
    hl_buf_fini(&f->log);
    hl_buf_fini(&f->answer_head);
}
