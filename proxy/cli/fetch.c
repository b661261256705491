/* fetch.c - one request by libcurl. Redirects are not followed: a token is for the address that was
 * given. No proxy is asked for what is on this machine. */
#include "cli/fetch.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <curl/system.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/cli.h"

#define CONNECT_MS 10000L

/* ---- where a URL leads ---- */

/* libcurl's own parser says it: one that reads the URL otherwise than who connects judges another host. */

static bool has_part(CURLU *url, CURLUPart part)
{
    char *text = NULL;
    bool has = curl_url_get(url, part, &text, 0) == CURLUE_OK;
    curl_free(text);
    return has;
}

/* Addresses in brackets may have a zone, which says nothing here. */
static bool is_loopback6(const char *host)
{
    char text[INET6_ADDRSTRLEN];
    struct in6_addr address;
    size_t n = strcspn(host + 1, "%]");
    if (n >= sizeof(text))
        return false;
    memcpy(text, host + 1, n);
    text[n] = '\0';
    if (inet_pton(AF_INET6, text, &address) != 1)
        return false;
    return IN6_IS_ADDR_LOOPBACK(&address) ||
           (IN6_IS_ADDR_V4MAPPED(&address) && address.s6_addr[12] == 127);
}

static bool is_loopback(const char *host)
{
    struct in_addr address;
    if (host[0] == '[')
        return is_loopback6(host);
    if (inet_pton(AF_INET, host, &address) == 1)
        return (ntohl(address.s_addr) >> 24) == 127;
    return strcasecmp(host, "localhost") == 0 || strcasecmp(host, "localhost.") == 0;
}

bool hl_cli_origin_read(const char *text, struct hl_cli_origin *out)
{
    char *scheme = NULL, *host = NULL;
    CURLU *url = curl_url();
    bool is_good = url && curl_url_set(url, CURLUPART_URL, text, 0) == CURLUE_OK &&
                   curl_url_get(url, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
                   curl_url_get(url, CURLUPART_HOST, &host, 0) == CURLUE_OK;
    bool is_http = is_good && strcmp(scheme, "http") == 0;
    is_good = is_good && *host && (is_http || strcmp(scheme, "https") == 0);
    if (is_good)
        *out = (struct hl_cli_origin){.is_plain = is_http,
            .is_loopback = is_loopback(host),
            .has_user = has_part(url, CURLUPART_USER) || has_part(url, CURLUPART_PASSWORD),
            .has_query = has_part(url, CURLUPART_QUERY) || has_part(url, CURLUPART_FRAGMENT)};
    curl_free(scheme);
    curl_free(host);
    curl_url_cleanup(url);
    return is_good;
}

/* ---- the request ---- */

static size_t on_body(char *bytes, size_t size, size_t n, void *owner)
{
    struct hl_cli_fetch *fetch = owner;
    (void)size; /* it is 1 */
    fetch->is_ended = !fetch->on_bytes(fetch, (struct hl_str){bytes, n});
    return fetch->is_ended ? CURL_WRITEFUNC_ERROR : n;
}

/* The status line, and X-Request-Id. */
static size_t on_field(char *bytes, size_t size, size_t n, void *owner)
{
    struct hl_cli_fetch *fetch = owner;
    static const char name[] = "x-request-id:";
    struct hl_str line = {bytes, n};
    const char *space = memchr(bytes, ' ', n);
    (void)size;
    while (line.n > 0 && (line.p[line.n - 1] == '\n' || line.p[line.n - 1] == '\r'))
        line.n--;
    if (hl_str_starts_with(line, HL_STR("HTTP/")) && space && line.n >= 12) {
        fetch->status = (unsigned)atoi(space + 1);
        fetch->run_id[0] = '\0';
    } else if (line.n > sizeof(name) &&
               hl_str_eq_nocase((struct hl_str){line.p, sizeof(name) - 1}, hl_str_from(name))) {
        snprintf(fetch->run_id, sizeof(fetch->run_id), "%.*s", (int)(line.n - sizeof(name)),
            line.p + sizeof(name));
    }
    return n;
}

static bool add_field(struct curl_slist **list, const char *field)
{
    struct curl_slist *longer = curl_slist_append(*list, field);
    if (longer)
        *list = longer;
    return longer != NULL;
}

static bool add_two(struct curl_slist **list, const char *name, const char *value)
{
    size_t cap = strlen(name) + strlen(value) + 1;
    char *field = malloc(cap);
    if (!field)
        return false;
    snprintf(field, cap, "%s%s", name, value);
    bool is_added = add_field(list, field);
    explicit_bzero(field, cap);
    free(field);
    return is_added;
}

static bool add_fields(struct curl_slist **list, const struct hl_cli_fetch *fetch)
{
    bool is_good = add_field(list, "Expect:");
    if (fetch->token)
        is_good = is_good && add_two(list, "Authorization: Bearer ", fetch->token);
    if (fetch->content_type)
        is_good = is_good && add_two(list, "Content-Type: ", fetch->content_type);
    for (const char *const *field = fetch->fields; is_good && field && *field; field++)
        is_good = add_field(list, *field);
    return is_good;
}

/* As the curl command takes it: authorities of somebody's own. */
static const char *own_authorities(void)
{
    const char *file = getenv("SSL_CERT_FILE");
    return file && *file ? file : NULL;
}

/* How long, and where from here. */
static void set_up_way(CURL *easy, const struct hl_cli_fetch *fetch)
{
    struct hl_cli_origin origin;
    curl_easy_setopt(easy, CURLOPT_URL, fetch->url);
    curl_easy_setopt(
        easy, CURLOPT_PATH_AS_IS, 1L); /* ".." in it is a name, not a step to another path */
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, fetch->is_long ? 0L : (long)fetch->limit_ms);
    if (fetch->is_long) {
        curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
        curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, (long)(fetch->limit_ms / 1000));
    }
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, fetch->is_believed ? 0L : 1L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, fetch->is_believed ? 0L : 2L);
    if (own_authorities())
        curl_easy_setopt(easy, CURLOPT_CAINFO, own_authorities());
    curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, fetch->socket_path);
    if (fetch->socket_path || fetch->is_here ||
        (hl_cli_origin_read(fetch->url, &origin) && origin.is_loopback))
        curl_easy_setopt(easy, CURLOPT_PROXY, "");
}

