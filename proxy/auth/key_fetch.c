/* key_fetch.c - one GET of a key set, with libcurl.
 * Thread: the keeper's.
 * Promise: bounded in time and size; certificates are verified; nothing is followed, no proxy, cookie
 * or netrc of the environment has a part in it. */
#include "auth/key_fetch.h"

static size_t on_bytes(char *p, size_t one, size_t n, void *self)
{
    struct hl_buf *out = self;
    return hl_buf_append(out, p, one * n) == HL_OK ? n : 0;
}

static void set_up(CURL *easy, const char *url, struct hl_buf *out)
{
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)HL_KEY_FETCH_MS);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, NULL);
    curl_easy_setopt(easy, CURLOPT_USERAGENT, "hookline/" HL_VERSION);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_bytes);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, out);
#if LIBCURL_VERSION_NUM >= 0x075700
    curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L); /* a resolver that hangs must not hold us */
#endif
}

static const char *judge(CURL *easy, CURLcode code)
{
    long status = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    if (code == CURLE_WRITE_ERROR)
        return "it is larger than allowed";
    if (code != CURLE_OK)
        return curl_easy_strerror(code);
    return status == 200 ? NULL : "the status is not 200";
}

/* The transfer's end, or CURLE_ABORTED_BY_CALLBACK. */
static CURLcode wait_for(CURLM *multi, const _Atomic bool *stops)
{
    for (;;) {
        int running = 0, left;
        if (atomic_load(stops) || curl_multi_perform(multi, &running) != CURLM_OK)
            return CURLE_ABORTED_BY_CALLBACK;
        for (CURLMsg *msg; (msg = curl_multi_info_read(multi, &left));)
            if (msg->msg == CURLMSG_DONE)
                return msg->data.result;
        if (running == 0 || curl_multi_poll(multi, NULL, 0, 1000, NULL) != CURLM_OK)
            return CURLE_ABORTED_BY_CALLBACK;
    }
}

const char *hl_key_fetch(
    CURLM *multi, const char *url, struct hl_buf *out, const _Atomic bool *stops)
{
    CURL *easy = curl_easy_init();
    if (!easy)
        return "out of memory";
    set_up(easy, url, out);
    const char *fault = "out of memory";
    if (curl_multi_add_handle(multi, easy) == CURLM_OK) {
        fault = judge(easy, wait_for(multi, stops));
        curl_multi_remove_handle(multi, easy);
    }
    curl_easy_cleanup(easy);
    return fault;
}
