/* transfer_result.c - see transfer_result.h.
 * Owns: nothing; the report is whoever's that takes the result. Thread: the transfer's.
 * Promise: every error of libcurl's has a name here, and says whether another attempt can do better.
 * Not here: the retry table (retry.c), what is logged and counted of it (verdict.c). */
#include "webhook/transfer_result.h"

#include <curl/system.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http/writer.h"
#include "webhook/transfer.h"

#define HEAD_TOO_LARGE 100 /* CURLE_TOO_LARGE, which libcurl has from 8.6 on */

static void explain(const struct hl_transfer *t, CURLcode code, struct hl_transfer_result *out);
static struct hl_attempt_report *report(const struct hl_transfer *t);

void hl_transfer_result_read(
    const struct hl_transfer *t, CURLcode code, struct hl_transfer_result *out)
{
    *out = (struct hl_transfer_result){0};
    if (t->is_body_broken) {
        out->is_permanent = true;
        snprintf(out->error, sizeof out->error,
            "body_unreadable: the kept response is missing or damaged");
    } else if (t->has_head) {
        out->http_status = hl_transfer_status(t);
        out->retry_after_ms = t->retry_after_ms;
    } else if (t->refused > 0 && t->opened == 0) {
        out->is_permanent = true;
        memcpy(out->address, t->refused_address, sizeof out->address);
        snprintf(out->error, sizeof out->error,
            "blocked_address: every address of the host is refused; HOOKLINE_WEBHOOK_ALLOW can "
            "allow it");
    } else {
        explain(t, code, out);
    }
    out->report = report(t);
}

static int64_t info_us(const struct hl_transfer *t, CURLINFO which)
{
    curl_off_t us = 0;
    curl_easy_getinfo(t->easy, which, &us);
    return us;
}

static int32_t span_us(int64_t from_us, int64_t to_us)
{
    if (to_us <= 0 || to_us < from_us)
        return -1;
    return to_us - from_us < INT32_MAX ? (int32_t)(to_us - from_us) : INT32_MAX;
}

/* What was connected to: an address and a port; through a proxy what was asked of it; empty: nothing was. */
static void write_address(const struct hl_transfer *t, char out[HL_REPORT_ADDRESS_MAX + 1])
{
    const size_t cap = HL_REPORT_ADDRESS_MAX + 1;
    char *ip = NULL;
    long port = 0;
    out[0] = '\0';
    if (t->settings->proxy) {
        snprintf(out, cap, "%s", t->asked);
        return;
    }
    curl_easy_getinfo(t->easy, CURLINFO_PRIMARY_IP, &ip);
    curl_easy_getinfo(t->easy, CURLINFO_PRIMARY_PORT, &port);
    if (!ip || !*ip)
        return;
    bool is_v6 = strchr(ip, ':') != NULL;
    struct hl_writer w = hl_writer_on(out, cap - 1);
    hl_write_str(&w, is_v6 ? HL_STR("[") : HL_STR(""));
    hl_write_str(&w, hl_str_from(ip));
    hl_write_str(&w, is_v6 ? HL_STR("]:") : HL_STR(":"));
    hl_write_u64(&w, (uint64_t)port);
    out[hl_writer_end(&w)] = '\0';
}

static void report_answer(const struct hl_transfer *t, struct hl_attempt_report *r)
{
    const char *type = NULL;
    curl_easy_getinfo(t->easy, CURLINFO_CONTENT_TYPE, &type);
    if (t->has_head && type && strlen(type) <= HL_REPORT_TYPE_MAX)
        memcpy(r->content_type, type, strlen(type) + 1);
    r->body_n = t->has_head ? t->body_n : 0;
    memcpy(r->body, t->body, r->body_n);
}

/* Where TLS was begun and did not come about libcurl does not say. */
static int32_t connect_us(const struct hl_transfer *t, int64_t looked_us, int64_t connected_us)
{
    if (connected_us <= 0 && t->secures_us > 0)
        return span_us((int64_t)t->opened_us, (int64_t)t->secures_us);
    return span_us(looked_us, connected_us);
}

static uint32_t seconds(uint64_t ms)
{
    uint64_t s = (ms + 999) / 1000;
    return s < UINT32_MAX ? (uint32_t)s : UINT32_MAX;
}

