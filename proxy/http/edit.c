/* edit.c - writes the head that goes on, from the lines of the one that came.
 * Thread: any; no state, no allocation.
 * Promise: start line, Host, framing and Connection are ours; every other line is one that field.c
 * has accepted, byte for byte; neighbours that stay are copied together.
 * Not here: which framing (run/), what the caller may ask for (route/plan.c). */
#include "http/edit.h"

#include "base/id.h"
#include "http/browser.h"
#include "http/byte.h"
#include "http/prefer.h"
#include "http/writer.h"

#define BIT(name) (UINT64_C(1) << HL_FIELD_##name)
_Static_assert(HL_FIELD_ID_COUNT <= 64, "sets of field ids are one word");

/* Copies the lines that are end-to-end and whose id is not in `dropped`. */
static void write_lines(struct hl_writer *w, const struct hl_head *head, uint64_t dropped)
{
    struct hl_str kept = {0};
    for (size_t i = 0; i < head->field_count; i++) {
        const struct hl_field *field = &head->fields[i];
        if (!field->is_hop && !(dropped >> field->id & 1)) {
            if (kept.n == 0)
                kept.p = field->line.p;
            kept.n += field->line.n;
        } else if (kept.n > 0) {
            hl_write(w, kept.p, kept.n);
            kept.n = 0;
        }
    }
    hl_write_str(w, kept);
}

static void write_id(struct hl_writer *w, const struct hl_id *id)
{
    char text[HL_ID_TEXT];
    hl_id_format(id, text);
    HL_WRITE_LINE(w, "X-Request-Id: ", ((struct hl_str){text, sizeof text}));
}

static void write_framing(struct hl_writer *w, enum hl_framing framing, uint64_t content_length)
{
    if (framing == HL_FRAMING_LENGTH) {
        HL_WRITE(w, "Content-Length: ");
        hl_write_u64(w, content_length);
        HL_WRITE(w, "\r\n");
    } else if (framing == HL_FRAMING_CHUNKED) {
        HL_WRITE(w, "Transfer-Encoding: chunked\r\n");
    }
}

/* "Trailer" again, which is taken out with the hop-by-hop fields. */
static void write_trailer_names(struct hl_writer *w, const struct hl_head *head)
{
    const struct hl_field *field = hl_head_field(head, HL_FIELD_TRAILER);
    if (field)
        hl_write_str(w, field->line);
}

static uint64_t dropped_from_request(
    const struct hl_head *head, const struct hl_request_edit *edit, bool keeps_trace);
static void write_forwarded(
    struct hl_writer *w, const struct hl_head *head, const struct hl_request_edit *edit);
static void write_request_hop(
    struct hl_writer *w, const struct hl_head *head, const struct hl_request_edit *edit);
static size_t write_deadline(struct hl_writer *w);

size_t hl_edit_request(
    char *out, size_t cap, const struct hl_head *head, const struct hl_request_edit *edit)
{
    struct hl_writer w = hl_writer_on(out, cap);
    hl_write_str(&w, head->method);
    HL_WRITE(&w, " ");
    hl_write_str(&w, edit->target);
    HL_WRITE_LINE(&w, " HTTP/1.1\r\nHost: ", head->host);

    const struct hl_field *trace = hl_head_field(head, HL_FIELD_TRACEPARENT);
    bool keeps_trace = edit->traceparent.n == 0 && trace && hl_is_traceparent(trace->value) &&
                       hl_head_field_count(head, HL_FIELD_TRACEPARENT) == 1;
    write_lines(&w, head, dropped_from_request(head, edit, keeps_trace));

    if (edit->drops_token_protocol)
        hl_subprotocol_write_others(&w, head);
    if (edit->drops_preferences)
        hl_prefer_write_others(&w, head);
    write_id(&w, edit->run_id);
    write_forwarded(&w, head, edit);
    if (edit->traceparent.n > 0)
        HL_WRITE_LINE(&w, "traceparent: ", edit->traceparent);
    if (edit->wants_identity)
        HL_WRITE(&w, "Accept-Encoding: identity\r\n");
    if (head->max_forwards > 0) {
        HL_WRITE(&w, "Max-Forwards: ");
        hl_write_u64(&w, (uint64_t)head->max_forwards - 1);
        HL_WRITE(&w, "\r\n");
    }
    if (head->minor > 0)
        HL_WRITE_LINE(&w, "Via: 1.1 ", edit->via);
    else
        HL_WRITE_LINE(&w, "Via: 1.0 ", edit->via);
    if (edit->deadline_at)
        *edit->deadline_at = write_deadline(&w);
    if (!edit->is_stored)
        write_request_hop(&w, head, edit);
    return hl_writer_end(&w);
}

