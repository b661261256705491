/* transfer.c - how libcurl is set up for a delivery.
 *
 * Promise: nothing of the environment (proxy, netrc, cookies) and nothing of the receiver's
 * (redirects, long bodies) changes where a delivery goes or how long it takes; no socket is opened
 * to an address that the guard refuses.
 * Not here: what came of it (transfer_result.c), timing and order (sender.c). */
#include "webhook/transfer.h"

#include <curl/system.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "http/field_value.h"
#include "http/url.h"
#include "net/guard.h"
#include "webhook/envelope.h"

/* This much of a receiver's body is read, and thrown away, because a connection whose response was
 * read whole can be used again. */
#define DRAIN_MAX          (64 * 1024)
#define CONNECT_TIMEOUT_MS 10000
#define UNSENT_MAX         (64 * 1024) /* of a request, in the kernel */
#define URL_MAX            2048        /* longer ones are refused at the call (contract 3) */

static bool set_constants(struct hl_transfer *t);
static void watch_tls(struct hl_transfer *t);

struct hl_transfer *hl_transfer_new(const struct hl_transfer_settings *settings)
{
    struct hl_transfer *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    t->settings = settings;
    hl_list_init(&t->node);
    hl_lookup_init(&t->lookup);
    t->easy = curl_easy_init();
    if (!t->easy || !set_constants(t)) {
        hl_transfer_free(t);
        return NULL;
    }
    watch_tls(t);
    return t;
}

void hl_transfer_free(struct hl_transfer *t)
{
    if (!t)
        return;
    hl_pin_clear(&t->pin, t->easy);
    curl_easy_cleanup(t->easy);
    curl_url_cleanup(t->url);
    free(t->url_text);
    free(t);
}

static int on_resolve(void *resolver, void *reserved, void *arg);
static curl_socket_t on_open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *address);
static CURLcode on_secure(CURL *easy, void *context, void *arg);
static int on_request(void *arg, char *peer, char *local, int peer_port, int local_port);
static size_t on_send(char *out, size_t size, size_t n, void *arg);
static int on_seek(void *arg, curl_off_t offset, int origin);
static size_t on_header(char *line, size_t size, size_t n, void *arg);
static size_t on_body(char *bytes, size_t size, size_t n, void *arg);

static bool set_constants(struct hl_transfer *t)
{
    const struct hl_transfer_settings *s = t->settings;
    const char *schemes = s->https_only ? "https" : "http,https";
    CURL *c = t->easy;
    return curl_easy_setopt(c, CURLOPT_PRIVATE, t) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
           /* where it may go */
           curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, schemes) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_PROXY, s->proxy ? s->proxy : "") == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_NOPROXY, "") == CURLE_OK &&
           /* through a tunnel, http too: the proxy sees neither fields nor bodies of ours */
           curl_easy_setopt(c, CURLOPT_HTTPPROXYTUNNEL, s->proxy ? 1L : 0L) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_HEADEROPT, (long)CURLHEADER_SEPARATE) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_DISALLOW_USERNAME_IN_URL, 1L) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_PATH_AS_IS, 1L) == CURLE_OK &&
           /* a name means what DNS says at the attempt, not what it said at an earlier one */
           curl_easy_setopt(c, CURLOPT_DNS_CACHE_TIMEOUT, 0L) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_RESOLVER_START_FUNCTION, on_resolve) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_RESOLVER_START_DATA, t) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_OPENSOCKETFUNCTION, on_open_socket) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_OPENSOCKETDATA, t) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_PREREQFUNCTION, on_request) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_PREREQDATA, t) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_SSL_VERIFYPEER, 1L) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_SSL_VERIFYHOST, 2L) == CURLE_OK &&
           /* how */
           curl_easy_setopt(c, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_POST, 1L) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_USERAGENT, "hookline/" HL_VERSION) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_READFUNCTION, on_send) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_READDATA, t) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_SEEKFUNCTION, on_seek) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_SEEKDATA, t) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, on_header) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_HEADERDATA, t) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_body) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_WRITEDATA, t) == CURLE_OK;
}

