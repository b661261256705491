/* disk_log.c - see disk_log.h. The log is one array under one lock. A disk has files, which have
 * safe bytes and operations that are not safe yet, and two tables of names: the safe ones, and
 * those that a process sees. */
#include "disk_log.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECTOR      512
#define TORN_WRITES 4

struct file {
    char *bytes; /* safe */
    size_t n, cap;
    size_t *unsafe; /* numbers of operations, in order */
    size_t n_unsafe;
    struct file *next; /* of all files of the disk */
};

struct op {
    enum disk_op kind;
    char path[128], to[128]; /* below the root */
    uint64_t at;
    char *bytes;
    size_t n;
    struct file *file; /* whose name it is about, once played */
};

/* --- the log -------------------------------------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char root[PATH_MAX];
static struct op *ops;
static size_t n_ops, cap_ops;
static bool is_recording;

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);
    return n >= m && strcmp(s + n - m, end) == 0;
}

/* The part below the root, or NULL: not to be recorded. */
static const char *below_root(const char *path)
{
    static const char *const unimportant[] = {"/ballast", "/store.lock", "-shm"};
    size_t n = strlen(root);
    if (!is_recording || strncmp(path, root, n) != 0 || (path[n] != '/' && path[n] != '\0'))
        return NULL;
    for (size_t i = 0; i < sizeof(unimportant) / sizeof(unimportant[0]); i++)
        if (ends_with(path, unimportant[i]))
            return NULL;
    return path[n] ? path + n + 1 : "";
}

static void record(struct op op, const char *path, const char *to)
{
    pthread_mutex_lock(&lock);
    path = below_root(path);
    to = to ? below_root(to) : "";
    if (path && to) {
        snprintf(op.path, sizeof(op.path), "%s", path);
        snprintf(op.to, sizeof(op.to), "%s", to);
        if (n_ops == cap_ops) {
            cap_ops = cap_ops ? 2 * cap_ops : 1024;
            ops = realloc(ops, cap_ops * sizeof(*ops));
        }
        ops[n_ops++] = op;
        op.bytes = NULL;
    }
    pthread_mutex_unlock(&lock);
    free(op.bytes);
}

void disk_log_name(enum disk_op op, const char *path, const char *to)
{
    record((struct op){.kind = op}, path, to);
}

void disk_log_content(enum disk_op op, const char *path, uint64_t at, const void *bytes, size_t n)
{
    char *copy = n ? malloc(n) : NULL;
    if (n)
        memcpy(copy, bytes, n);
    record((struct op){.kind = op, .at = at, .bytes = copy, .n = n}, path, NULL);
}

void disk_log_start(const char *directory)
{
    cr_assert(realpath(directory, root));
    is_recording = true;
}

void disk_log_stop(void)
{
    pthread_mutex_lock(&lock);
    is_recording = false;
    pthread_mutex_unlock(&lock);
}

size_t disk_log_length(void)
{
    pthread_mutex_lock(&lock);
    size_t n = n_ops;
    pthread_mutex_unlock(&lock);
    return n;
}

bool disk_log_is_sync(size_t i)
{
    return ops[i].kind == DISK_SYNC || ops[i].kind == DISK_SYNC_DIR;
}

bool disk_log_has_sync_since(size_t from, const char *name)
{
    bool is_found = false;
    pthread_mutex_lock(&lock);
    for (size_t i = from; i < n_ops; i++)
        is_found |= ops[i].kind == DISK_SYNC && ends_with(ops[i].path, name);
    pthread_mutex_unlock(&lock);
    return is_found;
}

/* --- names ---------------------------------------------------------------------------------- */

struct name {
    char path[128];
    struct file *file; /* NULL: a directory */
};

struct names {
    struct name *all;
    size_t n;
};

struct disk {
    size_t played;
    struct names seen, safe;
    size_t *unsafe; /* numbers of operations on names, in order */
    size_t n_unsafe;
    struct file *files;
    struct file left; /* room for what is left of one */
};