/* Without a branch: of branches that set constants gcc 12 makes every combination beforehand. */
static inline uint64_t bits_if(bool is_so, uint64_t bits)
{
    return bits & -(uint64_t)is_so;
}

static uint64_t dropped_from_request(
    const struct hl_head *head, const struct hl_request_edit *edit, bool keeps_trace)
{
    return BIT(HOST) | BIT(CONTENT_LENGTH) | BIT(TRANSFER_ENCODING) | BIT(UNDERSCORE) |
           BIT(X_WEBHOOK_SECRET) | BIT(X_REQUEST_ID) | BIT(X_RUN) | BIT(X_FORWARDED_FOR) |
           BIT(FORWARDED) |
           bits_if(!edit->is_peer_trusted, BIT(X_FORWARDED_PROTO) | BIT(X_FORWARDED_HOST) |
                                               BIT(X_FORWARDED_OTHER) | BIT(X_REAL_IP)) |
           bits_if(!edit->keeps_authorization, BIT(AUTHORIZATION)) |
           bits_if(edit->drops_token_protocol, BIT(SEC_WEBSOCKET_PROTOCOL)) |
           bits_if(edit->drops_preferences, BIT(PREFER)) |
           bits_if(edit->drops_expect || !head->expects_continue, BIT(EXPECT)) |
           bits_if(edit->wants_identity, BIT(ACCEPT_ENCODING)) |
           bits_if(head->max_forwards >= 0, BIT(MAX_FORWARDS)) |
           bits_if(!keeps_trace, BIT(TRACEPARENT)) |
           bits_if(!keeps_trace && !edit->keeps_tracestate, BIT(TRACESTATE));
}

/* The values of all lines of that name as one list, with ", " after it. */
static void write_values(struct hl_writer *w, const struct hl_head *head, enum hl_field_id id)
{
    if (head->first[id] < 0)
        return;
    for (size_t i = (size_t)head->first[id]; i < head->field_count; i++) {
        if (head->fields[i].id != id || head->fields[i].value.n == 0)
            continue;
        hl_write_str(w, head->fields[i].value);
        HL_WRITE(w, ", ");
    }
}

/* Forwarded and X-Real-IP are written only where the caller sent them: an app that reads them gets
 * the truth, and no other app is bothered (contract 2). */
static void write_replaced_addresses(
    struct hl_writer *w, const struct hl_head *head, const struct hl_request_edit *edit)
{
    if (head->first[HL_FIELD_FORWARDED] >= 0) {
        bool is_v6 = memchr(edit->peer.p, ':', edit->peer.n) != NULL;
        HL_WRITE(w, "Forwarded: ");
        if (edit->is_peer_trusted)
            write_values(w, head, HL_FIELD_FORWARDED);
        hl_write_str(w, is_v6 ? HL_STR("for=\"[") : HL_STR("for="));
        hl_write_str(w, edit->peer);
        hl_write_str(w, is_v6 ? HL_STR("]\"\r\n") : HL_STR("\r\n"));
    }
    if (head->first[HL_FIELD_X_REAL_IP] >= 0 && !edit->is_peer_trusted)
        HL_WRITE_LINE(w, "X-Real-IP: ", edit->peer);
}

static void write_forwarded(
    struct hl_writer *w, const struct hl_head *head, const struct hl_request_edit *edit)
{
    bool trusts = edit->is_peer_trusted;
    if (edit->peer.n > 0) {
        HL_WRITE(w, "X-Forwarded-For: ");
        if (trusts)
            write_values(w, head, HL_FIELD_X_FORWARDED_FOR);
        hl_write_str(w, edit->peer);
        HL_WRITE(w, "\r\n");
        write_replaced_addresses(w, head, edit);
    }
    if (!trusts || head->first[HL_FIELD_X_FORWARDED_PROTO] < 0)
        hl_write_str(w, edit->is_https ? HL_STR("X-Forwarded-Proto: https\r\n")
                                       : HL_STR("X-Forwarded-Proto: http\r\n"));
    if (edit->client_cert.n > 0)
        HL_WRITE_LINE(w, "X-Forwarded-Client-Cert: ", edit->client_cert);
    if (head->host.n > 0 && (!trusts || head->first[HL_FIELD_X_FORWARDED_HOST] < 0))
        HL_WRITE_LINE(w, "X-Forwarded-Host: ", head->host);
}

