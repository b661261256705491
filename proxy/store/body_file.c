/* body_file.c - bodies as files. Blocking; any thread that may block. Nothing is shared: two calls
 * meet only in the file system, and no two bodies have the same id.
 *
 * The order of hl_body_file_commit is what makes a record safe to name the file: the bytes are on
 * disk before the name, the name before the record. A crash in between leaves a file that no record
 * names; the sweep at the next start removes it (sqlite/left_file.c). */
#include "store/body_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crash_point.h"
#include "base/str.h"
#include "store/path.h"

static enum hl_err tmp_path(char *out, const char *data_dir, const struct hl_id *id)
{
    char name[HL_ID_TEXT];
    hl_id_format(id, name);
    return hl_path(out, "%s/tmp/%.*s", data_dir, HL_ID_TEXT, name);
}

/* The last two digits of an id are random; its first ones are the time and the same for years. */
static enum hl_err shard_path(char *out, const char *data_dir, const struct hl_id *id)
{
    return hl_path(out, "%s/bodies/%02x", data_dir, id->b[15]);
}

static enum hl_err final_path(char *out, const char *data_dir, const struct hl_id *id)
{
    char name[HL_ID_TEXT];
    hl_id_format(id, name);
    return hl_path(out, "%s/bodies/%02x/%.*s", data_dir, id->b[15], HL_ID_TEXT, name);
}

#define ATTEMPT_BYTES 4

/* Ids of runs end in random bits: no two differ in these alone. */
struct hl_id hl_body_file_of_stream(const struct hl_id *run_id, uint32_t attempt)
{
    struct hl_id id = *run_id;
    uint32_t n = attempt > 0 ? attempt - 1 : 0;
    for (int i = 0; i < ATTEMPT_BYTES; i++)
        id.b[15 - i] ^= (uint8_t)(n >> (8 * i));
    return id;
}

void hl_body_file_stream_runs(const struct hl_id *file, struct hl_id *first, struct hl_id *last)
{
    *first = *last = *file;
    memset(first->b + 16 - ATTEMPT_BYTES, 0, ATTEMPT_BYTES);
    memset(last->b + 16 - ATTEMPT_BYTES, 0xff, ATTEMPT_BYTES);
}

static enum hl_err open_tmp(const char *data_dir, const struct hl_id *id, int flags, int *fd)
{
    char path[HL_PATH_MAX];
    enum hl_err err = tmp_path(path, data_dir, id);
    if (err)
        return err;
    *fd = open(path, O_RDWR | O_CLOEXEC | flags, 0600);
    return *fd < 0 ? hl_err_from_errno(errno) : HL_OK;
}

enum hl_err hl_body_file_create(const char *data_dir, const struct hl_id *id, int *fd)
{
    return open_tmp(data_dir, id, O_CREAT | O_EXCL, fd);
}

enum hl_err hl_body_file_open_left(
    const char *data_dir, const struct hl_id *id, int *fd, bool *is_named)
{
    enum hl_err err = open_tmp(data_dir, id, O_NOFOLLOW, fd);
    *is_named = err != HL_OK && hl_body_file_open(data_dir, id, fd) == HL_OK;
    return *is_named ? HL_OK : err;
}

enum hl_err hl_body_file_write(int fd, struct hl_str bytes)
{
    while (bytes.n > 0) {
        ssize_t n = write(fd, bytes.p, bytes.n);
        if (n < 0 && errno != EINTR)
            return hl_err_from_errno(errno);
        bytes.p += n > 0 ? n : 0;
        bytes.n -= n > 0 ? (size_t)n : 0;
    }
    return HL_OK;
}

static enum hl_err make_shard(const char *data_dir, const char *shard)
{
    char bodies[HL_PATH_MAX];
    enum hl_err err = hl_path(bodies, "%s/bodies", data_dir);
    if (err)
        return err;
    if (mkdir(shard, 0700) < 0 && errno != EEXIST)
        return hl_err_from_errno(errno);
    return hl_path_sync(bodies);
}

/* tmp/<id> becomes bodies/<last 2 hex>/<id>, if it is not that already; `shard` is that directory. */
static enum hl_err give_name(const char *data_dir, const struct hl_id *id, char *shard)
{
    char from[HL_PATH_MAX], to[HL_PATH_MAX];
    enum hl_err err = tmp_path(from, data_dir, id);
    if (!err)
        err = shard_path(shard, data_dir, id);
    if (!err)
        err = final_path(to, data_dir, id);
    if (err)
        return err;
    int failed = rename(from, to);
    if (failed && errno == ENOENT) {
        err = make_shard(data_dir, shard);
        if (err)
            return err;
        failed = rename(from, to);
    }
    if (failed && errno == ENOENT)
        failed = access(to, F_OK);
    return failed ? hl_err_from_errno(errno) : HL_OK;
}

enum hl_err hl_body_file_commit(const char *data_dir, const struct hl_id *id, int fd)
{
    char shard[HL_PATH_MAX];
    HL_CRASH_POINT(BODY_WRITTEN);
    if (fsync(fd) < 0)
        return hl_err_from_errno(errno);
    HL_CRASH_POINT(BODY_SYNCED);
    enum hl_err err = give_name(data_dir, id, shard);
    HL_CRASH_POINT(BODY_RENAMED);
    if (!err)
        err = hl_path_sync(shard);
    HL_CRASH_POINT(BODY_DURABLE);
    return err;
}

enum hl_err hl_body_file_publish(const char *data_dir, const struct hl_id *id)
{
    char shard[HL_PATH_MAX];
    return give_name(data_dir, id, shard);
}

enum hl_err hl_body_file_link(
    const char *data_dir, const struct hl_id *from, const struct hl_id *to)
{
    char old[HL_PATH_MAX], new[HL_PATH_MAX], shard[HL_PATH_MAX];
    enum hl_err err = final_path(old, data_dir, from);
    if (!err)
        err = final_path(new, data_dir, to);
    if (!err)
        err = shard_path(shard, data_dir, to);
    if (!err && access(old, F_OK) < 0)
        err = errno == ENOENT ? HL_ERR_NOT_FOUND : hl_err_from_errno(errno);
    if (err)
        return err;
    int failed = link(old, new);
    if (failed && errno == ENOENT && (err = make_shard(data_dir, shard)) == HL_OK)
        failed = link(old, new);
    if (failed)
        return err ? err : hl_err_from_errno(errno);
    return hl_path_sync(shard);
}

enum hl_err hl_body_file_open(const char *data_dir, const struct hl_id *id, int *fd)
{
    char path[HL_PATH_MAX];
    enum hl_err err = final_path(path, data_dir, id);
    if (err)
        return err;
    *fd = open(path, O_RDONLY | O_CLOEXEC);
    return *fd < 0 ? hl_err_from_errno(errno) : HL_OK;
}

bool hl_body_file_is_of_size(const char *data_dir, const struct hl_id *id, uint64_t size)
{
    int fd;
    struct stat st;
    if (hl_body_file_open(data_dir, id, &fd) != HL_OK)
        return false;
    bool is = fstat(fd, &st) == 0 && (uint64_t)st.st_size == size;
    close(fd);
    return is;
}

void hl_body_file_remove(const char *data_dir, const struct hl_id *id)
{
    char path[HL_PATH_MAX];
    if (tmp_path(path, data_dir, id) == HL_OK)
        unlink(path);
    if (final_path(path, data_dir, id) == HL_OK)
        unlink(path);
}
