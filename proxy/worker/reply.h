/* reply.h - an answer of the REST interface on its way from the control thread to whoever writes it:
 * a problem, a body in memory, or one in a file. */
#ifndef HL_WORKER_REPLY_H
#define HL_WORKER_REPLY_H

#include "base/buf.h"
#include "base/id.h"
#include "http/browser.h"
#include "store/record.h"

struct hl_refusal;

#define HL_REPLY_DETAIL_MAX 511

struct hl_follow;

struct hl_reply {
    uint16_t status;
    uint32_t retry_s; /* of a problem */
    bool is_of_app;   /* the app's response: `content_type` may be empty */
    bool is_json;     /* of our own making: it may be tagged and compressed */
    char content_type[HL_CONTENT_FIELD_MAX + 1]; /* empty: a problem that says `detail` */
    char detail[HL_REPLY_DETAIL_MAX + 1];
    const char *cause;    /* of a problem: struct hl_refusal's, static */
    struct hl_id run_id;  /* the run it is about; nil: none */
    struct hl_buf fields; /* whole lines with CRLF */
    struct hl_buf body;
    /* Whole, of the app's answer to a call at a front, whose caller gets what is made of it (worker/front_caller.h) in
     * place of what stands above; empty: there is none. */
    struct hl_buf head;
    struct hl_body file; /* FILE: the body, in place of `body`; borrowed from the store */
    /* The asker may follow a run's events: that is the answer. Owned; NULL: it is what stands above. */
    struct hl_follow *follow;
};

void hl_reply_fini(struct hl_reply *reply);

/* Makes it a problem; its field lines are what `fields` has. What stands in the text must be printable
 * ASCII; too long a text is cut. */
void hl_reply_refuse(struct hl_reply *reply, const struct hl_refusal *why);

struct hl_reply_writing {
    const struct hl_id *request_id; /* X-Request-Id where the reply names no run; NULL: none then */
    bool closes;
    bool is_head_request;
    uint8_t caller_minor;
    struct hl_cors cors;
};

/* Appends head and body; of a body in a file only its length. */
HL_MUST_CHECK enum hl_err hl_reply_write(
    const struct hl_reply *reply, const struct hl_reply_writing *how, struct hl_buf *out);

/* Whether a file's bytes follow what hl_reply_write wrote. */
static inline bool hl_reply_has_file(const struct hl_reply *reply)
{
    return reply->file.where == HL_BODY_FILE;
}

#endif
