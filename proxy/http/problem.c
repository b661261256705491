/* problem.c - the answers that hookline gives itself.
 * Thread: any; no state, no allocation. Off the warm path. */
#include "http/problem.h"

#include "base/compiler.h"
#include "base/id.h"
#include "http/body_check.h"
#include "http/field_value.h"
#include "http/writer.h"

static const struct {
    uint16_t status;
    const char *phrase;
} phrases[] = {
    {100, "Continue"},
    {101, "Switching Protocols"},
    {103, "Early Hints"},
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {206, "Partial Content"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {303, "See Other"},
    {304, "Not Modified"},
    {307, "Temporary Redirect"},
    {308, "Permanent Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {411, "Length Required"},
    {412, "Precondition Failed"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {416, "Range Not Satisfiable"},
    {417, "Expectation Failed"},
    {421, "Misdirected Request"},
    {422, "Unprocessable Content"},
    {426, "Upgrade Required"},
    {428, "Precondition Required"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
    {507, "Insufficient Storage"},
    {508, "Loop Detected"},
};

const char *hl_status_phrase(uint16_t status)
{
    for (size_t i = 0; i < HL_ARRAY_LEN(phrases); i++)
        if (phrases[i].status == status)
            return phrases[i].phrase;
    return "";
}

/* `z` as a JSON string with its quotes. */
static void write_json_string(struct hl_writer *w, const char *z)
{
    HL_WRITE(w, "\"");
    for (; *z; z++) {
        char escaped[6];
        hl_write(w, escaped, hl_json_escape(escaped, z, 1));
    }
    HL_WRITE(w, "\"");
}

static void write_id_text(struct hl_writer *w, const struct hl_id *id)
{
    char text[HL_ID_TEXT];
    hl_id_format(id, text);
    hl_write(w, text, sizeof text);
}

size_t hl_problem_write(
    char *out, size_t cap, const struct hl_refusal *why, const struct hl_id *run_id)
{
    struct hl_writer writer = hl_writer_on(out, cap), *w = &writer;
    HL_WRITE(w, "{\"type\":\"about:blank\",\"title\":");
    write_json_string(w, hl_status_phrase(why->status));
    HL_WRITE(w, ",\"status\":");
    hl_write_u64(w, why->status);
    if (why->detail) {
        HL_WRITE(w, ",\"detail\":");
        write_json_string(w, why->detail);
    }
    if (run_id) {
        HL_WRITE(w, ",\"run_id\":\"");
        write_id_text(w, run_id);
        HL_WRITE(w, "\"");
    }
    HL_WRITE(w, "}");
    return hl_writer_end(w);
}

/* RFC 9110 6.6.1. */
static void write_date(struct hl_writer *w)
{
    struct hl_date date = {0};
    hl_write_str(w, hl_date_now(&date));
}

/* RFC 9110 10.2.3. */
static void write_refusal_fields(struct hl_writer *w, const struct hl_refusal *why)
{
    if (why->retry_s != HL_RETRY_NONE) {
        HL_WRITE(w, "Retry-After: ");
        hl_write_u64(w, why->retry_s);
        HL_WRITE(w, "\r\n");
    }
    if (why->fields)
        hl_write_str(w, hl_str_from(why->fields));
}

static void write_head(
    struct hl_writer *w, const struct hl_answer *answer, struct hl_str type, size_t body_len)
{
    uint16_t status = hl_answer_status(answer);
    HL_WRITE(w, "HTTP/1.1 ");
    hl_write_u64(w, status);
    HL_WRITE(w, " ");
    hl_write_str(w, hl_str_from(hl_status_phrase(status)));
    HL_WRITE(w, "\r\nDate: ");
    write_date(w);
    bool may_have_body = status != 204 && status != 304; /* RFC 9110 8.6 */
    bool has_type = type.n > 0 && (body_len > 0 || (answer->has_own_type && may_have_body));
    if (has_type || answer->is_stream) {
        HL_WRITE(w, "\r\nContent-Type: ");
        hl_write_str(w, type);
    }
    if (answer->is_stream) {
        if (answer->caller_minor > 0)
            HL_WRITE(w, "\r\nTransfer-Encoding: chunked");
    } else if (may_have_body && !answer->has_unknown_length) {
        HL_WRITE(w, "\r\nContent-Length: ");
        hl_write_u64(w, body_len);
    }
    /* Some of these statuses may be kept by caches unless they are told not to (RFC 9110 15.1). */
    HL_WRITE(w, "\r\nCache-Control: ");
    hl_write_str(w, hl_str_from(answer->cache_control ? answer->cache_control : "no-store"));
    HL_WRITE(w, "\r\n");
    if (answer->run_id) {
        HL_WRITE(w, "X-Request-Id: ");
        write_id_text(w, answer->run_id);
        HL_WRITE(w, "\r\n");
    }
    if (answer->refusal)
        write_refusal_fields(w, answer->refusal);
    if (answer->extra_fields)
        hl_write_str(w, hl_str_from(answer->extra_fields));
    hl_cors_write(w, &answer->cors);
    if (answer->closes)
        HL_WRITE(w, "Connection: close\r\n");
    else if (answer->caller_minor == 0)
        HL_WRITE(w, "Connection: keep-alive\r\n");
    HL_WRITE(w, "\r\n");
}

size_t hl_answer_write(char *out, size_t cap, const struct hl_answer *answer)
{
    const struct hl_refusal *why = answer->refusal;
    struct hl_str type = why ? HL_STR("application/problem+json") : answer->content_type;
    char problem[2048];
    struct hl_str body = answer->body;
    if (why) {
        body.n = hl_problem_write(problem, sizeof problem, why, answer->run_id);
        body.p = problem;
        if (body.n == 0)
            return 0;
    }
    struct hl_writer w = hl_writer_on(out, cap);
    write_head(&w, answer, type, body.n);
    if (!answer->is_head_request && !answer->is_stream)
        hl_write_str(&w, body);
    return hl_writer_end(&w);
}
