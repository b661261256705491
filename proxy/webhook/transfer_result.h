/* transfer_result.h - the outcome of an attempt: the receiver's status, or an explanation for
 * people; and the attempt's report. */
#ifndef HL_WEBHOOK_TRANSFER_RESULT_H
#define HL_WEBHOOK_TRANSFER_RESULT_H

#include <curl/curl.h>

#include "net/address.h"
#include "store/record.h"

struct hl_transfer;

struct hl_transfer_result {
    uint16_t http_status; /* 0: no response head */
    bool is_permanent;    /* no further attempt can do better, whatever the retry table says */
    char error[HL_ATTEMPT_ERROR_MAX + 1]; /* empty: the status says it all */
    /* What the guard refused, for the log alone: names inside a network are no caller's business;
     * else empty. */
    char address[HL_IP_TEXT];
    bool is_ours; /* nothing was sent, for a reason of ours: it says nothing of the receiver */
    uint64_t retry_after_ms; /* what the receiver asked for; 0: nothing */
    /* whoever takes the result frees it; NULL: nothing was connected to */
    struct hl_attempt_report *report;
};

/* `code` is libcurl's last word on the transfer. */
void hl_transfer_result_read(
    const struct hl_transfer *t, CURLcode code, struct hl_transfer_result *out);
/* The name of the receiver, or of the proxy, led nowhere: `why`. */
void hl_transfer_result_unresolved(
    const struct hl_transfer *t, bool is_proxys, const char *why, struct hl_transfer_result *out);
/* The attempt cannot be sent at all. Lack of memory passes, a body that is not there does not. */
void hl_transfer_result_unsent(enum hl_err err, struct hl_transfer_result *out);

#endif
