/* stream.h - a run's event stream that is kept while it comes, so that it can be left and taken up again
 * (contract 14). Thread: its worker's. */
#ifndef HL_RUN_STREAM_H
#define HL_RUN_STREAM_H

#include "http/sse.h"
#include "run/run.h"
#include "run/stream_share.h"

struct hl_accept;

struct hl_head;

/* What the store knows of a synchronous one. */
enum hl_stream_record {
    HL_STREAM_UNTOLD,
    HL_STREAM_TOLD,     /* RECORD is with it: the app's head waits for the answer */
    HL_STREAM_RECORDED, /* it is on the disk: whoever is told that it is kept can rely on that */
    HL_STREAM_REFUSED,  /* it was not, or not in time */
};

struct hl_run_stream {
    struct hl_journal *journal;
    struct hl_event_ids ids; /* of the bytes that came */
    bool is_kept;            /* the answer is an event stream, and is kept so far */
    bool has_file;           /* `file` is on the disk until the store has the run's end */
    bool is_counted;         /* among those of synchronous calls */
    enum hl_stream_record record;
    bool holds_head;  /* the app's head has come, and waits for `record` */
    uint64_t counted; /* how many bytes of it are */
    struct hl_id file;
    struct hl_stream_share share;
};

/* An asynchronous run is inside this process: whoever waits for its events hears so. `before`: ordinals that
 * earlier attempts have used. Without memory nobody can follow it. */
void hl_run_stream_begin(struct hl_run *run, uint64_t before);
/* A synchronous run whose stream may be kept is about to be recorded: it can be followed before that is
 * committed. Borrows. */
void hl_run_stream_announce(struct hl_run *run, const struct hl_accept *record);
/* The store has answered, or is not waited for any longer. True: the head waits no more. */
HL_MUST_CHECK bool hl_run_stream_settle(struct hl_run *run, enum hl_stream_record record);
/* The final head is there; what follows is kept as a stream, or is something else to those who wait. */
void hl_run_stream_head(struct hl_run *run, bool is_kept);
/* A 103 that says how far the run is. False: it says nothing of that. */
bool hl_run_stream_take_progress(struct hl_run *run, const struct hl_head *head);
/* Its spool was made, or could not be. */
void hl_run_stream_set_spool(struct hl_run *run);
/* More of it came: its share grows. */
void hl_run_stream_note(struct hl_run *run);

/* A synchronous one goes on without its caller: as far as is known, it is kept. */
bool hl_run_stream_goes_on(const struct hl_run *run);

/* The app's side has ended, and all of it has been through the spool. */
void hl_run_stream_end(
    struct hl_run *run, enum hl_run_state state, enum hl_run_reason reason, bool is_again);
/* The store has it, or never will: followers go on from there. `is_stored`: its file is the store's. Harmless
 * without a stream. */
void hl_run_stream_close(struct hl_run *run, bool is_stored);

/* Nobody is left for whom the rest of a synchronous one would be: its caller has gone, and it is not kept. */
bool hl_run_stream_is_for_nobody(const struct hl_run *run);

/* Whether the app's head waits for the store. */
static inline bool hl_run_stream_holds_head(const struct hl_run *run)
{
    return run->stream && run->stream->holds_head;
}

/* Whether ids are added on the caller's own connection. */
static inline bool hl_run_stream_adds_ids(const struct hl_run *run)
{
    return run->stream && run->stream->is_kept;
}

#endif
