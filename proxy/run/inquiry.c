/* inquiry.c - a request for the REST interface on the run listener.
 * Owns: what its caller's connection knows of it, until the answer is written. Thread: the worker's.
 * Promise: a result is sent no faster than the caller takes it, and never whole in memory; one that
 * turns out to be damaged is cut off.
 * Not here: who may ask (call.c), what is answered (api/). */
#include "run/inquiry.h"

#include <stdlib.h>
#include <string.h>

#include "auth/auth.h"
#include "base/clock.h"
#include "base/log.h"
#include "run/access.h"
#include "run/body_reader.h"
#include "run/client.h"

struct hl_caller_inquiry {
    struct hl_client *client;
    struct hl_slot_name name;
    struct hl_inquiry *asked; /* NULL: the control thread has it, or it is answered */
    struct hl_body_reader *reader;
    bool is_reading;
    struct hl_buf head; /* of an answer with a file, until its first piece is there */
};

static void copy_cut(char *out, size_t max, struct hl_str s)
{
    size_t n = s.n < max ? s.n : max;
    if (n > 0)
        memcpy(out, s.p, n);
    out[n] = '\0';
}

void hl_asker_init(struct hl_asker *asker, const struct hl_principal *who)
{
    *asker = (struct hl_asker){.is_unknown = !who};
    if (!who)
        return;
    bool is_name = who->project.n <= HL_NAME_MAX; /* a longer one is no project's */
    asker->is_admin = who->role == HL_ROLE_ADMIN;
    asker->has_all_projects = who->has_all_projects;
    copy_cut(asker->project, HL_NAME_MAX, is_name ? who->project : HL_STR(""));
    copy_cut(asker->subject, HL_ASKER_SUBJECT, who->subject);
}

void hl_inquiry_free(struct hl_inquiry *inquiry)
{
    if (!inquiry)
        return;
    hl_buf_fini(&inquiry->target);
    hl_buf_fini(&inquiry->body);
    hl_reply_fini(&inquiry->reply);
    free(inquiry);
}

void hl_inquiry_leave(struct hl_client *c)
{
    struct hl_caller_inquiry *q = c->inquiry;
    if (!q)
        return;
    c->inquiry = NULL;
    hl_slot_remove(&c->worker->slots, q->name);
    hl_inquiry_free(q->asked);
    hl_body_reader_free(q->reader);
    hl_buf_fini(&q->head);
    free(q);
}

static void refuse(struct hl_client *c, uint16_t status, const char *detail)
{
    struct hl_id id = hl_id_next(&c->worker->ids, hl_clock_wall_ms());
    struct hl_answer answer = {.status = status,
        .detail = detail,
        .run_id = &id,
        .extra_fields = status == 503 ? "Retry-After: 5\r\n" : NULL};
    hl_inquiry_leave(c);
    hl_client_answer(c, &answer, HL_MODE_OTHER);
}

/* ---- the request ---- */

static bool make(struct hl_client *c, const struct hl_asker *asker)
{
    struct hl_worker *w = c->worker;
    struct hl_caller_inquiry *q = c->inquiry = calloc(1, sizeof(*q));
    if (!q)
        return false;
    q->client = c;
    q->asked = calloc(1, sizeof(*q->asked));
    q->name = hl_slot_add(&w->slots, q);
    if (!q->asked || q->name.generation == 0)
        return false;
    q->asked->msg.type = HL_WORKER_INQUIRY;
    q->asked->reply_to = &w->mail.box;
    q->asked->from = q->name;
    q->asked->asker = *asker;
    q->asked->method = c->method;
    hl_buf_init(&q->asked->body, HL_INQUIRY_BODY_MAX);
    return hl_buf_append_str(&q->asked->target, w->request_head.target) == HL_OK;
}

void hl_inquiry_begin(struct hl_client *c, const struct hl_asker *asker)
{
    if (c->framing == HL_FRAMING_LENGTH && c->body_left > HL_INQUIRY_BODY_MAX)
        refuse(c, 413, "A request's body may have at most 64 KiB here.");
    else if (!c->worker->service->inquiries)
        refuse(c, 503, "The REST interface is not served now; try again later.");
    else if (!make(c, asker))
        refuse(c, 503, "Out of memory; try again later.");
    else if (c->body_done)
        hl_inquiry_body_end(c);
}

void hl_inquiry_body(struct hl_client *c, struct hl_str data)
{
    if (c->inquiry && hl_buf_append_str(&c->inquiry->asked->body, data) != HL_OK)
        refuse(c, 503, "Out of memory; try again later.");
}

