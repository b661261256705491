/* fetcher.c - see fetcher.h.
 * Thread: its owner's.
 * Promise: bounded in time; no thread of a resolver, which would outlive the request, or hold it; certificates are
 * verified; no redirect is followed; no proxy, cookie or netrc of the environment has a part in it.
 * Not here: what an answer is good for (auth/key_fetch.c, trace/post.c), webhooks, of which many go at once (webhook/). */
#include "dns/fetcher.h"

#include "base/clock.h"
#include "net/guard.h"

static const char out_of_memory[] = "out of memory";

bool hl_fetcher_init(struct hl_fetcher *f)
{
    f->multi = curl_multi_init();
    if (!f->multi)
        return false;
    hl_resolver_init(&f->resolver);
    return true;
}

void hl_fetcher_fini(struct hl_fetcher *f)
{
    if (!f->multi)
        return;
    hl_resolver_fini(&f->resolver);
    curl_multi_cleanup(f->multi);
    f->multi = NULL;
}

static uint64_t left_of(uint64_t until_ms)
{
    uint64_t now_ms = hl_clock_mono_ms();
    return until_ms > now_ms ? until_ms - now_ms : 1;
}

/* ---- where it goes ---- */

static void on_addresses(void *self, struct hl_lookup *lookup)
{
    bool *is_done = self;
    (void)lookup;
    *is_done = true;
}

/* NULL: `lookup` has the addresses, and is not under way. A host that is an address is that address. Of the time that is left at
 * most HL_WALK_MAX_MS are for it. */
static const char *look_up(
    struct hl_fetcher *f, struct hl_lookup *lookup, const struct hl_url *url, uint64_t until_ms)
{
    struct hl_resolver *r = &f->resolver;
    bool is_done = false;
    hl_lookup_init(lookup);
    if (hl_guard_parse_host(url->host, url->is_bracketed, &lookup->addresses[0])) {
        lookup->n = 1;
        return NULL;
    }
    r->on_end = on_addresses;
    r->self = &is_done;
    if (hl_resolver_begin(r, lookup, url->host, left_of(until_ms)) != HL_OK)
        return out_of_memory;
    while (!is_done && !atomic_load(f->stops)) {
        hl_resolver_collect(r);
        int ms = (int)hl_resolver_wait_ms(r, hl_clock_mono_ms());
        if (curl_multi_poll(f->multi, r->fds, r->n, ms, NULL) != CURLM_OK)
            break;
        hl_resolver_turn(r);
    }
    hl_resolver_cut(lookup);
    return is_done ? lookup->why : "hookline stops";
}

/* ---- the request ---- */

/* What libcurl would resolve itself it does not ask for. */
static int on_resolve(void *resolver, void *reserved, void *arg)
{
    (void)resolver;
    (void)reserved;
    (void)arg;
    return 1;
}

static size_t on_bytes(char *p, size_t one, size_t n, void *self)
{
    struct hl_buf *out = self;
    return hl_buf_append(out, p, one * n) == HL_OK ? n : 0;
}

static bool set_up(CURL *easy, struct hl_str url, uint64_t until_ms, struct hl_buf *out)
{
    return curl_easy_setopt(easy, CURLOPT_URL, url.p) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)left_of(until_ms)) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_PROXY, "") == CURLE_OK &&
           /* the next one is seconds or minutes away, and looks the name up anew */
           curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_RESOLVER_START_FUNCTION, on_resolve) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, NULL) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_USERAGENT, "hookline/" HL_VERSION) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_bytes) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_WRITEDATA, out) == CURLE_OK;
}

const char *hl_fetch_begin(struct hl_fetcher *f, struct hl_fetch *fetch, struct hl_str url,
    uint64_t until_ms, struct hl_buf *out)
{
    struct hl_lookup lookup;
    *fetch = (struct hl_fetch){.easy = NULL};
    if (!hl_url_parse(url, &fetch->url))
        return "it is not a URL";
    const char *fault = look_up(f, &lookup, &fetch->url, until_ms);
    if (fault)
        return fault;
    fetch->easy = curl_easy_init();
    if (fetch->easy && set_up(fetch->easy, url, until_ms, out) &&
        hl_pin_set(&fetch->pin, fetch->easy, fetch->url.port, lookup.addresses, lookup.n) == HL_OK)
        return NULL;
    hl_fetch_end(fetch);
    return out_of_memory;
}

static CURLcode wait_for_end(struct hl_fetcher *f)
{
    for (;;) {
        int running = 0, left;
        if (atomic_load(f->stops) || curl_multi_perform(f->multi, &running) != CURLM_OK)
            return CURLE_ABORTED_BY_CALLBACK;
        for (CURLMsg *msg; (msg = curl_multi_info_read(f->multi, &left));)
            if (msg->msg == CURLMSG_DONE)
                return msg->data.result;
        if (running == 0 || curl_multi_poll(f->multi, NULL, 0, 1000, NULL) != CURLM_OK)
            return CURLE_ABORTED_BY_CALLBACK;
    }
}

const char *hl_fetch_run(struct hl_fetcher *f, struct hl_fetch *fetch, CURLcode *code)
{
    if (curl_multi_add_handle(f->multi, fetch->easy) != CURLM_OK)
        return out_of_memory;
    *code = wait_for_end(f);
    curl_multi_remove_handle(f->multi, fetch->easy);
    return NULL;
}

void hl_fetch_end(struct hl_fetch *fetch)
{
    hl_pin_clear(&fetch->pin, fetch->easy);
    curl_easy_cleanup(fetch->easy);
    fetch->easy = NULL;
}
