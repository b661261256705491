/* key_fetch.c - one GET of a key set, or of what leads to one.
 * Thread: the keeper's.
 * Not here: the request itself (dns/fetcher.c). */
#include "auth/key_fetch.h"

#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"

#define TOKEN_MAX (16 * 1024)

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

const char *hl_key_fetch(
    struct hl_key_fetcher *f, struct hl_str url, uint64_t until_ms, struct hl_buf *out)
{
    struct hl_fetch fetch;
    CURLcode code;
    f->status = 0;
    const char *fault = hl_fetch_begin(&f->http, &fetch, url, until_ms, out);
    if (fault)
        return fault;
    fault = set_trust(fetch.easy, f->ca_file)
                ? set_token(fetch.easy, f->token_file, fetch.url.is_https)
                : "out of memory";
    if (!fault)
        fault = hl_fetch_run(&f->http, &fetch, &code);
    if (!fault)
        fault = judge(fetch.easy, code, &f->status);
    hl_fetch_end(&fetch);
    return fault;
}