static void write_request_hop(
    struct hl_writer *w, const struct hl_head *head, const struct hl_request_edit *edit)
{
    if (head->is_websocket_upgrade)
        HL_WRITE(w, "Connection: Upgrade\r\nUpgrade: websocket\r\n");
    else if (head->accepts_trailers && edit->closes)
        HL_WRITE(w, "Connection: close, TE\r\nTE: trailers\r\n");
    else if (head->accepts_trailers)
        HL_WRITE(w, "Connection: TE\r\nTE: trailers\r\n");
    else if (edit->closes)
        HL_WRITE(w, "Connection: close\r\n");
    write_framing(w, edit->framing, edit->content_length);
    if (edit->framing == HL_FRAMING_CHUNKED)
        write_trailer_names(w, head);
    HL_WRITE(w, "\r\n");
}

/* Returns where its digits stand. */
static size_t write_deadline(struct hl_writer *w)
{
    HL_WRITE(w, "X-Run-Deadline: ");
    size_t at = (size_t)(w->p - w->start);
    HL_WRITE(w, "0000000000\r\n");
    return at;
}

size_t hl_edit_finish_stored(
    char *out, size_t cap, const struct hl_stored_end *end, size_t *deadline_at)
{
    struct hl_writer w = hl_writer_on(out, cap);
    HL_WRITE(&w, "X-Run-Attempt: ");
    hl_write_u64(&w, end->attempt);
    HL_WRITE(&w, "\r\n");
    *deadline_at = write_deadline(&w);
    if (end->closes)
        HL_WRITE(&w, "Connection: close\r\n");
    write_framing(&w, end->has_body ? HL_FRAMING_LENGTH : HL_FRAMING_NONE, end->content_length);
    HL_WRITE(&w, "\r\n");
    return hl_writer_end(&w);
}

void hl_edit_set_deadline(char *digits, int64_t wall_ms)
{
    int64_t seconds = wall_ms / 1000;
    for (int i = HL_EDIT_DEADLINE_DIGITS - 1; i >= 0; i--, seconds /= 10)
        digits[i] = (char)('0' + seconds % 10);
}

static void write_status_line(struct hl_writer *w, const struct hl_head *head)
{
    HL_WRITE(w, "HTTP/1.1 ");
    hl_write_u64(w, head->status);
    HL_WRITE(w, " ");
    hl_write_str(w, head->reason);
    HL_WRITE(w, "\r\n");
}

/* A recipient with a clock dates what it passes on (RFC 9110 6.6.1); interim responses do not need
 * it. */
static void write_date(struct hl_writer *w, const struct hl_head *head, struct hl_str date)
{
    const struct hl_field *field = hl_head_field(head, HL_FIELD_DATE);
    if (date.n == 0 || head->status < 200 || (field && !field->is_hop))
        return;
    HL_WRITE_LINE(w, "Date: ", date);
}

static void write_response_hop(
    struct hl_writer *w, const struct hl_head *head, const struct hl_response_edit *edit);

