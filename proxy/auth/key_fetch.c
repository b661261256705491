/* key_fetch.c - one GET of a key set, or of what leads to one, with libcurl, at addresses that were looked up before.
 * Thread: the keeper's.
 * Promise: bounded in time and size; no thread of a resolver, which would outlive the fetch, or hold
 * it; certificates are verified; nothing is followed, no proxy, cookie or netrc of the environment has
 * a part in it. */
#include "auth/key_fetch.h"

#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "dns/resolver.h"
#include "http/url.h"

#define TOKEN_MAX (16 * 1024)

static const char out_of_memory[] = "out of memory";

static const char *get(struct hl_key_fetcher *f, CURL *easy);
static bool set_up(CURL *easy, struct hl_str url, struct hl_buf *out, uint64_t left_ms);
static bool set_trust(CURL *easy, const char *ca_file);
static const char *set_token(CURL *easy, const char *file, bool is_https);

static uint64_t left_of(uint64_t until_ms)
{
    uint64_t now_ms = hl_clock_mono_ms();
    return until_ms > now_ms ? until_ms - now_ms : 1;
}

const char *hl_key_fetch(
    struct hl_key_fetcher *f, struct hl_str text, uint64_t until_ms, struct hl_buf *out)
{
    struct hl_url url;
    struct hl_lookup lookup;
    struct hl_pin pin = {0};
    f->status = 0;
    if (!hl_url_parse(text, &url))
        return "it is not a URL";
    const struct hl_lookup_order order = {url.host, url.is_bracketed, until_ms, f->multi, f->stops};
    const char *fault = hl_resolver_ask(&f->resolver, &lookup, &order);
    if (fault)
        return fault;
    CURL *easy = curl_easy_init();
    if (!easy)
        return out_of_memory;
    bool is_ready = set_up(easy, text, out, left_of(until_ms)) && set_trust(easy, f->ca_file) &&
                    hl_pin_set(&pin, easy, url.port, lookup.addresses, lookup.n) == HL_OK;
    fault = is_ready ? set_token(easy, f->token_file, url.is_https) : out_of_memory;
    if (!fault)
        fault = get(f, easy);
    hl_pin_clear(&pin, easy);
    curl_easy_cleanup(easy);
    return fault;
}

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

static bool set_up(CURL *easy, struct hl_str url, struct hl_buf *out, uint64_t left_ms)
{
    return curl_easy_setopt(easy, CURLOPT_URL, url.p) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)left_ms) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_PROXY, "") == CURLE_OK &&
           /* the next fetch is minutes away, and looks the name up anew */
           curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_RESOLVER_START_FUNCTION, on_resolve) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, NULL) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_USERAGENT, "hookline/" HL_VERSION) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_bytes) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_WRITEDATA, out) == CURLE_OK;
}

/* The bundle has the same name when it was made anew: libcurl must not know it by that. */
static bool set_trust(CURL *easy, const char *ca_file)
{
    curl_easy_setopt(easy, CURLOPT_CA_CACHE_TIMEOUT, 0L); /* not all TLS libraries keep it */
    return !ca_file || (curl_easy_setopt(easy, CURLOPT_CAINFO, ca_file) == CURLE_OK &&
                           curl_easy_setopt(easy, CURLOPT_CAPATH, NULL) == CURLE_OK);
}

/* Whoever wrote it may have ended it with a line. Empty: it cannot be read, or is no token (RFC 6750 2.1). */
static struct hl_str read_token(const char *file, char room[TOKEN_MAX])
{
    int fd;
    struct hl_str none = {NULL, 0};
    if (hl_file_open(file, &fd) != HL_OK)
        return none;
    ssize_t n = read(fd, room, TOKEN_MAX - 1);
    close(fd);
    while (n > 0 && (room[n - 1] == '\n' || room[n - 1] == '\r'))
        n--;
    for (ssize_t i = 0; i < n; i++)
        if (room[i] <= ' ' || room[i] > '~')
            return none;
    if (n <= 0 || n == TOKEN_MAX - 1)
        return none;
    room[n] = '\0';
    return (struct hl_str){room, (size_t)n};
}

/* NULL: it is set, or there is none to set. */
static const char *set_token(CURL *easy, const char *file, bool is_https)
{
    char room[TOKEN_MAX];
    if (!file)
        return NULL;
    if (!is_https)
        return "the token of HOOKLINE_JWT_KEYS_TOKEN_FILE is sent over https alone";
    struct hl_str token = read_token(file, room);
    bool is_set = token.n > 0 &&
                  curl_easy_setopt(easy, CURLOPT_HTTPAUTH, CURLAUTH_BEARER) == CURLE_OK &&
                  curl_easy_setopt(easy, CURLOPT_XOAUTH2_BEARER, token.p) == CURLE_OK;
    explicit_bzero(room, sizeof(room));
    return is_set ? NULL : "HOOKLINE_JWT_KEYS_TOKEN_FILE cannot be read, or holds no token";
}

/* The transfer's end, or CURLE_ABORTED_BY_CALLBACK. */
static CURLcode wait_for(struct hl_key_fetcher *f)
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

static const char *judge(CURL *easy, CURLcode code, long *status)
{
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, status);
    if (code == CURLE_WRITE_ERROR)
        return "it is larger than allowed";
    if (code == CURLE_PEER_FAILED_VERIFICATION)
        return "its certificate is not trusted, expired or for another name; HOOKLINE_JWT_CA_FILE "
               "can add a certificate authority";
    if (code != CURLE_OK)
        return curl_easy_strerror(code);
    if (*status / 100 == 3)
        return "it redirects, which is not followed";
    if (*status == 401 || *status == 403)
        return "it answers only who shows a token that it knows (HOOKLINE_JWT_KEYS_TOKEN_FILE)";
    return *status == 200 ? NULL : "the status is not 200";
}

static const char *get(struct hl_key_fetcher *f, CURL *easy)
{
    if (curl_multi_add_handle(f->multi, easy) != CURLM_OK)
        return out_of_memory;
    const char *fault = judge(easy, wait_for(f), &f->status);
    curl_multi_remove_handle(f->multi, easy);
    return fault;
}
