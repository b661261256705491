/* request.h - the header fields of one attempt, as the list that libcurl reads. No allocation:
 * lines and list nodes are in the struct. */
#ifndef HL_WEBHOOK_REQUEST_H
#define HL_WEBHOOK_REQUEST_H

#include <curl/curl.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err.h"

struct hl_id;
struct hl_str;

#define HL_SERVICE_NAME_MAX 64

/* The names that carry HOOKLINE_SERVICE_NAME, made once. */
struct hl_webhook_names {
    char timestamp[HL_SERVICE_NAME_MAX + 32]; /* "X-<Service>-Webhook-Timestamp:" */
    char signature[HL_SERVICE_NAME_MAX + 32]; /* "X-<Service>-Webhook-Signature:" */
};

/* INVALID: not a token (RFC 9110 5.6.2), or too long. */
HL_MUST_CHECK enum hl_err hl_webhook_names_init(
    struct hl_webhook_names *names, struct hl_str service);

#define HL_REQUEST_FIELDS_MAX 12

struct hl_webhook_request {
    struct curl_slist fields[HL_REQUEST_FIELDS_MAX]; /* the first is the list's head */
    size_t count;
    size_t used;
    char text[2048];
};

/* What an attempt is signed with. `previous`: of the operator's former secret, or NULL. */
struct hl_webhook_proof {
    const struct hl_signature_text *signature, *previous;
};

/* Without `proof` (there is no secret): no timestamp and no signature field. `more` (NULL: none): fields
 * that stand behind ours, borrowed for as long as the struct is used; nothing else is. INVALID: the
 * fields do not fit. The struct must not move while libcurl reads it. */
HL_MUST_CHECK enum hl_err hl_webhook_request_init(struct hl_webhook_request *r,
    const struct hl_webhook_names *names, const struct hl_id *run_id, int64_t unix_s,
    const struct hl_webhook_proof *proof, struct hl_str traceparent, struct curl_slist *more);

#endif
