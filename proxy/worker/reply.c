/* reply.c - an answer of the REST interface: made, written, freed.
 * Thread: any; each reply has one owner at a time.
 * Not here: what is answered (api/), reading the file (body_reader.c). */
#include "worker/reply.h"

#include <stdio.h>

#include "body/follow.h"
#include "http/problem.h"

#define HEAD_MAX 4096 /* without `fields` and body; and a problem */

void hl_reply_fini(struct hl_reply *reply)
{
    hl_buf_fini(&reply->fields);
    hl_buf_fini(&reply->body);
    hl_buf_fini(&reply->head);
    hl_follow_free(reply->follow);
    reply->follow = NULL;
}

void hl_reply_refuse(struct hl_reply *reply, const struct hl_refusal *why)
{
    snprintf(reply->detail, sizeof(reply->detail), "%s", why->detail);
    reply->status = why->status;
    reply->retry_s = why->retry_s;
    reply->cause = why->cause;
    reply->content_type[0] = '\0';
    reply->is_of_app = reply->is_json = false;
    reply->body.n = 0;
    reply->file = (struct hl_body){.where = HL_BODY_NONE};
}

enum hl_err hl_reply_write(
    const struct hl_reply *reply, const struct hl_reply_writing *how, struct hl_buf *out)
{
    bool has_run = !hl_id_is_nil(&reply->run_id), has_file = hl_reply_has_file(reply);
    struct hl_buf fields;
    hl_buf_init(&fields, 0);
    enum hl_err err = hl_buf_append(&fields, reply->fields.p, reply->fields.n);
    if (err == HL_OK)
        err = hl_buf_append(&fields, "", 1);
    if (err == HL_OK)
        err = hl_buf_reserve(out, HEAD_MAX + fields.n + reply->body.n);
    if (err != HL_OK)
        goto out;
    struct hl_refusal why = {
        .status = reply->status, .retry_s = reply->retry_s, .detail = reply->detail};
    struct hl_answer answer = {
        .refusal = *reply->content_type || reply->is_of_app ? NULL : &why,
        .status = reply->status,
        .content_type = hl_str_from(reply->content_type),
        .body =
            has_file ? (struct hl_str){NULL, (size_t)reply->file.size} : hl_buf_str(&reply->body),
        .run_id = has_run ? &reply->run_id : how->request_id,
        .extra_fields = fields.p,
        .closes = how->closes,
        .is_head_request = how->is_head_request || has_file,
        .has_own_type = true, /* a kept response has the app's */
        .has_unknown_length =
            how->is_head_request && reply->is_of_app && !has_file && reply->body.n == 0,
        .caller_minor = how->caller_minor,
        .cors = how->cors,
    };
    size_t n = hl_answer_write(out->p + out->n, out->cap - out->n, &answer);
    out->n += n;
    err = n > 0 ? HL_OK : HL_ERR_TOO_LARGE;
out:
    hl_buf_fini(&fields);
    return err;
}
