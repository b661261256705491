/* bodies.c - see bodies.h. Chunks go over the reader's connection, so that what is accepted and finished
 * meanwhile does not stand behind megabytes; an operation that names a body follows when its last chunk
 * is committed. */
#include "store/postgres/bodies.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/id_map.h"
#include "base/list.h"
#include "store/body_file.h"
#include "store/data_dir.h"
#include "store/path.h"
#include "store/postgres/link.h"
#include "store/postgres/param.h"
#include "store/postgres/row.h"
#include "store/postgres/thread.h"

#define AGAIN_MS 250

struct transfer {
    struct hl_list node;
    struct hl_pg_flight flight;
    struct hl_pg_store *store;
    struct hl_body *body; /* of the message, until on_done */
    struct hl_id file;    /* as the database knows it */
    struct hl_id name;    /* as the file is called: two may get the same body at once */
    struct hl_id owner;
    uint64_t size, offset;
    int64_t seq;
    int fd;
    bool is_put, is_cancelled;
    bool is_sent;    /* a chunk is under way */
    bool is_refused; /* a chunk was, for something that may last: it is tried again */
    uint64_t posted_ms, wait_ms, again_ms;
    void (*on_done)(void *self, enum hl_err rc); /* NULL: nobody waits for it any more */
    void *self;
};

struct scratch {
    struct hl_id owner, file;
    struct hl_list node; /* in s->bodies.views, if it goes by itself */
    uint64_t due_ms;     /* CLOCK_MONOTONIC: then */
};

/* --- files ---------------------------------------------------------------------------------- */

static void wipe_dir(const char *path, int depth)
{
    char below[HL_PATH_MAX];
    DIR *dir = opendir(path);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        if (entry->d_name[0] == '.' || hl_path(below, "%s/%s", path, entry->d_name) != HL_OK)
            continue;
        if (depth > 0)
            wipe_dir(below, depth - 1);
        unlink(below);
    }
    if (dir)
        closedir(dir);
}

/* A start would make the one in the other. */
enum hl_err hl_pg_bodies_look(const char *data_dir, char *why, size_t why_len)
{
    struct hl_data_dir dir;
    struct stat st;
    char path[HL_PATH_MAX];
    bool is_there = stat(data_dir, &st) == 0;
    enum hl_err err = hl_path(path, is_there ? "%s/scratch" : "%s", data_dir);
    if (err)
        snprintf(why, why_len, "HOOKLINE_DATA_DIR: the path is too long");
    else
        err = hl_data_dir_look(&dir, path, why, why_len);
    if (!err)
        hl_data_dir_close(&dir);
    return err;
}

static enum hl_err open_scratch(
    struct hl_pg_store *s, const char *data_dir, char *why, size_t why_len)
{
    char path[HL_PATH_MAX];
    enum hl_err err = hl_pg_bodies_look(data_dir, why, why_len);
    if (!err && mkdir(data_dir, 0700) < 0 && errno != EEXIST) {
        err = hl_err_from_errno(errno);
        snprintf(why, why_len, "HOOKLINE_DATA_DIR: cannot make the data directory %s: %s", data_dir,
            strerror(errno));
    }
    if (!err)
        err = hl_path(path, "%s/scratch", data_dir);
    if (!err)
        err = hl_data_dir_open(&s->scratch, path, why, why_len);
    if (err)
        return err;
    if (hl_path(path, "%s/tmp", s->scratch.path) == HL_OK)
        wipe_dir(path, 0);
    if (hl_path(path, "%s/bodies", s->scratch.path) == HL_OK)
        wipe_dir(path, 1);
    return HL_OK;
}

void hl_pg_bodies_init(struct hl_pg_store *s)
{
    hl_list_init(&s->bodies.transfers);
    hl_list_init(&s->bodies.views);
    hl_id_map_init(&s->bodies.files);
}

/* A guest reads no bodies, and leaves no directory where it is called. */
enum hl_err hl_pg_bodies_open(
    struct hl_pg_store *s, const char *data_dir, char *why, size_t why_len)
{
    return s->is_guest ? HL_OK : open_scratch(s, data_dir, why, why_len);
}

