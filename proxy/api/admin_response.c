/* admin_response.c - see admin_response.h.
 * Owns: nothing. Thread: control.
 * Promise: an answer goes out whole, or the connection closes.
 * Not here: what is answered (admin_answer.c), a file's pieces (admin_file.c), what others say (admin_follow.c,
 * admin_pass.c). */
#include "api/admin_response.h"

#include <stdlib.h>

#include "api/admin_connection.h"
#include "api/endpoint.h"
#include "http/problem.h"

#define ANSWER_MAX 4096 /* an answer without its body, or a problem */

void hl_admin_response_end(struct hl_admin_connection *c)
{
    if (c->must_close) {
        c->state = HL_ADMIN_LINGER;
        hl_stream_shutdown(&c->stream);
    } else {
        c->state = HL_ADMIN_HEAD;
    }
    c->has_begun = false;
    c->method = HL_METHOD_OTHER; /* until the next head says */
}

void hl_admin_response_write(struct hl_admin_connection *c, const struct hl_api_response *response)
{
    struct hl_answer fields = {
        .refusal = response->refusal,
        .status = response->status,
        .content_type = response->content_type,
        .body = hl_buf_str(&response->body),
        .extra_fields = response->fields,
        .cache_control = response->cache_control,
        .closes = c->must_close,
        .is_head_request = c->method == HL_METHOD_HEAD,
        .caller_minor = c->minor,
    };
    size_t cap = ANSWER_MAX + response->body.n;
    char *out = malloc(cap);
    size_t n = out ? hl_answer_write(out, cap, &fields) : 0;
    if (n == 0 || hl_stream_write(&c->stream, out, n) != HL_OK)
        hl_admin_connection_close(c);
    else
        hl_admin_response_end(c);
    free(out);
}

void hl_admin_response_refuse(struct hl_admin_connection *c, const struct hl_refusal *why)
{
    hl_admin_response_write(c, &(struct hl_api_response){.refusal = why});
}

void hl_admin_response_json(struct hl_admin_connection *c, struct hl_str json)
{
    struct hl_api_response response = {.status = 200, .content_type = HL_STR("application/json")};
    if (hl_buf_append_str(&response.body, json) == HL_OK)
        hl_admin_response_write(c, &response);
    else
        hl_admin_response_refuse(c, hl_refusal(HL_REFUSAL_ADMIN_MEMORY));
    hl_buf_fini(&response.body);
}