size_t hl_edit_response(
    char *out, size_t cap, const struct hl_head *head, const struct hl_response_edit *edit)
{
    struct hl_writer w = hl_writer_on(out, cap);
    const struct hl_field *type = hl_head_field(head, HL_FIELD_CONTENT_TYPE);
    bool adds_charset =
        edit->is_event_stream && type && hl_str_eq_nocase(type->value, HL_STR("text/event-stream"));
    uint64_t dropped = BIT(CONTENT_LENGTH) | BIT(TRANSFER_ENCODING) | BIT(UNDERSCORE) |
                       BIT(X_REQUEST_ID) | bits_if(adds_charset, BIT(CONTENT_TYPE)) |
                       /* two of them are as good as none */
                       bits_if(edit->cors.allowed.n > 0, BIT(ACCESS_CONTROL_ALLOW_ORIGIN)) |
                       bits_if(edit->is_unkept, BIT(X_RUN)); /* it is ours to say */

    write_status_line(&w, head);
    write_lines(&w, head, dropped);
    write_date(&w, head, edit->date);
    write_id(&w, edit->run_id);
    if (adds_charset)
        HL_WRITE(&w, "Content-Type: text/event-stream; charset=utf-8\r\n");
    if (edit->is_event_stream && head->first[HL_FIELD_CACHE_CONTROL] < 0)
        HL_WRITE(&w, "Cache-Control: no-cache\r\n");
    if (edit->is_event_stream && head->first[HL_FIELD_X_ACCEL_BUFFERING] < 0)
        HL_WRITE(&w, "X-Accel-Buffering: no\r\n");
    if (edit->is_unkept)
        HL_WRITE(&w, "X-Run-Kept: false\r\n");
    if (edit->preference_applied)
        HL_WRITE(&w, "Preference-Applied: respond-async\r\n");
    if (edit->selects_own && head->status == 101 &&
        head->first[HL_FIELD_SEC_WEBSOCKET_PROTOCOL] < 0)
        HL_WRITE(&w, "Sec-WebSocket-Protocol: hookline\r\n");
    hl_cors_write(&w, &edit->cors);
    write_response_hop(&w, head, edit);
    return hl_writer_end(&w);
}

static void write_response_hop(
    struct hl_writer *w, const struct hl_head *head, const struct hl_response_edit *edit)
{
    if (head->status == 101) {
        HL_WRITE(w, "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
        return;
    }
    if (head->status >= 200) {
        bool closes = edit->closes || edit->framing == HL_FRAMING_UNTIL_CLOSE;
        if (head->wants_websocket && edit->caller_minor > 0) /* RFC 9110 15.5.22 */
            hl_write_str(w, closes ? HL_STR("Connection: close, Upgrade\r\nUpgrade: websocket\r\n")
                                   : HL_STR("Connection: Upgrade\r\nUpgrade: websocket\r\n"));
        else if (closes)
            HL_WRITE(w, "Connection: close\r\n");
        else if (edit->caller_minor == 0)
            HL_WRITE(w, "Connection: keep-alive\r\n");

        /* What a GET would have brought: information, not framing; never in a 204 (RFC 9110 8.6).
         */
        bool has_no_body = edit->is_head_request || head->status == 304;
        if (head->status != 204 && !has_no_body)
            write_framing(w, edit->framing, edit->content_length);
        else if (head->status != 204 && head->has_content_length)
            write_framing(w, HL_FRAMING_LENGTH, head->content_length);
        if (edit->wants_trailers)
            write_trailer_names(w, head);
    }
    HL_WRITE(w, "\r\n");
}

bool hl_is_event_stream(struct hl_str content_type)
{
    const char *semicolon = content_type.n ? memchr(content_type.p, ';', content_type.n) : NULL;
    if (semicolon)
        content_type.n = (size_t)(semicolon - content_type.p);
    return hl_str_eq_nocase(hl_str_trim(content_type), HL_STR("text/event-stream"));
}

/* `n` lower-case hex digits at p; `*is_zero` when all of them are 0. */
static bool is_lower_hex(const char *p, size_t n, bool *is_zero)
{
    *is_zero = true;
    for (size_t i = 0; i < n; i++) {
        if (!hl_byte_is(p[i], HL_BYTE_HEX) || (p[i] >= 'A' && p[i] <= 'F'))
            return false;
        *is_zero &= p[i] == '0';
    }
    return true;
}

bool hl_is_traceparent(struct hl_str value)
{
    enum { VERSION = 0, TRACE = 3, PARENT = 36, FLAGS = 53, LENGTH = 55 };
    const char *p = value.p;
    bool is_first, has_no_trace, has_no_parent, ignored;
    if (value.n < LENGTH || p[TRACE - 1] != '-' || p[PARENT - 1] != '-' || p[FLAGS - 1] != '-')
        return false;
    if (!is_lower_hex(p + VERSION, 2, &is_first) || !is_lower_hex(p + TRACE, 32, &has_no_trace) ||
        !is_lower_hex(p + PARENT, 16, &has_no_parent) || !is_lower_hex(p + FLAGS, 2, &ignored))
        return false;
    if (has_no_trace || has_no_parent || memcmp(p, "ff", 2) == 0)
        return false;
    /* Later versions may append fields. */
    return value.n == LENGTH || (!is_first && p[LENGTH] == '-');
}