void hl_pg_bodies_close(struct hl_pg_store *s)
{
    if (!s->scratch.path)
        return;
    hl_pg_bodies_drop_all(s);
    hl_id_map_fini(&s->bodies.files);
    hl_data_dir_close(&s->scratch);
}

bool hl_pg_bodies_find(const struct hl_pg_store *s, const struct hl_id *owner, struct hl_body *body)
{
    const struct scratch *f = hl_id_map_find(&s->bodies.files, owner);
    if (f)
        body->file = f->file;
    return f != NULL;
}

static void forget(struct hl_pg_store *s, struct scratch *f)
{
    hl_body_file_remove(s->scratch.path, &f->file);
    hl_list_remove(&f->node);
    free(f);
}

void hl_pg_bodies_drop(struct hl_pg_store *s, const struct hl_id *owner)
{
    struct scratch *f = hl_id_map_remove(&s->bodies.files, owner);
    if (f)
        forget(s, f);
}

void hl_pg_bodies_drop_later(struct hl_pg_store *s, const struct hl_id *owner)
{
    struct scratch *f = hl_id_map_find(&s->bodies.files, owner);
    if (!f)
        return;
    f->due_ms = hl_clock_mono_ms() + HL_PG_VIEW_MS;
    hl_list_remove(&f->node);
    hl_list_push_back(&s->bodies.views, &f->node);
}

void hl_pg_bodies_drop_all(struct hl_pg_store *s)
{
    for (size_t i = 0; i < s->bodies.files.cap; i++) {
        struct scratch *f = s->bodies.files.entries[i].value;
        if (f)
            forget(s, f);
    }
    hl_id_map_fini(&s->bodies.files);
    hl_id_map_init(&s->bodies.files);
}

void hl_pg_bodies_remove(struct hl_pg_store *s, const struct hl_body *body)
{
    if (body->where == HL_BODY_FILE)
        hl_body_file_remove(s->scratch.path, &body->file);
}

/* --- transfers ------------------------------------------------------------------------------ */

static void end(struct transfer *t, enum hl_err rc)
{
    struct hl_pg_store *s = t->store;
    if (t->fd >= 0)
        close(t->fd);
    if (rc && !t->is_put)
        hl_body_file_remove(s->scratch.path, &t->name);
    hl_list_remove(&t->node);
    s->bodies.n_transfers--;
    s->bodies.n_puts -= t->is_put;
    s->refusals.n_own -= t->is_refused;
    if (t->on_done)
        t->on_done(t->self, rc);
    free(t);
}

static enum hl_err keep_file(struct transfer *t)
{
    struct hl_pg_store *s = t->store;
    struct scratch *f = calloc(1, sizeof(*f));
    enum hl_err err = f ? hl_id_map_reserve(&s->bodies.files, 1) : HL_ERR_NOMEM;
    if (!err)
        err = hl_body_file_publish(s->scratch.path, &t->name);
    if (err) {
        free(f);
        return err;
    }
    hl_list_init(&f->node);
    f->owner = t->owner;
    f->file = t->body->file = t->name;
    hl_pg_bodies_drop(s, &f->owner);
    hl_id_map_put(&s->bodies.files, &f->owner, f);
    return HL_OK;
}

/* A chunk came. */
static enum hl_err take_chunk(struct transfer *t, const PGresult *result)
{
    struct hl_pg_row row = {.result = result};
    if (PQntuples(result) != 1)
        return HL_ERR_CORRUPT;
    struct hl_str bytes = hl_pg_str(&row);
    if (bytes.n == 0 || bytes.n > t->size - t->offset)
        return HL_ERR_CORRUPT;
    enum hl_err err = hl_body_file_write(t->fd, bytes);
    t->offset += bytes.n;
    return err;
}

