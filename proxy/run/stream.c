/* stream.c - see stream.h.
 * Owns: the run's journal, as its writer, and its file until the store has the run's end.
 * Promise: what is not kept is no different from before, and touches no disk; what is kept outlives a kill
 * as far as its followers have seen it.
 * Not here: whether it is kept (stream_choice.c), collecting the bytes (body/spool.c), following
 * (body/follower.c). */
#include "run/stream.h"

#include <stdlib.h>

#include "base/log.h"
#include "body/journal.h"
#include "body/journals.h"
#include "body/spool.h"
#include "config/config.h"
#include "http/json_check.h"
#include "run/runs.h"
#include "run/service.h"
#include "store/accept.h"
#include "store/body_file.h"
#include "store/claim.h"
#include "store/gauges.h"
#include "store/store.h"

void hl_run_stream_begin(struct hl_run *run, uint64_t before)
{
    struct hl_journals *all = run->runs->service->journals;
    struct hl_run_stream *s = calloc(1, sizeof(*s));
    uint32_t attempt = run->store.claimed ? run->store.claimed->attempt : 1;
    if (s)
        s->journal = hl_journals_open(all, &run->id, attempt, before);
    if (!s || !s->journal) {
        free(s);
        return;
    }
    hl_event_ids_init(&s->ids, before);
    s->file = hl_body_file_of_stream(&run->id, attempt);
    run->stream = s;
    hl_stream_share_init(&s->share, run);
}

void hl_run_stream_announce(struct hl_run *run, const struct hl_accept *record)
{
    if (!run->stream)
        hl_run_stream_begin(run, 0);
    if (run->stream)
        hl_journals_set_place(run->stream->journal, record->project, record->app);
}

bool hl_run_stream_settle(struct hl_run *run, enum hl_stream_record record)
{
    struct hl_run_stream *s = run->stream;
    if (!s || s->record != HL_STREAM_TOLD)
        return false;
    bool held = s->holds_head && !hl_run_has_ended(run);
    s->record = record;
    s->holds_head = false;
    return held;
}

void hl_run_stream_head(struct hl_run *run, bool is_kept)
{
    struct hl_run_stream *s = run->stream;
    if (!s)
        return;
    if (is_kept)
        hl_journal_begin_stream(s->journal, run->runs->spools.data_dir != NULL);
    else
        hl_journal_begin_other(s->journal);
    s->is_kept = is_kept;
    s->is_counted = is_kept && !hl_run_is_async(run) && !run->store.has_webhook;
}

void hl_run_stream_set_spool(struct hl_run *run)
{
    struct hl_run_stream *s = run->stream;
    if (!s || !s->is_kept)
        return;
    if (!run->spool) {
        hl_journal_drop(s->journal);
        return;
    }
    s->has_file = run->runs->spools.data_dir != NULL;
    hl_spool_set_journal(run->spool, s->journal, &s->file);
}

/* ---- progress ---- */

static bool is_json(struct hl_str text)
{
    struct hl_json_check check;
    hl_json_check_init(&check);
    return text.n <= HL_JOURNAL_PROGRESS && hl_json_check_feed(&check, text.p, text.n) &&
           hl_json_check_end(&check);
}

bool hl_run_stream_take_progress(struct hl_run *run, const struct hl_head *head)
{
    const struct hl_field *progress = NULL;
    for (size_t i = 0; i < head->field_count; i++)
        if (hl_str_eq_nocase(head->fields[i].name, HL_STR("x-run-progress")))
            progress = &head->fields[i];
    if (!progress)
        return false;
    if (run->is_pass)
        return true;
    if (!is_json(progress->value)) {
        HL_LOG(DEBUG, "X-Run-Progress is not JSON of at most 1024 bytes",
            HL_LOG_ID("run_id", &run->id));
        return true;
    }
    hl_journals_set_progress(run->runs->service->journals, &run->id, progress->value);
    if (run->stream)
        hl_stream_share_say(&run->stream->share);
    return true;
}

/* ---- its share ---- */

static void set_counted(struct hl_run *run, uint64_t bytes)
{
    struct hl_run_stream *s = run->stream;
    if (!s->is_counted)
        return;
    hl_store_note_stream(run->runs->service->store, (int64_t)(bytes - s->counted));
    s->counted = bytes;
}

/* Those that go on are more than their share by this one: it goes on unkept. New ones are not begun once the share
 * is full; the eighth above it is room for those that were told that they are kept. */
static void hold_to_share(struct hl_run *run)
{
    struct hl_store *store = run->runs->service->store;
    uint64_t share = hl_counter_get(&hl_store_get_gauges(store)->max_stream_bytes);
    if (hl_store_live_streams(store) <= share + share / 8)
        return;
    HL_LOG(WARN, "an event stream is no longer kept: those still running fill their share",
        HL_LOG_ID("run_id", &run->id));
    set_counted(run, 0);
    hl_spool_give_up(run->spool, HL_ERR_FULL);
}

void hl_run_stream_note(struct hl_run *run)
{
    if (run->stream->is_counted && run->spool) {
        bool is_kept = hl_spool_keeps(run->spool);
        set_counted(run, is_kept ? hl_spool_size(run->spool) : 0);
        if (is_kept)
            hold_to_share(run);
    }
    hl_stream_share_note(&run->stream->share);
}

/* ---- without its caller ---- */

bool hl_run_stream_goes_on(const struct hl_run *run)
{
    if (run->response.status == 0)
        return run->terms.keeps_stream;
    return run->stream && run->stream->is_kept && run->spool && hl_spool_keeps(run->spool);
}

bool hl_run_stream_is_for_nobody(const struct hl_run *run)
{
    bool is_left = !run->client && !hl_run_is_async(run) && !run->store.has_webhook;
    return is_left && run->runs->config->on_caller_gone == HL_CALLER_GONE_CANCEL &&
           !hl_run_stream_goes_on(run);
}

/* ---- the end ---- */

void hl_run_stream_end(
    struct hl_run *run, enum hl_run_state state, enum hl_run_reason reason, bool is_again)
{
    if (!run->stream)
        return;
    set_counted(run, 0); /* the store counts it from its end on */
    hl_stream_share_end(&run->stream->share);
    hl_journal_end(run->stream->journal, state, reason, is_again);
}

/* A process that ends in the middle leaves the file to the next one, which finds it by its name. */
void hl_run_stream_close(struct hl_run *run, bool is_stored)
{
    struct hl_run_stream *s = run->stream;
    if (!s)
        return;
    set_counted(run, 0);
    hl_stream_share_fini(&s->share);
    if (s->has_file && !is_stored && !run->runs->is_cut)
        hl_spool_remove_file(&run->runs->spools, &s->file);
    hl_journals_close(s->journal);
    run->stream = NULL;
    free(s);
}
