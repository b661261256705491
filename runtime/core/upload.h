/* upload.h - a request's body that is a form (multipart/form-data): in a file, for it may be long. It is written, and
 * given up, in libuv's pool: a disk that is slow, or full of what others write, holds up its own callers alone.
 * Thread: the loop's, but for hl_upload_hand_over. */
#ifndef HL_RUNTIME_UPLOAD_H
#define HL_RUNTIME_UPLOAD_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/err.h"
#include "base/list.h"
#include "base/str.h"

struct hl_head;

#define HL_UPLOAD_NONE (-1)

struct hl_upload {
    uv_work_t work;
    uv_loop_t *loop;
    struct hl_list node; /* among those that no thread of the host has; under hl_fork_hold */
    void (*on_written)(struct hl_upload *upload);
    void *owner;       /* on_written's */
    uint64_t n, max;   /* bytes that came */
    bool is_abandoned; /* it goes when the pool has done with it */

    /* the pool's while is_writing */
    bool is_writing;
    int fd;              /* a file that has no name; HL_UPLOAD_NONE: not made yet */
    struct hl_buf piece; /* what is to be written next */
    enum hl_err err;     /* how that went */
};

/* Whether the request's content type says so. */
bool hl_upload_is_form(const struct hl_head *head);

/* One without a file, put into the list `uploads`. `on_written` comes when a piece was written, or could not be: `err`
 * says which. NULL: out of memory, or of threads for libuv's pool. */
struct hl_upload *hl_upload_new(uv_loop_t *loop, struct hl_list *uploads, uint64_t max,
    void (*on_written)(struct hl_upload *upload), void *owner);
/* Nothing of it is left a moment later, and on_written does not come any more. NULL-safe. */
void hl_upload_free(struct hl_upload *upload);

/* Copies bytes into the piece; not while it is being written. HL_ERR_TOO_LARGE: the form is longer than `max`.
 * HL_ERR_NOMEM. */
HL_MUST_CHECK enum hl_err hl_upload_append(struct hl_upload *upload, struct hl_str bytes);
/* Begins to write the piece, into a file that is made if there is none. False: there is nothing to do. */
bool hl_upload_write(struct hl_upload *upload);

/* A thread of the host has it now: what that forks may read it. */
void hl_upload_hand_over(struct hl_upload *upload);
/* In a forked process: its copies of the files that no thread of the host had. */
void hl_upload_close_all(const struct hl_list *uploads);

#endif