/* Not each TLS library has it. */
static void watch_tls(struct hl_transfer *t)
{
    (void)curl_easy_setopt(t->easy, CURLOPT_SSL_CTX_FUNCTION, on_secure);
    (void)curl_easy_setopt(t->easy, CURLOPT_SSL_CTX_DATA, t);
}

/* Of this attempt: the file is another when the setting's has changed. */
static bool set_authorities(struct hl_transfer *t)
{
    const struct hl_transfer_settings *s = t->settings;
    return !s->ca_file ||
           ((!s->proxy ||
                (curl_easy_setopt(t->easy, CURLOPT_PROXY_CAINFO, s->ca_file) == CURLE_OK &&
                    curl_easy_setopt(t->easy, CURLOPT_PROXY_CAPATH, NULL) == CURLE_OK)) &&
               curl_easy_setopt(t->easy, CURLOPT_CAINFO, s->ca_file) == CURLE_OK &&
               curl_easy_setopt(t->easy, CURLOPT_CAPATH, NULL) == CURLE_OK);
}

/* Its parts stay: mostly the next delivery goes where this one went, and libcurl takes 10,000 instructions to find
 * them in a text. One that its parser refuses is given as a text, so that it refuses it at the attempt and says why.
 * False: out of memory. */
static bool set_url(struct hl_transfer *t, struct hl_str url)
{
    if (t->url_text && hl_str_eq(hl_str_from(t->url_text), url))
        return true;
    (void)curl_easy_setopt(t->easy, CURLOPT_CURLU, NULL);
    curl_url_cleanup(t->url);
    free(t->url_text);
    t->url = curl_url();
    t->url_text = hl_str_dup(url);
    if (!t->url_text)
        return false;
    if (t->url &&
        curl_url_set(t->url, CURLUPART_URL, t->url_text,
            CURLU_NON_SUPPORT_SCHEME | CURLU_DISALLOW_USER | CURLU_PATH_AS_IS) != CURLUE_OK) {
        curl_url_cleanup(t->url);
        t->url = NULL;
    }
    CURLcode code = t->url ? curl_easy_setopt(t->easy, CURLOPT_CURLU, t->url)
                           : curl_easy_setopt(t->easy, CURLOPT_URL, t->url_text);
    if (code == CURLE_OK)
        return true;
    free(t->url_text);
    t->url_text = NULL;
    return false;
}

static bool set_limits(struct hl_transfer *t, uint64_t left_ms);

enum hl_err hl_transfer_prepare(struct hl_transfer *t, struct hl_str url, struct curl_slist *fields,
    struct hl_str whole, struct hl_envelope *envelope, bool is_retry)
{
    if (url.n > URL_MAX)
        return HL_ERR_TOO_LARGE;

    bool is_whole = whole.n > 0;
    t->envelope = is_whole ? NULL : envelope;
    t->opened = t->refused = t->requests = 0;
    t->opened_us = t->secures_us = 0;
    t->head_size = t->received = t->retry_after_ms = 0;
    t->body_n = 0;
    t->name_us = -1;
    t->has_head = t->is_body_broken = t->wants_addresses = false;
    t->size = is_whole ? whole.n : envelope->size;
    t->asked[0] = '\0';
    hl_pin_clear(&t->pin, t->easy);
    curl_off_t size = (curl_off_t)t->size;
    CURL *c = t->easy;
    if (!set_limits(t, t->settings->timeout_ms) || !set_authorities(t) || !set_url(t, url) ||
        curl_easy_setopt(c, CURLOPT_CONNECT_TO, NULL) != CURLE_OK ||
        curl_easy_setopt(c, CURLOPT_FRESH_CONNECT, (long)is_retry) != CURLE_OK ||
        curl_easy_setopt(c, CURLOPT_HTTPHEADER, fields) != CURLE_OK ||
        curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, size) != CURLE_OK ||
        curl_easy_setopt(c, CURLOPT_POSTFIELDS, is_whole ? whole.p : NULL) != CURLE_OK)
        return HL_ERR_NOMEM;
    return HL_OK;
}

