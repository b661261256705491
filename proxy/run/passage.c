/* passage.c - what one read of the app becomes: one write to the caller, then a view for the spool.
 * Thread: the worker's. Uses worker->scratch, so one passage at a time.
 * Promise: the caller's bytes go out before the spool sees them; the spool cannot fail them. */
#include "run/passage.h"

#include <string.h>

#include "body/journal.h"
#include "caller/access.h"
#include "http/head.h"
#include "run/runs.h"
#include "run/stream.h"
#include "run/tee.h"

#define NAMED_ROOM_LEAST 4096 /* for events with their ids, before a write goes out in between */
#define JOIN_MAX         8192 /* body bytes that are copied behind the head instead of a second iovec */

enum hl_framing hl_passage_framing(const struct hl_run *run, const struct hl_head *head)
{
    if (head->framing == HL_FRAMING_CHUNKED || head->framing == HL_FRAMING_UNTIL_CLOSE ||
        hl_run_stream_adds_ids(run))
        return run->caller.minor == 0 ? HL_FRAMING_UNTIL_CLOSE : HL_FRAMING_CHUNKED;
    return head->framing;
}

/* What is for the caller. */
static bool flush_out(struct hl_run *run, struct hl_passage *pass)
{
    struct hl_client *c = run->client;
    if (c && (pass->out_n || pass->direct.n)) {
        struct hl_str out = {run->runs->scratch, pass->out_n};
        enum hl_err err = pass->out_n ? hl_client_write2(c, out, pass->direct)
                                      : hl_client_write2(c, pass->direct, (struct hl_str){0});
        if (err != HL_OK && hl_run_has_ended(run))
            return false; /* nobody waited for it but the caller */
    }
    pass->out_n = 0;
    pass->direct = (struct hl_str){NULL, 0};
    return true;
}

bool hl_passage_flush(struct hl_run *run, struct hl_passage *pass)
{
    if (!flush_out(run, pass))
        return false;
    if (run->spool)
        for (size_t i = 0; i < pass->view_count; i++)
            hl_tee_take(run, pass->views[i]);
    pass->view_count = 0;
    return !hl_run_has_ended(run);
}

/* Bytes for the caller, as chunks or as they are, behind what there is. False: the run has ended. */
static bool add_named(struct hl_run *run, struct hl_passage *pass, struct hl_str data)
{
    struct hl_runs *runs = run->runs;
    bool is_chunked = run->response.framing == HL_FRAMING_CHUNKED;
    size_t frame = is_chunked ? HL_CHUNK_HEAD_MAX + 2 : 0;
    while (data.n > 0 && run->client) {
        if (pass->out_n + frame + NAMED_ROOM_LEAST > runs->scratch_cap && !flush_out(run, pass))
            return false;
        char *out = runs->scratch + pass->out_n, *body = out + (is_chunked ? HL_CHUNK_HEAD_MAX : 0);
        size_t n = hl_event_ids_put(
            &run->stream->ids, &data, body, runs->scratch_cap - pass->out_n - frame);
        hl_access_add(run->client, n);
        if (is_chunked) {
            size_t head = hl_chunk_head_write(out, n);
            memmove(out + head, body, n);
            memcpy(out + head + n, "\r\n", 2);
            n += head + 2;
        }
        pass->out_n += n;
    }
    hl_event_ids_pass(&run->stream->ids, data);
    return true;
}

/* Without a byte order mark, which is none behind a heartbeat. */
static struct hl_str without_mark(struct hl_run *run, struct hl_str data)
{
    size_t n = hl_sse_is_before_first_byte(&run->response.sse) ? hl_sse_mark_n(data) : 0;
    if (n > 0 && hl_run_stream_adds_ids(run))
        hl_event_ids_pass(&run->stream->ids, (struct hl_str){data.p, n});
    return (struct hl_str){data.p + n, data.n - n};
}

bool hl_passage_add(struct hl_run *run, struct hl_passage *pass, struct hl_str data)
{
    struct hl_runs *runs = run->runs;
    bool re_framed = run->response.framing == HL_FRAMING_CHUNKED;
    if (pass->view_count == HL_PASSAGE_VIEWS || pass->direct.n ||
        pass->out_n + data.n + HL_CHUNK_HEAD_MAX + 2 > runs->scratch_cap)
        if (!hl_passage_flush(run, pass))
            return false;
    pass->views[pass->view_count++] = data;
    struct hl_str whole = data;
    data = run->response.beats == HL_BEATS_FIRST ? without_mark(run, whole) : whole;
    if (run->response.beats)
        hl_sse_scan(&run->response.sse, whole.p, whole.n);
    if (hl_run_stream_adds_ids(run)) {
        if (run->client)
            hl_journal_expect(run->stream->journal, whole.n);
        return add_named(run, pass, data);
    }
    if (!run->client || data.n == 0)
        return true;
    hl_access_add(run->client, data.n);
    char *out = runs->scratch + pass->out_n;
    if (re_framed) {
        size_t n = hl_chunk_head_write(out, data.n);
        memcpy(out + n, data.p, data.n);
        memcpy(out + n + data.n, "\r\n", 2);
        pass->out_n += n + data.n + 2;
    } else if (data.n <= JOIN_MAX) {
        memcpy(out, data.p, data.n);
        pass->out_n += data.n;
    } else {
        pass->direct = data;
    }
    return true;
}

bool hl_passage_add_end(struct hl_run *run, struct hl_passage *pass, struct hl_str trailer)
{
    struct hl_runs *runs = run->runs;
    if (run->response.framing != HL_FRAMING_CHUNKED || !run->client)
        return true;
    if (pass->direct.n || pass->out_n + trailer.n + 5 > runs->scratch_cap)
        if (!hl_passage_flush(run, pass))
            return false;
    char *out = runs->scratch + pass->out_n;
    memcpy(out, "0\r\n", 3);
    if (trailer.n)
        memcpy(out + 3, trailer.p, trailer.n);
    memcpy(out + 3 + trailer.n, "\r\n", 2);
    pass->out_n += 5 + trailer.n;
    return true;
}
