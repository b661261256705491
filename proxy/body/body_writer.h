/* body_writer.h - stores a body, piece by piece through libuv's pool: written to a file of the
 * data directory and hashed, or only hashed. One loop's thread; one piece in flight. */
#ifndef HL_BODY_WRITER_H
#define HL_BODY_WRITER_H

#include <mbedtls/sha256.h>
#include <stdatomic.h>
#include <uv.h>

#include "base/err.h"
#include "base/id.h"
#include "store/digest.h"

struct hl_body_writer {
    uv_work_t work;
    uv_loop_t *loop;
    const char *data_dir;
    void (*on_done)(struct hl_body_writer *w);

    struct hl_id file; /* set before the first piece that is written */
    int fd;            /* -1: no file yet */
    _Atomic uint64_t written;
    mbedtls_sha256_context sha;     /* of the file */
    bool wants_sha256;              /* of a body in memory, too */
    uint8_t digest[HL_DIGEST_SIZE]; /* of the whole body, after its last piece */

    /* the piece in the pool's hands */
    bool is_running;
    bool writes; /* else it only hashes */
    bool drops;  /* or gives back what it has written */
    bool is_last;
    char *bytes;
    size_t n;
    enum hl_err err;
};

/* `data_dir` is borrowed; NULL: nothing is written. `on_done`, and the callback of a removal, come
 * from the loop: the writer may be gone afterwards. */
void hl_body_writer_init(struct hl_body_writer *w, uv_loop_t *loop, const char *data_dir,
    void (*on_done)(struct hl_body_writer *w));
/* Nothing is in the pool's hands. The file stays. */
void hl_body_writer_fini(struct hl_body_writer *w);

/* A piece for the pool, not while one is there: `bytes` is lent until on_done. `writes`: to the file;
 * its last piece makes it durable. Else the piece is the whole body and is hashed. */
void hl_body_writer_submit(
    struct hl_body_writer *w, char *bytes, size_t n, bool writes, bool is_last);
/* Gives the disk back what was written, in the pool, then on_done. False: there is nothing. Only a removal may
 * follow. */
bool hl_body_writer_drop(struct hl_body_writer *w);
/* Hashes a whole short body at once. */
void hl_body_writer_hash(struct hl_body_writer *w, const char *bytes, size_t n);
/* Removes the file in the pool, then on_removed. False: there is none, and nothing follows. */
bool hl_body_writer_remove(struct hl_body_writer *w, void (*on_removed)(struct hl_body_writer *w));

#endif
