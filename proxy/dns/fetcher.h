/* fetcher.h - requests by libcurl, one after the other, of a thread that waits for each of them and sleeps in
 * `multi` between them: names are looked up by the resolver, on the same loop. One thread owns it. */
#ifndef HL_DNS_FETCHER_H
#define HL_DNS_FETCHER_H

#include <curl/curl.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "dns/resolver.h"
#include "http/url.h"

struct hl_fetcher {
    CURLM *multi;                /* NULL: it is not initialized */
    struct hl_resolver resolver; /* nothing is under way between two requests */
    const _Atomic bool *stops;   /* with a curl_multi_wakeup: a request ends */
};

/* On the control thread, both. False: out of memory. `stops` is set by the owner. */
HL_MUST_CHECK bool hl_fetcher_init(struct hl_fetcher *f);
void hl_fetcher_fini(struct hl_fetcher *f); /* harmless where it is not initialized */

/* One request: begun, set up further by its owner, run, ended. */
struct hl_fetch {
    CURL *easy;
    struct hl_pin pin;
    struct hl_url url; /* as it was given */
};

/* Looks the URL's host up, and makes a GET of it whose answer is appended to `out`: what does not fit into that breaks it
 * off (CURLE_WRITE_ERROR). `url` ends with NUL, and it and `out` are borrowed until hl_fetch_end. Waits until
 * `until_ms` (monotonic) at the latest, as the whole request does. NULL, or why there is none, static text: then nothing
 * has to be ended. */
const char *hl_fetch_begin(struct hl_fetcher *f, struct hl_fetch *fetch, struct hl_str url,
    uint64_t until_ms, struct hl_buf *out);
/* NULL: `code` is how it ended, CURLE_ABORTED_BY_CALLBACK by `stops`. Else why it was not begun, static text. */
const char *hl_fetch_run(struct hl_fetcher *f, struct hl_fetch *fetch, CURLcode *code);
void hl_fetch_end(struct hl_fetch *fetch);

#endif
