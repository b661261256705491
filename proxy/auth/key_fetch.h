/* key_fetch.h - one GET of a key set. */
#ifndef HL_AUTH_KEY_FETCH_H
#define HL_AUTH_KEY_FETCH_H

#include <curl/curl.h>
#include <stdatomic.h>
#include <stdbool.h>

struct hl_buf;
struct hl_resolver;
struct hl_str;

#define HL_KEY_FETCH_MS (10 * 1000) /* it takes no longer */

/* Fetches `url` into `out`, which has a limit. Blocks for at most HL_KEY_FETCH_MS, or until `*stops`
 * and a curl_multi_wakeup. `resolver` has nothing under way. NULL: a 200, and its body is whole; else
 * why not, static text. */
const char *hl_key_fetch(CURLM *multi, struct hl_resolver *resolver, struct hl_str url,
    struct hl_buf *out, const _Atomic bool *stops);

#endif