/* What has ended is tried again, whatever the server says. */
static enum hl_err refuse(struct transfer *t)
{
    const struct hl_pg_flight *flight = &t->flight;
    bool passes = hl_pg_sqlstate_passes(flight->sqlstate) || flight->lacks_partition;
    bool waits = t->is_put && t->wait_ms == 0;
    t->store->upkeep.lacks_partition |= flight->lacks_partition;
    if (!passes && waits && !t->is_refused) {
        t->is_refused = true;
        t->store->refusals.n_own++;
    }
    return passes || waits ? HL_OK : HL_ERR_IO;
}

static void on_chunk(struct hl_pg_flight *flight, enum hl_pg_fate fate)
{
    struct transfer *t = HL_CONTAINER_OF(flight, struct transfer, flight);
    enum hl_err err = HL_OK;
    t->is_sent = false;
    if (fate == HL_PG_REJECTED) {
        hl_pg_complain(t->store, "store: PostgreSQL refused a part of a body", flight);
        err = refuse(t);
        t->again_ms = hl_clock_mono_ms() + AGAIN_MS;
    } else if (fate == HL_PG_COMMITTED) {
        t->store->bodies.chunk_ms = hl_clock_mono_ms();
    }
    if (fate == HL_PG_COMMITTED && t->is_put) {
        t->offset += HL_PG_CHUNK < t->size - t->offset ? HL_PG_CHUNK : t->size - t->offset;
        t->seq++;
    } else if (fate == HL_PG_COMMITTED) {
        err = take_chunk(t, flight->results[0]);
        t->seq++;
    }
    if (!err && t->is_cancelled)
        err = HL_ERR_CANCELLED;
    if (!err && t->offset == t->size)
        err = t->is_put ? HL_OK : keep_file(t);
    if (err || t->offset == t->size)
        end(t, err);
}

/* The bytes of the next chunk are in the page cache: they were written a moment ago. */
static enum hl_err bind_chunk(struct transfer *t)
{
    struct hl_pg_params *p = &t->store->params;
    hl_pg_params_clear(p);
    hl_pg_add_id(p, HL_PG_P_BODY_ID, &t->file);
    hl_pg_add_int(p, HL_PG_P_SEQ, t->seq);
    if (!t->is_put)
        return HL_OK;
    size_t n = HL_PG_CHUNK < t->size - t->offset ? HL_PG_CHUNK : (size_t)(t->size - t->offset);
    char *room = hl_pg_add_room(p, HL_PG_P_BYTES, n);
    if (!room)
        return HL_ERR_NOMEM;
    return pread(t->fd, room, n, (off_t)t->offset) == (ssize_t)n ? HL_OK : HL_ERR_IO;
}

static enum hl_err open_file(struct transfer *t)
{
    const char *dir = t->store->scratch.path;
    if (t->fd >= 0)
        return HL_OK;
    return t->is_put ? hl_body_file_open(dir, &t->name, &t->fd)
                     : hl_body_file_create(dir, &t->name, &t->fd);
}

/* False: the connection is not there. */
static bool send_chunk(struct transfer *t)
{
    struct hl_pg_store *s = t->store;
    enum hl_err err = open_file(t);
    if (!err)
        err = bind_chunk(t);
    if (err) {
        end(t, err);
        return true;
    }
    hl_pg_flight_init(&t->flight, on_chunk);
    hl_pg_link_add(
        &s->reader, &t->flight, t->is_put ? HL_PG_DO_BODY_PUT : HL_PG_DO_BODY_GET, &s->params);
    t->is_sent = hl_pg_link_end(&s->reader, &t->flight);
    return t->is_sent;
}

/* The first few have a chunk each under way; the others wait for their turn. */
static void send_chunks(struct hl_pg_store *s, uint64_t now_ms)
{
    int n = 0;
    HL_LIST_EACH_SAFE (node, &s->bodies.transfers) {
        struct transfer *t = HL_CONTAINER_OF(node, struct transfer, node);
        if (n++ == HL_PG_TRANSFERS)
            break;
        if (!t->is_sent && now_ms >= t->again_ms && !send_chunk(t))
            break;
    }
}