void hl_inquiry_body_end(struct hl_client *c)
{
    struct hl_caller_inquiry *q = c->inquiry;
    if (!q)
        return;
    struct hl_inquiry *asked = q->asked;
    q->asked = NULL;
    hl_mailbox_post(c->worker->service->inquiries, &asked->msg);
}

/* ---- the answer ---- */

static void write_whole(struct hl_client *c, struct hl_str out)
{
    if (hl_client_write2(c, out, (struct hl_str){NULL, 0}) != HL_OK)
        return;
    hl_inquiry_leave(c);
    hl_client_call_done(c, true);
}

static void read_on(struct hl_caller_inquiry *q)
{
    if (q->is_reading || hl_stream_is_blocked(&q->client->stream))
        return;
    q->is_reading = hl_body_reader_next(q->reader);
    if (q->is_reading)
        return;
    struct hl_client *c = q->client;
    hl_inquiry_leave(c);
    hl_client_call_done(c, false);
}

/* Nothing was sent yet: what is wrong can be said. */
static void refuse_file(struct hl_client *c, enum hl_err err)
{
    if (err == HL_ERR_NOT_FOUND)
        refuse(c, 410,
            "The kept response was removed meanwhile: its run is past HOOKLINE_RETENTION, "
            "or the space was needed (HOOKLINE_STORE_MAX_BYTES).");
    else
        refuse(c, 500, "The kept response cannot be read from the data directory; see the log.");
}

static void on_piece(void *owner, enum hl_err err, struct hl_str piece, bool is_last)
{
    struct hl_caller_inquiry *q = owner;
    struct hl_client *c = q->client;
    q->is_reading = false;
    if (err != HL_OK)
        HL_LOG(ERROR, "a kept response cannot be read", HL_LOG_TEXT("error", hl_err_text(err)));
    if (err != HL_OK && q->head.n > 0) {
        refuse_file(c, err);
        return;
    }
    if (err != HL_OK) {
        hl_inquiry_leave(c);
        hl_client_call_done(c, false);
        return;
    }
    struct hl_buf head = q->head;
    hl_buf_init(&q->head, 0);
    hl_access_add(c, piece.n);
    enum hl_err gone = head.n > 0 ? hl_client_write2(c, hl_buf_str(&head), piece)
                                  : hl_client_write2(c, piece, (struct hl_str){NULL, 0});
    hl_buf_fini(&head);
    if (gone != HL_OK)
        return;
    if (is_last) {
        hl_inquiry_leave(c);
        hl_client_call_done(c, true);
        return;
    }
    read_on(q);
}

void hl_inquiry_drained(struct hl_client *c)
{
    if (c->inquiry->reader)
        read_on(c->inquiry);
}

static void answer(struct hl_caller_inquiry *q, struct hl_reply *reply)
{
    struct hl_client *c = q->client;
    struct hl_worker *w = c->worker;
    struct hl_id id = hl_id_next(&w->ids, hl_clock_wall_ms());
    struct hl_reply_writing how = {.request_id = &id,
        .closes = hl_client_closes_after(c),
        .is_head_request = c->method == HL_METHOD_HEAD,
        .caller_minor = c->minor};
    struct hl_buf out;
    hl_buf_init(&out, 0);
    c->must_close = how.closes;
    if (hl_reply_write(reply, &how, &out) != HL_OK) {
        hl_buf_fini(&out);
        refuse(c, 503, "Out of memory; try again later.");
        return;
    }
    c->status = reply->status;
    hl_access_set_run(c, hl_id_is_nil(&reply->run_id) ? &id : &reply->run_id);
    hl_access_add_answer(c, hl_buf_str(&out));
    if (!hl_reply_has_file(reply) || how.is_head_request) {
        write_whole(c, hl_buf_str(&out));
        hl_buf_fini(&out);
        return;
    }
    q->head = out;
    q->reader = hl_body_reader_new(&w->loop, w->spools.data_dir, &reply->file, on_piece, q);
    if (q->reader)
        read_on(q);
    else
        refuse(c, 503, "Out of memory; try again later.");
}

void hl_inquiry_on_reply(struct hl_worker *w, struct hl_inquiry *inquiry)
{
    struct hl_caller_inquiry *q = hl_slot_find(&w->slots, inquiry->from);
    if (q)
        answer(q, &inquiry->reply);
    hl_inquiry_free(inquiry);
}
