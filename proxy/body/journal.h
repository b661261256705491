/* journal.h - a run's event stream while it comes: its bytes for followers on any thread, how far it is,
 * and who is to be woken.
 *
 * One worker writes it, after the bytes are in their file, so that what a follower was given outlives a kill.
 * Up to HL_BODY_INLINE_MAX it holds all of them, later the last HL_JOURNAL_TAIL; followers that are further
 * behind read the file. Without a data directory it holds all.
 *
 * Thread: any; each has a lock, held for a copy. */
#ifndef HL_BODY_JOURNAL_H
#define HL_BODY_JOURNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/compiler.h"
#include "base/id.h"
#include "base/list.h"
#include "loop/mailbox.h"
#include "store/notice.h"

struct hl_str;

#define HL_JOURNAL_TAIL     (64 * 1024)
#define HL_JOURNAL_PROGRESS HL_PROGRESS_MAX /* the longest JSON */

enum hl_journal_stage {
    HL_JOURNAL_AWAITED, /* somebody waits for it; the run is not inside this process */
    HL_JOURNAL_OPEN,    /* it is; the app has not answered */
    HL_JOURNAL_STREAM,  /* an event stream comes */
    HL_JOURNAL_OTHER,   /* something else does: nothing of it is here */
    HL_JOURNAL_ENDED, /* the attempt has; there is nothing to be read that was not said to be a stream */
};

/* How it stands, as a value. */
struct hl_journal_look {
    enum hl_journal_stage stage;
    bool is_stream;  /* there is, or was, one that is kept */
    bool is_dropped; /* there was one; it is not kept any more */
    bool is_again;   /* ENDED: another attempt follows */
    bool is_closed;  /* the store has all there is */
    uint64_t size;   /* that can be read */
    uint64_t coming; /* that callers may have seen: what is behind `size` is being written */
    uint64_t before; /* ordinals that earlier attempts have used */
    uint32_t attempt;
    uint32_t progress;       /* grows with each */
    enum hl_run_state state; /* ENDED: and not again */
    enum hl_run_reason reason;
};

struct hl_journals;

struct hl_journal {
    struct hl_journals *all;
    struct hl_id run_id;
    unsigned refs; /* under the registry's lock, as are the next two */
    bool is_listed, has_writer;
    char project[HL_STORE_NAME_MAX + 1], app[HL_STORE_NAME_MAX + 1]; /* likewise; empty: not told */

    _Atomic uint64_t coming; /* as in a look */

    pthread_mutex_t lock; /* of all below */
    struct hl_journal_look now;
    struct hl_list taps;
    int fd; /* -1: none yet, or no file */
    bool has_file;
    char *bytes; /* of the stream from `from` on */
    uint64_t from;
    size_t n, cap;
    char *progress; /* NUL-terminated JSON; NULL: none */
};

/* Somebody who is woken: a message to a mailbox, not again before hl_journal_heard. */
struct hl_journal_tap {
    struct hl_msg msg;
    struct hl_mailbox *box;
    struct hl_journal *journal; /* NULL: closed */
    struct hl_list node;
    bool is_posted;
};

/* ---- its writer ---- */

/* Each wakes the taps. */
void hl_journal_begin_stream(struct hl_journal *j, bool has_file);
void hl_journal_begin_other(struct hl_journal *j);
/* Bytes that are about to go to the caller, and will be added: no one is woken. */
void hl_journal_expect(struct hl_journal *j, size_t n);
/* Bytes that are in the file `fd` now, whose descriptor is doubled the first time; or, without files, all
 * there is of them. False: out of memory, or of descriptors: nothing was added, it is to be dropped. */
HL_MUST_CHECK bool hl_journal_add(struct hl_journal *j, struct hl_str bytes, int fd);
/* It is not kept any more. */
void hl_journal_drop(struct hl_journal *j);
/* The attempt has ended; `again`: another one follows. */
void hl_journal_end(
    struct hl_journal *j, enum hl_run_state state, enum hl_run_reason reason, bool is_again);
/* All bytes, while it holds them: copied, or given away where there is no file. NULL: out of memory, or it
 * does not hold them all. */
char *hl_journal_take(struct hl_journal *j);
/* At most HL_JOURNAL_PROGRESS bytes of JSON. */
void hl_journal_set_progress(struct hl_journal *j, struct hl_str json);

/* ---- its followers ---- */

void hl_journal_observe(struct hl_journal *j, struct hl_journal_look *out);
/* Copies what follows `offset`, at most `cap` bytes. 0: there is no more, or it is in the file alone:
 * `*is_file`; or it is with the store: neither. */
size_t hl_journal_read(struct hl_journal *j, uint64_t offset, char *out, size_t cap, bool *is_file);
/* Likewise from the file; blocks: in the pool. -1: it cannot be read. */
ptrdiff_t hl_journal_read_file(struct hl_journal *j, uint64_t offset, char *out, size_t cap);
/* The last one, copied with its NUL into `out` of HL_JOURNAL_PROGRESS + 1 bytes. False: none. */
bool hl_journal_get_progress(struct hl_journal *j, char *out);
/* The message of the tap has come: what is new from now on is another one. */
void hl_journal_heard(struct hl_journal_tap *tap);

/* ---- journals.c's ---- */

struct hl_journal *hl_journal_new(struct hl_journals *all, const struct hl_id *run_id);
void hl_journal_free(struct hl_journal *j);
void hl_journal_open(struct hl_journal *j, uint32_t attempt, uint64_t before);
void hl_journal_close(struct hl_journal *j);

#endif
