/* post.c - one POST to the collector.
 * Thread: the tracer's.
 * Promise: of the answer no more is read than its beginning: what counts is the status.
 * Not here: the request itself (dns/fetcher.c), when, and what becomes of the answer (tracer.c). */
#include "trace/post.h"

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

static bool set_up(CURL *easy, struct curl_slist *fields, struct hl_str body)
{
    return curl_easy_setopt(easy, CURLOPT_HTTPHEADER, fields) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body.n) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body.p) == CURLE_OK;
}

void hl_post(struct hl_fetcher *fetcher, const char *url, struct curl_slist *fields,
    struct hl_str body, uint64_t until_ms, struct hl_post_reply *reply)
{
    struct hl_fetch fetch;
    CURLcode code;
    *reply = (struct hl_post_reply){0};
    hl_buf_init(&reply->body, HL_POST_REPLY_MAX);
    reply->fault = hl_fetch_begin(fetcher, &fetch, hl_str_from(url), until_ms, &reply->body);
    if (reply->fault)
        return;
    reply->fault =
        set_up(fetch.easy, fields, body) ? hl_fetch_run(fetcher, &fetch, &code) : "out of memory";
    if (!reply->fault)
        read_reply(fetch.easy, code, reply);
    hl_fetch_end(&fetch);
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
