/* key_fetch.h - one GET of a key set, or of what leads to one. */
#ifndef HL_AUTH_KEY_FETCH_H
#define HL_AUTH_KEY_FETCH_H

#include <stdint.h>

#include "dns/fetcher.h"

struct hl_buf;
struct hl_str;

#define HL_KEY_FETCH_MS (10 * 1000) /* for a set of keys; as long for what leads to it */

/* What fetches are made with; the keeper sleeps in `http.multi`. */
struct hl_key_fetcher {
    struct hl_fetcher http;
    const char *ca_file; /* dns/trust.h; NULL: libcurl's default */
    /* of what the server wants to see; read for each fetch; NULL: nothing */
    const char *token_file;
    long status; /* of the last answer; 0: none came */
};

/* Fetches `url` into `out`, which has a limit. Blocks until `until_ms` (monotonic) at the latest, or until
 * `*http.stops` and a curl_multi_wakeup. NULL: a 200, and its body is whole; else why not, static text. */
const char *hl_key_fetch(
    struct hl_key_fetcher *f, struct hl_str url, uint64_t until_ms, struct hl_buf *out);

#endif