static void append(size_t **list, size_t *n, size_t value)
{
    *list = realloc(*list, (*n + 1) * sizeof(**list));
    (*list)[(*n)++] = value;
}

static struct name *find_name(struct names *names, const char *path)
{
    for (size_t i = 0; i < names->n; i++)
        if (strcmp(names->all[i].path, path) == 0)
            return &names->all[i];
    return NULL;
}

static void remove_name(struct names *names, const char *path)
{
    struct name *name = find_name(names, path);
    if (!name)
        return;
    names->n--;
    memmove(name, name + 1, (size_t)(names->all + names->n - name) * sizeof(*name));
}

static void put_name(struct names *names, const char *path, struct file *file)
{
    remove_name(names, path);
    names->all = realloc(names->all, (names->n + 1) * sizeof(*names->all));
    struct name *name = &names->all[names->n++];
    snprintf(name->path, sizeof(name->path), "%s", path);
    name->file = file;
}

static void apply_name(struct names *names, const struct op *op)
{
    if (op->kind == DISK_CREATE || op->kind == DISK_MKDIR)
        put_name(names, op->path, op->file);
    else
        remove_name(names, op->path);
    if (op->kind == DISK_RENAME)
        put_name(names, op->to, op->file);
}

static bool is_in(const struct op *op, const char *directory)
{
    const char *path = op->kind == DISK_RENAME ? op->to : op->path;
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) : 0;
    return strlen(directory) == n && strncmp(path, directory, n) == 0;
}

/* A rename is safe as a whole when the directory that it leads to is. */
static void sync_names(struct disk *d, const char *directory)
{
    size_t kept = 0;
    for (size_t i = 0; i < d->n_unsafe; i++) {
        const struct op *op = &ops[d->unsafe[i]];
        if (is_in(op, directory))
            apply_name(&d->safe, op);
        else
            d->unsafe[kept++] = d->unsafe[i];
    }
    d->n_unsafe = kept;
}

/* --- content -------------------------------------------------------------------------------- */

static void resize(struct file *f, size_t n)
{
    if (n > f->cap) {
        f->cap = 2 * n;
        f->bytes = realloc(f->bytes, f->cap);
    }
    if (n > f->n)
        memset(f->bytes + f->n, 0, n - f->n);
    f->n = n;
}

static void apply_bytes(struct file *f, const struct op *op, size_t from, size_t to)
{
    if (op->at + to > f->n)
        resize(f, op->at + to);
    memcpy(f->bytes + op->at + from, op->bytes + from, to - from);
}

static void apply_content(struct file *f, const struct op *op)
{
    if (op->kind == DISK_TRUNCATE)
        resize(f, op->at);
    else if (op->n > 0)
        apply_bytes(f, op, 0, op->n);
}

static void sync_content(struct file *f)
{
    for (size_t i = 0; i < f->n_unsafe; i++)
        apply_content(f, &ops[f->unsafe[i]]);
    f->n_unsafe = 0;
}

/* --- playing -------------------------------------------------------------------------------- */

struct disk *disk_new(void)
{
    return calloc(1, sizeof(struct disk));
}

void disk_free(struct disk *d)
{
    for (struct file *f = d->files, *next; f; f = next) {
        next = f->next;
        free(f->bytes);
        free(f->unsafe);
        free(f);
    }
    free(d->left.bytes);
    free(d->seen.all);
    free(d->safe.all);
    free(d->unsafe);
    free(d);
}

static void play_name(struct disk *d, size_t i)
{
    struct op *op = &ops[i];
    struct name *name = find_name(&d->seen, op->path);
    op->file = name ? name->file : NULL;
    if (op->kind == DISK_CREATE) {
        op->file = calloc(1, sizeof(*op->file));
        op->file->next = d->files;
        d->files = op->file;
    }
    apply_name(&d->seen, op);
    append(&d->unsafe, &d->n_unsafe, i);
}

