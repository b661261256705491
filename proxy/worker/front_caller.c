/* front_caller.c - see front_caller.h.
 * Owns: nothing. Thread: the worker's.
 * Promise: status, reason and end-to-end fields are the app's, as a caller of the app's own replica gets them; what is
 * between this replica and the caller (framing, closing, CORS) is said here.
 * Not here: the waiting (inquiry.c, api/rest_front.c), the events of a stream (follow.c). */
#include "worker/front_caller.h"

#include <stdlib.h>

#include "caller/access.h"
#include "caller/client.h"
#include "config/config.h"
#include "http/edit.h"
#include "loop/mailbox.h"
#include "run/service.h"
#include "worker/inquiry.h"
#include "worker/worker.h"

/* Into the worker's head. False: it is none. */
static bool read_head(struct hl_worker *w, struct hl_str kept, enum hl_method method)
{
    struct hl_message_reader reader;
    struct hl_refusal fault;
    hl_message_reader_init(&reader, &w->runs.rules);
    enum hl_message_event event =
        hl_message_read_response(&reader, &kept, method, false, &w->runs.head, &fault);
    hl_message_reader_fini(&reader);
    return event == HL_MESSAGE_HEAD;
}

/* What is told of the connection; the head is in the worker's. */
static enum hl_err write_head(
    struct hl_client *c, struct hl_response_edit *edit, struct hl_buf *out)
{
    struct hl_worker *w = hl_worker_of(c->callers);
    const struct hl_head *head = &w->runs.head;
    edit->caller_minor = c->minor;
    edit->cors = c->cors;
    edit->is_head_request = c->method == HL_METHOD_HEAD;
    edit->closes = hl_client_closes_after(c) || edit->framing == HL_FRAMING_UNTIL_CLOSE;
    c->must_close = edit->closes;
    c->status = head->status;
    hl_access_set_run(c, edit->run_id);
    size_t n = hl_edit_response(w->runs.scratch, w->runs.scratch_cap, head, edit);
    return n > 0 ? hl_buf_append(out, w->runs.scratch, n) : HL_ERR_TOO_LARGE;
}

static bool is_event_stream(const struct hl_head *head)
{
    const struct hl_field *type = hl_head_field(head, HL_FIELD_CONTENT_TYPE);
    return type && hl_is_event_stream(type->value);
}

enum hl_err hl_front_caller_write(struct hl_client *c, const struct hl_front_call *front,
    const struct hl_reply *reply, struct hl_buf *out)
{
    struct hl_worker *w = hl_worker_of(c->callers);
    bool has_file = hl_reply_has_file(reply);
    if (!read_head(w, hl_buf_str(&reply->head), c->method))
        return HL_ERR_CORRUPT;
    struct hl_response_edit edit = {.run_id = &reply->run_id,
        .is_unkept = front->asks_keep || (front->is_kept && is_event_stream(&w->runs.head)),
        .framing = HL_FRAMING_LENGTH,
        .content_length = has_file ? reply->file.size : reply->body.n};
    enum hl_err err = write_head(c, &edit, out);
    if (err || has_file || edit.is_head_request)
        return err;
    return hl_buf_append_str(out, hl_buf_str(&reply->body));
}

enum hl_err hl_front_caller_write_stream(
    struct hl_client *c, const struct hl_id *run_id, struct hl_str head, struct hl_buf *out)
{
    if (!read_head(hl_worker_of(c->callers), head, c->method))
        return HL_ERR_CORRUPT;
    struct hl_response_edit edit = {
        .run_id = run_id, .framing = c->minor == 0 ? HL_FRAMING_UNTIL_CLOSE : HL_FRAMING_CHUNKED};
    return write_head(c, &edit, out);
}

void hl_front_caller_left(
    struct hl_worker *w, const struct hl_front_call *front, const struct hl_id *run_id)
{
    bool is_for_nobody = front->is_one && !front->is_kept && !front->is_joined &&
                         w->config->on_caller_gone == HL_CALLER_GONE_CANCEL;
    struct hl_inquiry *left = is_for_nobody ? calloc(1, sizeof(*left)) : NULL;
    if (!left)
        return; /* short of memory it goes on */
    left->msg.type = HL_WORKER_INQUIRY;
    left->awaited = *run_id;
    left->front = *front;
    left->front.has_left = true;
    hl_mailbox_post(w->service->inquiries, &left->msg);
}