static bool set_limits(struct hl_transfer *t, uint64_t left_ms)
{
    uint64_t connect_ms = left_ms < CONNECT_TIMEOUT_MS ? left_ms : CONNECT_TIMEOUT_MS;
    return curl_easy_setopt(t->easy, CURLOPT_TIMEOUT_MS, (long)left_ms) == CURLE_OK &&
           curl_easy_setopt(t->easy, CURLOPT_CONNECTTIMEOUT_MS, (long)connect_ms) == CURLE_OK;
}

enum hl_err hl_transfer_set_addresses(
    struct hl_transfer *t, uint16_t port, const struct hl_ip *addresses, size_t n, uint64_t left_ms)
{
    t->wants_addresses = false;
    enum hl_err err = hl_pin_set(&t->pin, t->easy, port, addresses, n);
    return err == HL_OK && !set_limits(t, left_ms) ? HL_ERR_NOMEM : err;
}

/* There is no kept connection, and no address was given. After a request it is another one that
 * libcurl wants to send (on_request). */
static int on_resolve(void *resolver, void *reserved, void *arg)
{
    struct hl_transfer *t = arg;
    (void)resolver;
    (void)reserved;
    t->wants_addresses = t->requests == 0 && !t->pin.names;
    return 1;
}

/* The guard's word on one address; a refused one is kept for the log. */
static bool may_reach(struct hl_transfer *t, const struct hl_ip *ip)
{
    if (!hl_guard_is_blocked(ip, t->settings->allow))
        return true;
    hl_ip_format(ip, t->refused_address);
    t->refused++;
    return false;
}

/* Each address of the name, after DNS, at each attempt. A refused one counts as one that cannot be
 * connected to: libcurl goes on to the next. */
/* What waits in the kernel looks sent: with little of it, a receiver that takes bytes slowly is told from one that
 * takes none (courier.c). */
static curl_socket_t open_slim(const struct curl_sockaddr *address)
{
    int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    int most = UNSENT_MAX;
    if (fd >= 0) /* without it that is only less exact */
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &most, sizeof most);
    return fd;
}

static curl_socket_t on_open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct hl_transfer *t = arg;
    struct hl_ip ip;
    bool is_known = hl_ip_from_sockaddr(&address->addr, &ip);
    if (purpose != CURLSOCKTYPE_IPCXN || !is_known || (!t->settings->proxy && !may_reach(t, &ip)))
        return CURL_SOCKET_BAD;
    if (t->opened++ == 0)
        t->opened_us = hl_clock_mono_us();
    return open_slim(address);
}

/* TCP, or the tunnel, is there, and TLS begins: libcurl tells the time of that only when TLS is there, too. */
static CURLcode on_secure(CURL *easy, void *context, void *arg)
{
    struct hl_transfer *t = arg;
    (void)easy;
    (void)context;
    if (t->secures_us == 0)
        t->secures_us = hl_clock_mono_us();
    return CURLE_OK;
}

/* The connection is there, a new one or a kept one, and the request is next. The address is looked
 * at once more, so that no way to a connection leads past the guard. libcurl sends a request again by
 * itself when a kept connection died before an answer; but an attempt is one request: the receiver
 * may have read it, and it is the store that counts. */
static int on_request(void *arg, char *peer, char *local, int peer_port, int local_port)
{
    struct hl_transfer *t = arg;
    struct hl_ip ip;
    (void)local;
    (void)peer_port;
    (void)local_port;
    bool is_good = t->settings->proxy || (hl_ip_parse(hl_str_from(peer), &ip) && may_reach(t, &ip));
    return is_good && t->requests++ == 0 ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT;
}

bool hl_transfer_ask_for_name(struct hl_transfer *t, const struct hl_url *url)
{
    struct hl_ip ip;
    if (hl_guard_parse_host(url->host, url->is_bracketed, &ip) && !may_reach(t, &ip))
        return false;
    const char *form = url->is_bracketed ? "[%.*s]:%u" : "%.*s:%u";
    snprintf(t->asked, sizeof t->asked, form, HL_STR_ARG(url->host), url->port);
    return true;
}

