/* stream_choice.c - see stream_choice.h. */
#include "run/stream_choice.h"

#include "http/edit.h"
#include "run/report.h"
#include "run/runs.h"
#include "run/service.h"
#include "run/stream.h"
#include "store/accept.h"
#include "store/gauges.h"
#include "store/store.h"

/* One that is coded could not be read on the way. */
static bool is_plain(const struct hl_head *head)
{
    const struct hl_field *coding = hl_head_field(head, HL_FIELD_CONTENT_ENCODING);
    return !coding || hl_str_eq_nocase(coding->value, HL_STR("identity"));
}

static bool can_be_kept(const struct hl_head *head)
{
    const struct hl_field *type = hl_head_field(head, HL_FIELD_CONTENT_TYPE);
    return type && hl_is_event_stream(type->value) && head->status == 200 && is_plain(head) &&
           head->framing != HL_FRAMING_NONE;
}

/* Their share is full with those that go on: nothing that has ended can make room. */
static bool has_share(const struct hl_run *run)
{
    const struct hl_service *service = run->runs->service;
    const struct hl_store_gauges *store = hl_store_get_gauges(service->store);
    return hl_store_live_streams(service->store) < hl_counter_get(&store->max_stream_bytes) &&
           !hl_counter_get(&store->is_full) && !hl_counter_get(&store->is_failing);
}

/* What was prepared for the store is not wanted. */
static void forget_record(struct hl_run *run)
{
    if (run->store.record != HL_RECORD_DUE || run->store.has_webhook)
        return;
    hl_accept_free(run->store.accept);
    run->store.accept = NULL;
    hl_progress_record(run, HL_RECORD_NONE);
}

bool hl_stream_choice_waits(struct hl_run *run, const struct hl_head *head)
{
    if (hl_run_is_async(run) || !can_be_kept(head) || !has_share(run))
        return false;
    if (!run->stream)
        hl_run_stream_begin(run, 0);
    if (!run->stream)
        return false;
    if (run->store.record == HL_RECORD_DUE)
        hl_report_begin(run);
    run->stream->holds_head = run->stream->record == HL_STREAM_TOLD;
    return run->stream->holds_head;
}

static bool keep_sync(struct hl_run *run)
{
    if (!run->stream)
        return false;
    if (run->store.record == HL_RECORD_OPEN)
        return run->stream->record == HL_STREAM_RECORDED && has_share(run);
    hl_run_stream_close(run, false);
    return false;
}

bool hl_stream_choice_make(struct hl_run *run, const struct hl_head *head)
{
    bool can = can_be_kept(head), is_async = hl_run_is_async(run);
    bool is_kept =
        can && (is_async ? run->stream != NULL : run->terms.keeps_stream && keep_sync(run));
    if (!is_kept && !is_async)
        forget_record(run);
    hl_run_stream_head(run, is_kept);
    return is_kept;
}