static void set_up(CURL *easy, struct hl_cli_fetch *fetch, struct curl_slist *fields)
{
    set_up_way(easy, fetch);
    if (!fetch->method) {
        curl_easy_setopt(easy, CURLOPT_CONNECT_ONLY, 1L);
        return;
    }
    curl_easy_setopt(easy, CURLOPT_USERAGENT, "hookline/" HL_VERSION);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, fields);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, fetch);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_field);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, fetch);
    if (strcmp(fetch->method, "HEAD") == 0) /* no body comes, whatever its length is said to be */
        curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
    else if (strcmp(fetch->method, "GET") != 0) {
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)fetch->body.n);
        curl_easy_setopt(easy, CURLOPT_POSTFIELDS, fetch->body.p ? fetch->body.p : "");
        curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, fetch->method);
    }
}

/* A Unix socket with too many before it in its queue leaves no errno. */
static void note_failure(struct hl_cli_fetch *fetch, CURL *easy, CURLcode code)
{
    long error = 0;
    if (code == CURLE_COULDNT_CONNECT || code == CURLE_SEND_ERROR || code == CURLE_RECV_ERROR)
        curl_easy_getinfo(easy, CURLINFO_OS_ERRNO, &error);
    if (code == CURLE_COULDNT_CONNECT && error == 0 && fetch->socket_path)
        error = EAGAIN;
    fetch->error = (int)error;
    fetch->is_late = code == CURLE_OPERATION_TIMEDOUT;
    if (!*fetch->why)
        snprintf(fetch->why, sizeof(fetch->why), "%s", curl_easy_strerror(code));
}

bool hl_cli_fetch_try(struct hl_cli_fetch *fetch)
{
    struct curl_slist *fields = NULL;
    CURLcode code = CURLE_OUT_OF_MEMORY;
    CURL *easy = curl_easy_init();
    _Static_assert(sizeof(fetch->why) >= CURL_ERROR_SIZE, "libcurl writes so much");
    fetch->status = 0;
    *fetch->why = '\0';
    if (easy && add_fields(&fields, fetch)) {
        set_up(easy, fetch, fields);
        curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, fetch->why);
        code = curl_easy_perform(easy);
    }
    if (code != CURLE_OK)
        note_failure(fetch, easy, code);
    curl_slist_free_all(fields);
    curl_easy_cleanup(easy);
    return code == CURLE_OK;
}

const char *hl_cli_fetch_error(const struct hl_cli_fetch *fetch)
{
    if (fetch->is_late)
        return "no answer in time";
    return fetch->error ? strerror(fetch->error) : fetch->why;
}

int hl_cli_fetch_run(const struct hl_cli *cli, struct hl_cli_fetch *fetch)
{
    if (hl_cli_fetch_try(fetch) || (fetch->is_ended && fetch->status > 0 && ferror(cli->out)))
        return HL_CLI_OK;
    if (fetch->is_ended)
        return HL_CLI_FAILED;
    return hl_cli_fail(cli, "%s: %s", fetch->url, fetch->why);
}
