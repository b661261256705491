/* post.h - one POST to the collector with libcurl. */
#ifndef HL_TRACE_POST_H
#define HL_TRACE_POST_H

#include <curl/curl.h>

#include "base/buf.h"
#include "dns/fetcher.h"

struct hl_post_reply {
    long status;             /* 0: none came */
    const char *fault;       /* why there is none; static */
    uint64_t retry_after_ms; /* as it said; 0: it did not */
    struct hl_buf body;      /* its beginning */
};

#define HL_POST_REPLY_MAX (64 * 1024)

/* Blocks until `until_ms` (monotonic) at the latest. `reply` is initialized here and ended by the caller. */
void hl_post(struct hl_fetcher *fetcher, const char *url, struct curl_slist *fields,
    struct hl_str body, uint64_t until_ms, struct hl_post_reply *reply);
/* Whether OTLP has it sent again: no answer, 429, 502, 503, 504. */
bool hl_post_may_repeat(const struct hl_post_reply *reply);
void hl_post_reply_fini(struct hl_post_reply *reply);

#endif
