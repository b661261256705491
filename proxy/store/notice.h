/* notice.h - what the store is told besides: parts of streams, progress, how synchronous calls ended, a
 * key. Messages as store.h has them. */
#ifndef HL_STORE_NOTICE_H
#define HL_STORE_NOTICE_H

#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"
#include "base/id.h"
#include "base/str.h"
#include "store/op.h"
#include "store/record.h"
#include "store/tally.h"

/* KEEP_STREAM: what came of a running run's event stream, from `at` on: others can follow it, and have it if
 * this process is lost. In order, and one at a time. Reply OK, STALE (the run is not this process's), or an
 * error after which it may be sent again. */
#define HL_STREAM_PART_MAX (256 * 1024)
struct hl_keep_stream {
    struct hl_store_msg m;
    struct hl_id run_id;
    uint32_t epoch, attempt;
    uint64_t at;
    struct hl_buf bytes; /* owned by the message */
    /* Of the first part, likewise, for a caller at a front: of the app's answer. Else empty. */
    struct hl_buf answer_head;
};
void hl_keep_stream_free(struct hl_keep_stream *k);

/* SAY_PROGRESS: what the run said last of how far it is, for others. Reply as above. */
#define HL_PROGRESS_MAX 1024
struct hl_say_progress {
    struct hl_store_msg m;
    struct hl_id run_id;
    uint32_t epoch;
    char json[HL_PROGRESS_MAX + 1];
};

/* TALLY: how synchronous calls ended of which the store knows nothing else (tally.h). One of a source at a
 * time, each with another id: the same twice counts once. Reply OK, or an error after which nothing was counted. */
struct hl_told_minute {
    char project[HL_STORE_NAME_MAX + 1], app[HL_STORE_NAME_MAX + 1];
    int64_t minute; /* wall time in ms / HL_TALLY_MINUTE_MS */
    struct hl_tally tally;
};
struct hl_told_tally {
    struct hl_store_msg m;
    struct hl_id source, id;
    struct hl_told_minute *minutes; /* owned by the message */
    size_t n;
};
void hl_told_tally_free(struct hl_told_tally *t); /* NULL-safe */

/* KEEP_KEY: hl_store_put_signing_key. */
struct hl_keep_key {
    struct hl_store_msg m;
    struct hl_str key; /* borrowed */
};

#endif
