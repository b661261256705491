/* request.c - the header fields of one attempt (contract 5, the table of signature headers). */
#include "webhook/request.h"

#include <stdio.h>

#include "base/id.h"
#include "http/field.h"
#include "http/writer.h"
#include "webhook/signature.h"

enum hl_err hl_webhook_names_init(struct hl_webhook_names *names, struct hl_str service)
{
    if (service.n > HL_SERVICE_NAME_MAX || !hl_str_is_token(service))
        return HL_ERR_INVALID;
    snprintf(names->timestamp, sizeof names->timestamp,
        "X-%.*s-Webhook-Timestamp:", HL_STR_ARG(service));
    snprintf(names->signature, sizeof names->signature,
        "X-%.*s-Webhook-Signature:", HL_STR_ARG(service));
    return HL_OK;
}

static bool add(
    struct hl_webhook_request *r, const char *name, const char *prefix, struct hl_str value);
static bool add_standard(struct hl_webhook_request *r, const struct hl_webhook_proof *proof);

enum hl_err hl_webhook_request_init(struct hl_webhook_request *r,
    const struct hl_webhook_names *names, const struct hl_id *run_id, int64_t unix_s,
    const struct hl_webhook_proof *proof, struct hl_str traceparent, struct curl_slist *more)
{
    char id_text[HL_ID_TEXT], seconds_text[24];
    struct hl_str id = {id_text, sizeof id_text};
    struct hl_writer w = hl_writer_on(seconds_text, sizeof seconds_text);
    hl_id_format(run_id, id_text);
    r->count = r->used = 0;

    /* "Expect:" keeps libcurl from asking for 100-continue, which costs a round trip. */
    bool fits = add(r, "Content-Type:", " ", HL_STR("application/json")) &&
                add(r, "Expect:", "", HL_STR("")) && add(r, "X-Request-Id:", " ", id);
    if (traceparent.n > 0)
        fits = fits && add(r, "traceparent:", " ", traceparent);
    if (proof) {
        hl_write_u64(&w, (uint64_t)unix_s);
        struct hl_str seconds = {seconds_text, hl_writer_end(&w)};
        fits = fits && add(r, names->timestamp, " ", seconds) &&
               add(r, names->signature, " v1,", hl_str_from(proof->signature->hex)) &&
               add(r, "webhook-id:", " ", id) && add(r, "webhook-timestamp:", " ", seconds) &&
               add_standard(r, proof);
    }
    r->fields[r->count - 1].next = more;
    return fits ? HL_OK : HL_ERR_INVALID;
}

/* The new secret's first: a receiver has found it when most have it. */
static bool add_standard(struct hl_webhook_request *r, const struct hl_webhook_proof *proof)
{
    char both[2 * HL_SIGNATURE_BASE64 + 8];
    if (!proof->previous)
        return add(r, "webhook-signature:", " v1,", hl_str_from(proof->signature->base64));
    snprintf(both, sizeof both, "%s v1,%s", proof->signature->base64, proof->previous->base64);
    return add(r, "webhook-signature:", " v1,", hl_str_from(both));
}

static char *copy(char *to, const char *from, size_t n)
{
    memcpy(to, from, n);
    return to + n;
}

/* One line, by copying: printf costs more than all else that is done for a field. */
static bool add(
    struct hl_webhook_request *r, const char *name, const char *prefix, struct hl_str value)
{
    size_t name_n = strlen(name), prefix_n = strlen(prefix);
    char *line = r->text + r->used;
    if (name_n + prefix_n + value.n >= sizeof r->text - r->used ||
        r->count == HL_REQUEST_FIELDS_MAX)
        return false;
    char *end = copy(copy(copy(line, name, name_n), prefix, prefix_n), value.p, value.n);
    *end = '\0';
    r->used = (size_t)(end + 1 - r->text);
    r->fields[r->count] = (struct curl_slist){.data = line};
    if (r->count > 0)
        r->fields[r->count - 1].next = &r->fields[r->count];
    r->count++;
    return true;
}