/* Times of libcurl's are from the transfer's beginning on, and 0 for what did not come; of a kept connection it
 * counts no connecting. */
static struct hl_attempt_report *report(const struct hl_transfer *t)
{
    struct hl_attempt_report *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    int64_t looked = info_us(t, CURLINFO_NAMELOOKUP_TIME_T);
    int64_t connected = info_us(t, CURLINFO_CONNECT_TIME_T);
    int64_t secured = info_us(t, CURLINFO_APPCONNECT_TIME_T);
    int64_t ready = info_us(t, CURLINFO_PRETRANSFER_TIME_T);
    bool is_new = t->opened > 0;
    r->sent_size = t->requests > 0 ? t->size : 0;
    r->retry_after_s = t->has_head ? seconds(t->retry_after_ms) : 0;
    r->name_us = t->name_us;
    r->connect_us = is_new ? connect_us(t, looked, connected) : -1;
    r->tls_us = is_new && connected > 0 ? span_us(connected, secured) : -1;
    r->first_byte_us = t->has_head ? span_us(ready, info_us(t, CURLINFO_STARTTRANSFER_TIME_T)) : -1;
    write_address(t, r->address);
    report_answer(t, r);
    return r;
}

/* What a person needs to know of libcurl's errors. The last row stands for all other codes. */
static const struct {
    CURLcode code;
    bool is_permanent;
    const char *text;
} errors[] = {
    {CURLE_OPERATION_TIMEDOUT, false, "timeout"},
    {CURLE_COULDNT_CONNECT, false, "connect_failed"},
    {CURLE_SEND_ERROR, false, "connection_lost"},
    {CURLE_RECV_ERROR, false, "connection_lost"},
    {CURLE_PARTIAL_FILE, false, "connection_lost"},
    {CURLE_GOT_NOTHING, false, "no_response"},
    {CURLE_ABORTED_BY_CALLBACK, false, "no_response"},  /* on_request */
    {CURLE_COULDNT_RESOLVE_HOST, false, "no_response"}, /* on_resolve, after a request */
    {CURLE_WEIRD_SERVER_REPLY, false, "bad_response"},
    {CURLE_UNSUPPORTED_PROTOCOL, true,
        "bad_url: the scheme is not allowed (HOOKLINE_WEBHOOK_HTTPS_ONLY)"},
    {CURLE_URL_MALFORMAT, true, "bad_url"},
    {CURLE_SSL_CONNECT_ERROR, false, "tls_failed"},
    {CURLE_PEER_FAILED_VERIFICATION, false,
        "tls_certificate: not trusted, expired or for another name; HOOKLINE_WEBHOOK_CA_FILE can "
        "add a CA"},
    {CURLE_SSL_CACERT_BADFILE, false,
        "tls_no_ca: no CA certificates are installed here; install them or set "
        "HOOKLINE_WEBHOOK_CA_FILE"},
    {CURLE_OUT_OF_MEMORY, false, "out_of_memory"},
    {CURLE_OK, false, "bad_response"}, /* the connection ended in the middle of the head */
    {CURL_LAST, false, "network_error"},
};

static bool has_peer(const struct hl_transfer *t)
{
    char *peer = NULL;
    curl_easy_getinfo(t->easy, CURLINFO_PRIMARY_IP, &peer);
    return peer && *peer;
}

/* libcurl says "unsupported protocol" of a URL's scheme, and of a receiver that answers without an
 * HTTP/1 status line: then there was a connection. */
static bool is_answer_no_http(const struct hl_transfer *t, CURLcode code)
{
    return code == CURLE_UNSUPPORTED_PROTOCOL && has_peer(t);
}

/* libcurl says "malformed" of a URL, too, that it has read, and then found no memory to write as a text. */
static bool is_url_unwritten(const struct hl_transfer *t, CURLcode code)
{
    return code == CURLE_URL_MALFORMAT && t->url;
}

/* libcurl's buffer for a head's line has a limit (100 KiB), and is "out of memory" beyond it. */
static bool is_head_too_large(const struct hl_transfer *t, CURLcode code)
{
    curl_off_t first_byte_us = 0;
    if (t->head_size > HL_TRANSFER_HEAD_MAX)
        return true;
    curl_easy_getinfo(t->easy, CURLINFO_STARTTRANSFER_TIME_T, &first_byte_us);
    return first_byte_us > 0 && t->requests > 0 &&
           (code == CURLE_OUT_OF_MEMORY || code == HEAD_TOO_LARGE);
}

