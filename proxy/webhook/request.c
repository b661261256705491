/* request.c - the header fields of one attempt (spec 5, the table of signature headers). */
#include "webhook/request.h"

#include <stdarg.h>
#include <stdio.h>

#include "http/field.h"

enum hl_err hl_webhook_names_init(struct hl_webhook_names *names, struct hl_str service)
{
    if (service.n > HL_SERVICE_NAME_MAX || !hl_str_is_token(service))
        return HL_ERR_INVALID;
    snprintf(
        names->timestamp, sizeof names->timestamp, "X-%.*s-Webhook-Timestamp", HL_STR_ARG(service));
    snprintf(
        names->signature, sizeof names->signature, "X-%.*s-Webhook-Signature", HL_STR_ARG(service));
    return HL_OK;
}

static bool add(struct hl_request *r, const char *fmt, ...) HL_PRINTF(2, 3);

enum hl_err hl_request_init(struct hl_request *r, const struct hl_webhook_names *names,
    const struct hl_id *run_id, int64_t unix_s, const struct hl_signature_text *signature,
    struct hl_str traceparent)
{
    char id[HL_ID_TEXT];
    long long seconds = (long long)unix_s;
    hl_id_format(run_id, id);
    r->count = r->used = 0;

    /* "Expect:" keeps libcurl from asking for 100-continue, which costs a round trip. */
    bool fits = add(r, "Content-Type: application/json") && add(r, "Expect:") &&
                add(r, "X-Request-Id: %.*s", HL_ID_TEXT, id);
    if (traceparent.n > 0)
        fits = fits && add(r, "traceparent: %.*s", HL_STR_ARG(traceparent));
    if (signature)
        fits = fits && add(r, "%s: %lld", names->timestamp, seconds) &&
               add(r, "%s: v1,%s", names->signature, signature->hex) &&
               add(r, "webhook-id: %.*s", HL_ID_TEXT, id) &&
               add(r, "webhook-timestamp: %lld", seconds) &&
               add(r, "webhook-signature: v1,%s", signature->base64);
    return fits ? HL_OK : HL_ERR_INVALID;
}

static bool add(struct hl_request *r, const char *fmt, ...)
{
    size_t room = sizeof r->text - r->used;
    char *line = r->text + r->used;
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(line, room, fmt, args);
    va_end(args);
    if (n < 0 || (size_t)n >= room || r->count == HL_REQUEST_FIELDS_MAX)
        return false;
    r->used += (size_t)n + 1;
    r->fields[r->count] = (struct curl_slist){.data = line};
    if (r->count > 0)
        r->fields[r->count - 1].next = &r->fields[r->count];
    r->count++;
    return true;
}