static struct transfer *begin(struct hl_pg_store *s, const struct hl_body *body, bool is_put,
    void (*on_done)(void *self, enum hl_err rc), void *self)
{
    struct transfer *t = calloc(1, sizeof(*t));
    if (!t)
        return NULL;
    t->store = s;
    t->file = body->file;
    t->name = is_put ? body->file : hl_id_next(&s->ids, hl_clock_wall_ms());
    t->size = body->size;
    t->fd = -1;
    t->is_put = is_put;
    t->posted_ms = hl_clock_mono_ms();
    t->on_done = on_done;
    t->self = self;
    s->bodies.n_transfers++;
    s->bodies.n_puts += is_put;
    hl_list_push_back(&s->bodies.transfers, &t->node);
    return t;
}

void hl_pg_bodies_put(struct hl_pg_store *s, const struct hl_body *body, uint64_t wait_ms,
    void (*on_done)(void *self, enum hl_err rc), void *self)
{
    struct transfer *t = begin(s, body, true, on_done, self);
    if (!t) {
        on_done(self, HL_ERR_NOMEM);
        return;
    }
    t->wait_ms = wait_ms;
}

void hl_pg_bodies_get(struct hl_pg_store *s, struct hl_body *body, const struct hl_id *owner,
    void (*on_done)(void *self, enum hl_err rc), void *self)
{
    struct transfer *t = begin(s, body, false, on_done, self);
    if (!t) {
        on_done(self, HL_ERR_NOMEM);
        return;
    }
    t->owner = *owner;
    t->body = body;
}

/* --- turns ---------------------------------------------------------------------------------- */

static uint64_t drop_due(struct hl_pg_store *s, uint64_t now_ms)
{
    HL_LIST_EACH_SAFE (node, &s->bodies.views) {
        struct scratch *f = HL_CONTAINER_OF(node, struct scratch, node);
        if (f->due_ms > now_ms)
            return f->due_ms;
        struct hl_id owner = f->owner;
        hl_pg_bodies_drop(s, &owner);
    }
    return UINT64_MAX;
}

/* While chunks come through, others' even, it is not waiting for the server. */
static uint64_t give_up_ms(const struct transfer *t)
{
    const struct hl_pg_store *s = t->store;
    bool has_moved = hl_pg_link_is_up(&s->reader) && s->bodies.chunk_ms > t->posted_ms;
    return (has_moved ? s->bodies.chunk_ms : t->posted_ms) + t->wait_ms;
}

/* Its chunk may be under way: what becomes of that is nobody's business then. */
static void give_up(struct transfer *t)
{
    if (!t->is_sent) {
        end(t, HL_ERR_UNAVAILABLE);
        return;
    }
    t->is_cancelled = true;
    t->on_done(t->self, HL_ERR_UNAVAILABLE);
    t->on_done = NULL;
}

uint64_t hl_pg_bodies_turn(struct hl_pg_store *s, uint64_t now_ms)
{
    uint64_t next_ms = drop_due(s, now_ms);
    bool is_up = hl_pg_link_is_up(&s->reader);
    HL_LIST_EACH_SAFE (node, &s->bodies.transfers) {
        struct transfer *t = HL_CONTAINER_OF(node, struct transfer, node);
        uint64_t due_ms = give_up_ms(t);
        if (t->wait_ms == 0 || !t->on_done)
            continue;
        if (due_ms <= now_ms)
            give_up(t);
        else
            next_ms = due_ms < next_ms ? due_ms : next_ms;
    }
    if (is_up && s->bodies.n_transfers > 0)
        send_chunks(s, now_ms);
    return is_up && s->bodies.n_transfers > 0 && next_ms > now_ms + AGAIN_MS ? now_ms + AGAIN_MS
                                                                             : next_ms;
}

void hl_pg_bodies_cancel(struct hl_pg_store *s, bool with_puts)
{
    HL_LIST_EACH_SAFE (node, &s->bodies.transfers) {
        struct transfer *t = HL_CONTAINER_OF(node, struct transfer, node);
        if (t->is_put && !with_puts)
            continue;
        t->is_cancelled = true;
        if (!t->is_sent)
            end(t, t->is_put ? HL_ERR_UNAVAILABLE : HL_ERR_CANCELLED);
    }
}