/* A proxy that does not open the way. */
static bool is_refused_by_proxy(const struct hl_transfer *t, struct hl_transfer_result *out)
{
    long answer = 0;
    if (t->settings->proxy)
        curl_easy_getinfo(t->easy, CURLINFO_HTTP_CONNECTCODE, &answer);
    if (answer == 0 || answer / 100 == 2)
        return false;
    if (answer == 407)
        snprintf(out->error, sizeof out->error,
            "proxy_refused: the proxy requires valid credentials (407): HOOKLINE_WEBHOOK_PROXY");
    else
        snprintf(out->error, sizeof out->error, "proxy_refused: the proxy answered %ld", answer);
    return true;
}

/* Whose error it is that comes before a new connection's tunnel: the proxy's, or what it was asked for hangs. */
static const char *name_proxy(const struct hl_transfer *t, CURLcode code)
{
    long answer = 0;
    curl_easy_getinfo(t->easy, CURLINFO_HTTP_CONNECTCODE, &answer);
    if (!t->settings->proxy || answer != 0 || (t->opened == 0 && has_peer(t)))
        return "";
    bool is_tls = code == CURLE_SSL_CONNECT_ERROR || code == CURLE_PEER_FAILED_VERIFICATION ||
                  code == CURLE_SSL_CACERT_BADFILE;
    return has_peer(t) && !is_tls ? "proxy_no_answer: " : "proxy_unreachable: ";
}

static void explain(const struct hl_transfer *t, CURLcode code, struct hl_transfer_result *out)
{
    size_t i = 0;
    if (is_refused_by_proxy(t, out))
        return;
    if (is_head_too_large(t, code)) {
        snprintf(out->error, sizeof out->error, "bad_response: the head is too large");
        return;
    }
    if (is_answer_no_http(t, code))
        code = CURLE_WEIRD_SERVER_REPLY;
    if (is_url_unwritten(t, code))
        code = CURLE_OUT_OF_MEMORY;
    while (i < HL_ARRAY_LEN(errors) - 1 && errors[i].code != code)
        i++;
    const char *whose = name_proxy(t, code);
    out->is_permanent = errors[i].is_permanent;
    long os = 0;
    if (code == CURLE_COULDNT_CONNECT)
        curl_easy_getinfo(t->easy, CURLINFO_OS_ERRNO, &os);
    if (os != 0)
        snprintf(
            out->error, sizeof out->error, "%s%s: %s", whose, errors[i].text, strerror((int)os));
    else
        snprintf(out->error, sizeof out->error, "%s%s", whose, errors[i].text);
}

void hl_transfer_result_unresolved(
    const struct hl_transfer *t, bool is_proxys, const char *why, struct hl_transfer_result *out)
{
    *out = (struct hl_transfer_result){.report = calloc(1, sizeof(*out->report))};
    snprintf(out->error, sizeof out->error, "%s%s", is_proxys ? "proxy_unreachable: " : "", why);
    if (!out->report)
        return;
    out->report->name_us = t->name_us;
    out->report->connect_us = out->report->tls_us = out->report->first_byte_us = -1;
}

static const char *unsent_text(enum hl_err err)
{
    switch (err) {
    case HL_ERR_NOMEM:
        return "out_of_memory";
    case HL_ERR_NOT_FOUND:
        return "body_unreadable: the kept response is missing";
    case HL_ERR_CORRUPT:
        return "body_unreadable: the kept response is damaged";
    case HL_ERR_INVALID:
    case HL_ERR_TOO_LARGE:
        return "bad_record: the delivery's URL, secret or fields cannot be sent";
    default:
        return "body_unreadable: the kept response cannot be read";
    }
}

void hl_transfer_result_unsent(enum hl_err err, struct hl_transfer_result *out)
{
    *out = (struct hl_transfer_result){.is_permanent = err != HL_ERR_NOMEM, .is_ours = true};
    snprintf(out->error, sizeof out->error, "%s", unsent_text(err));
}
