/* field_value.h - what stands in single fields: Date and Retry-After, If-None-Match, Accept-Encoding, RateLimit. */
#ifndef HL_HTTP_FIELD_VALUE_H
#define HL_HTTP_FIELD_VALUE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/* ---- Date ---- */

#define HL_DATE_TEXT 29 /* "Sun, 06 Nov 1994 08:49:37 GMT" */

/* The text of one second; zero it before its first use. One thread's. */
struct hl_date {
    int64_t second; /* since the epoch */
    char text[HL_DATE_TEXT];
};

/* That second's text, made anew only when it is another one than last time; years 0 to 9999. Valid
 * until the next call. */
struct hl_str hl_date_text(struct hl_date *date, int64_t second);

/* The present second's. */
struct hl_str hl_date_now(struct hl_date *date);

/* ---- Retry-After ---- */

/* Milliseconds from `now_ms`, wall time, on. Seconds, however many (UINT64_MAX: more than that), or a date in one of the
 * three forms (RFC 9110 5.6.7); 0: it is neither, or over. */
uint64_t hl_retry_after_ms(struct hl_str value, int64_t now_ms);

/* ---- If-None-Match ---- */

/* `if_none_match`: the field's value, a list of tags, of which a cache may have weakened some, or "*";
 * empty: it was not there. `etag`: with its quotes. */
bool hl_etag_is_known(struct hl_str if_none_match, struct hl_str etag);

/* ---- Accept, Accept-Encoding ---- */

/* A weight in thousandths, of a parameter "q=…" (RFC 9110 12.4.2); what is none weighs 1,000. */
int hl_weight_read(struct hl_str parameter);

/* Whether the value of Accept-Encoding names `coding`, or else `*`, with a weight above 0 that is not less than that of
 * `identity`, if that is named. */
bool hl_coding_is_preferred(struct hl_str accept_encoding, struct hl_str coding);
/* Whether it excludes what is not encoded (RFC 9110 12.5.3). */
bool hl_identity_is_refused(struct hl_str accept_encoding);

/* ---- RateLimit ---- */

/* One policy, of which nothing is left. */
struct hl_rate_limit {
    const char *policy; /* its name: letters, digits, _ */
    uint32_t quota;
    uint32_t window_s; /* 0: it is of no time, but of what there is at once */
    uint32_t wait_s;   /* until there is more; 0: nobody knows */
};

#define HL_RATE_LIMIT_MAX 160
/* Whole lines with CRLF, NUL-terminated. */
void hl_rate_limit_write(char out[HL_RATE_LIMIT_MAX], const struct hl_rate_limit *limit);

#endif