static void play_content(struct disk *d, size_t i)
{
    struct name *name = find_name(&d->seen, ops[i].path);
    if (!name || !name->file)
        return; /* removed while it was open */
    if (ops[i].kind == DISK_SYNC)
        sync_content(name->file);
    else
        append(&name->file->unsafe, &name->file->n_unsafe, i);
}

void disk_play(struct disk *d, size_t upto)
{
    for (; d->played < upto; d->played++) {
        enum disk_op kind = ops[d->played].kind;
        if (kind == DISK_SYNC_DIR)
            sync_names(d, ops[d->played].path);
        else if (kind < DISK_SYNC_DIR)
            play_name(d, d->played);
        else
            play_content(d, d->played);
    }
}

/* --- failing -------------------------------------------------------------------------------- */

const char *disk_loss_text(enum disk_loss loss)
{
    static const char *const texts[DISK_LOSSES] = {
        "all kept", "unsynced lost", "some unsynced lost", "last unsynced torn"};
    return texts[loss];
}

/* xorshift64*; a coin is its highest bit. */
static bool toss(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (*state * 0x2545f4914f6cdd1dull) >> 63;
}

static void tear(struct file *f, const struct op *op, uint64_t *chance)
{
    for (size_t from = 0; from < op->n; from += SECTOR) {
        size_t to = from + SECTOR < op->n ? from + SECTOR : op->n;
        if (toss(chance))
            apply_bytes(f, op, from, to);
    }
}

static void lose(struct file *left, const struct file *f, enum disk_loss loss, uint64_t *chance)
{
    size_t seen = f->n;
    for (size_t i = 0; i < f->n_unsafe; i++) {
        const struct op *op = &ops[f->unsafe[i]];
        bool is_last = i + TORN_WRITES >= f->n_unsafe;
        if (op->kind == DISK_TRUNCATE || op->at + op->n > seen)
            seen = op->at + op->n;
        if (loss == DISK_TEARS_LAST && is_last && op->kind == DISK_WRITE)
            tear(left, op, chance);
        else if (loss == DISK_KEEPS_ALL || loss == DISK_TEARS_LAST || toss(chance))
            apply_content(left, op);
    }
    /* A file system may know the size before it has the bytes. */
    if (loss == DISK_KEEPS_SOME && seen > left->n && toss(chance))
        resize(left, seen);
}

static void write_file(
    struct disk *d, const char *path, const struct file *f, enum disk_loss loss, uint64_t *chance)
{
    struct file *left = &d->left;
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return; /* its directory is lost */
    left->n = 0;
    if (f->n > 0)
        apply_bytes(left, &(struct op){.bytes = f->bytes, .n = f->n}, 0, f->n);
    if (loss != DISK_LOSES_ALL)
        lose(left, f, loss, chance);
    cr_assert_eq(write(fd, left->bytes, left->n), (ssize_t)left->n);
    close(fd);
}

void disk_fail(struct disk *d, enum disk_loss loss, uint64_t seed, const char *directory)
{
    uint64_t chance = (seed + 1) * 0x9e3779b97f4a7c15ull;
    struct names left = {0};
    for (size_t i = 0; i < d->safe.n; i++)
        put_name(&left, d->safe.all[i].path, d->safe.all[i].file);
    for (size_t i = 0; i < d->n_unsafe && loss != DISK_LOSES_ALL; i++)
        if (loss != DISK_KEEPS_SOME || toss(&chance))
            apply_name(&left, &ops[d->unsafe[i]]);
    for (size_t i = 0; i < left.n; i++) {
        char path[2 * PATH_MAX];
        snprintf(path, sizeof(path), "%s/%s", directory, left.all[i].path);
        if (left.all[i].file)
            write_file(d, path, left.all[i].file, loss, &chance);
        else
            mkdir(path, 0700);
    }
    free(left.all);
}