bool hl_transfer_ask_for_address(struct hl_transfer *t, const struct hl_url *url,
    const struct hl_ip *addresses, size_t n, uint32_t turn)
{
    struct hl_ip good[HL_LOOKUP_ADDRESSES_MAX];
    char text[HL_IP_TEXT];
    size_t count = 0;
    for (size_t i = 0; i < n && count < HL_ARRAY_LEN(good); i++)
        if (may_reach(t, &addresses[i]))
            good[count++] = addresses[i];
    if (count == 0)
        return false;
    t->refused = 0; /* the others are used */
    const struct hl_ip *ip = &good[(turn - 1) % count];
    hl_ip_format(ip, text);
    snprintf(t->asked, sizeof t->asked, hl_ip_is_v4(ip) ? "%s:%u" : "[%s]:%u", text, url->port);
    snprintf(t->target_text, sizeof t->target_text, "::%.*s", HL_IP_TEXT + 8, t->asked);
    t->target = (struct curl_slist){.data = t->target_text};
    return curl_easy_setopt(t->easy, CURLOPT_CONNECT_TO, &t->target) == CURLE_OK;
}

static size_t on_send(char *out, size_t size, size_t n, void *arg)
{
    struct hl_transfer *t = arg;
    ssize_t got = t->envelope ? hl_envelope_read(t->envelope, out, size * n) : -1;
    if (got >= 0)
        return (size_t)got;
    t->is_body_broken = true;
    return CURL_READFUNC_ABORT;
}

/* libcurl starts again from the first byte when a kept connection turns out to be dead. */
static int on_seek(void *arg, curl_off_t offset, int origin)
{
    struct hl_transfer *t = arg;
    if (!t->envelope || offset != 0 || origin != SEEK_SET)
        return CURL_SEEKFUNC_CANTSEEK;
    if (hl_envelope_rewind(t->envelope) == HL_OK)
        return CURL_SEEKFUNC_OK;
    t->is_body_broken = true;
    return CURL_SEEKFUNC_FAIL;
}

static void answer_began(struct hl_transfer *t)
{
    t->has_head = true;
    t->answered_ms = t->moved_ms = hl_clock_mono_ms();
    t->sent = hl_transfer_sent(t);
    if (t->settings->answered)
        hl_list_push_back(t->settings->answered, &t->node);
}

/* CURLINFO_RETRY_AFTER does not tell one that is too large from none, and takes some numbers for dates. */
static void note_retry_after(struct hl_transfer *t, struct hl_str line)
{
    const struct hl_str name = HL_STR("retry-after:");
    if (hl_str_starts_with(line, HL_STR("HTTP/")))
        t->retry_after_ms = 0;
    if (line.n < name.n || !hl_str_eq_nocase((struct hl_str){line.p, name.n}, name))
        return;
    struct hl_str value = {line.p + name.n, line.n - name.n};
    while (value.n > 0 && (value.p[value.n - 1] == '\n' || value.p[value.n - 1] == '\r'))
        value.n--;
    t->retry_after_ms = hl_retry_after_ms(hl_str_trim(value), hl_clock_wall_ms());
}

static size_t on_header(char *line, size_t size, size_t n, void *arg)
{
    struct hl_transfer *t = arg;
    size_t len = size * n;
    t->head_size += len;
    if (t->head_size > HL_TRANSFER_HEAD_MAX)
        return 0;
    if (!t->has_head) /* later ones are trailers */
        note_retry_after(t, (struct hl_str){line, len});
    if (len <= 2 && (line[0] == '\r' || line[0] == '\n')) {
        if (hl_transfer_status(t) >= 200 && !t->has_head)
            answer_began(t);
    }
    return len;
}

static size_t on_body(char *bytes, size_t size, size_t n, void *arg)
{
    struct hl_transfer *t = arg;
    size_t room = sizeof t->body - t->body_n, kept = size * n < room ? size * n : room;
    memcpy(t->body + t->body_n, bytes, kept);
    t->body_n += (uint32_t)kept;
    t->received += size * n;
    return t->received <= DRAIN_MAX ? size * n : CURL_WRITEFUNC_ERROR;
}

uint64_t hl_transfer_sent(const struct hl_transfer *t)
{
    curl_off_t sent = 0;
    curl_easy_getinfo(t->easy, CURLINFO_SIZE_UPLOAD_T, &sent);
    return (uint64_t)sent;
}

uint16_t hl_transfer_status(const struct hl_transfer *t)
{
    long status = 0;
    curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
    return (uint16_t)status;
}
