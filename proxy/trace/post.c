/* post.c - one POST to the collector, at addresses that were looked up before.
 * Thread: the tracer's.
 * Promise: bounded in time, and in what is read of the answer; certificates are verified; no redirect is
 * followed; no proxy, cookie or netrc of the environment has a part in it; no thread of a resolver.
 * Not here: when, and what becomes of the answer (tracer.c). */
#include "trace/post.h"

#include <string.h>

#include "base/clock.h"
#include "http/url.h"

bool hl_poster_init(struct hl_poster *poster)
{
    poster->multi = curl_multi_init();
    hl_resolver_init(&poster->resolver);
    return poster->multi;
}

void hl_poster_fini(struct hl_poster *poster)
{
    hl_resolver_fini(&poster->resolver);
    curl_multi_cleanup(poster->multi);
}

static uint64_t left_of(uint64_t until_ms)
{
    uint64_t now_ms = hl_clock_mono_ms();
    return until_ms > now_ms ? until_ms - now_ms : 1;
}

static int on_resolve(void *resolver, void *reserved, void *arg)
{
    (void)resolver;
    (void)reserved;
    (void)arg;
    return 1;
}

/* More is not read: what counts is the status. */
static size_t on_bytes(char *p, size_t one, size_t n, void *self)
{
    struct hl_buf *out = self;
    return hl_buf_append(out, p, one * n) == HL_OK ? n : 0;
}

static bool set_up(CURL *easy, const char *url, struct curl_slist *fields, struct hl_str body)
{
    return curl_easy_setopt(easy, CURLOPT_URL, url) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_PROXY, "") == CURLE_OK &&
           /* the next one is seconds away, and looks the name up anew */
           curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_RESOLVER_START_FUNCTION, on_resolve) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, NULL) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_USERAGENT, "hookline/" HL_VERSION) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_HTTPHEADER, fields) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body.n) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body.p) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_bytes) == CURLE_OK;
}

/* The transfer's end, or CURLE_ABORTED_BY_CALLBACK. */
static CURLcode wait_for(struct hl_poster *poster)
{
    for (;;) {
        int running = 0, left;
        if (atomic_load(poster->stops) || curl_multi_perform(poster->multi, &running) != CURLM_OK)
            return CURLE_ABORTED_BY_CALLBACK;
        for (CURLMsg *msg; (msg = curl_multi_info_read(poster->multi, &left));)
            if (msg->msg == CURLMSG_DONE)
                return msg->data.result;
        if (running == 0 || curl_multi_poll(poster->multi, NULL, 0, 1000, NULL) != CURLM_OK)
            return CURLE_ABORTED_BY_CALLBACK;
    }
}

/* With a status of its head an answer counts, whatever became of its body. */
static void read_reply(CURL *easy, CURLcode code, struct hl_post_reply *reply)
{
    curl_off_t seconds = 0;
    bool is_cut = code != CURLE_OK && code != CURLE_WRITE_ERROR;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &reply->status);
    if (curl_easy_getinfo(easy, CURLINFO_RETRY_AFTER, &seconds) == CURLE_OK && seconds > 0)
        reply->retry_after_ms = (uint64_t)seconds * 1000;
    if (!is_cut && reply->status > 0)
        return;
    reply->status = 0;
    reply->fault = code == CURLE_OK ? "it gave no answer" : curl_easy_strerror(code);
}

static void send_it(struct hl_poster *poster, CURL *easy, struct hl_post_reply *reply)
{
    if (curl_multi_add_handle(poster->multi, easy) != CURLM_OK) {
        reply->fault = "out of memory";
        return;
    }
    read_reply(easy, wait_for(poster), reply);
    curl_multi_remove_handle(poster->multi, easy);
}

void hl_post(struct hl_poster *poster, const char *url, struct curl_slist *fields,
    struct hl_str body, uint64_t until_ms, struct hl_post_reply *reply)
{
    struct hl_url parts;
    struct hl_lookup lookup;
    struct hl_pin pin = {0};
    *reply = (struct hl_post_reply){.fault = "it is not a URL"};
    hl_buf_init(&reply->body, HL_POST_REPLY_MAX);
    if (!hl_url_parse(hl_str_from(url), &parts))
        return;
    const struct hl_lookup_order order = {
        parts.host, parts.is_bracketed, until_ms, poster->multi, poster->stops};
    reply->fault = hl_resolver_ask(&poster->resolver, &lookup, &order);
    if (reply->fault)
        return;
    CURL *easy = curl_easy_init();
    if (easy && set_up(easy, url, fields, body) &&
        curl_easy_setopt(easy, CURLOPT_WRITEDATA, &reply->body) == CURLE_OK &&
        curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)left_of(until_ms)) == CURLE_OK &&
        hl_pin_set(&pin, easy, parts.port, lookup.addresses, lookup.n) == HL_OK)
        send_it(poster, easy, reply);
    else
        reply->fault = "out of memory";
    hl_pin_clear(&pin, easy);
    curl_easy_cleanup(easy);
}

bool hl_post_may_repeat(const struct hl_post_reply *reply)
{
    return reply->status == 0 || reply->status == 429 || reply->status == 502 ||
           reply->status == 503 || reply->status == 504;
}

void hl_post_reply_fini(struct hl_post_reply *reply)
{
    hl_buf_fini(&reply->body);
}
