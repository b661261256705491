/* fetch.c - one request by libcurl. Redirects are not followed: a token is for the address that was
 * given. No proxy is asked for what is on this machine. */
#include "cli/fetch.h"

#include <curl/curl.h>
#include <curl/system.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/origin.h"

#define CONNECT_MS 10000L

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

static void set_up(CURL *easy, struct hl_cli_fetch *fetch, struct curl_slist *fields)
{
    curl_easy_setopt(easy, CURLOPT_URL, fetch->url);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_USERAGENT, "hookline/" HL_VERSION);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, fields);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, fetch->is_long ? 0L : (long)fetch->limit_ms);
    if (fetch->is_long) {
        curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
        curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, (long)(fetch->limit_ms / 1000));
    }
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, fetch);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_field);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, fetch);
    struct hl_cli_origin origin;
    if (fetch->is_here || (hl_cli_origin_read(fetch->url, &origin) && origin.is_loopback))
        curl_easy_setopt(easy, CURLOPT_PROXY, "");
    if (strcmp(fetch->method, "GET") != 0) {
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)fetch->body.n);
        curl_easy_setopt(easy, CURLOPT_POSTFIELDS, fetch->body.p ? fetch->body.p : "");
        curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, fetch->method);
    }
}

int hl_cli_fetch(const struct hl_cli *cli, struct hl_cli_fetch *fetch)
{
    char why[CURL_ERROR_SIZE] = "";
    struct curl_slist *fields = NULL;
    CURLcode code = CURLE_OUT_OF_MEMORY;
    fetch->status = 0;
    CURL *easy = curl_easy_init();
    if (easy && add_fields(&fields, fetch)) {
        set_up(easy, fetch, fields);
        curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, why);
        code = curl_easy_perform(easy);
    }
    curl_slist_free_all(fields);
    curl_easy_cleanup(easy);
    if (code == CURLE_OK || (code == CURLE_WRITE_ERROR && fetch->status > 0 && ferror(cli->out)))
        return HL_CLI_OK;
    if (fetch->is_ended)
        return HL_CLI_FAILED;
    return hl_cli_fail(cli, "%s: %s", fetch->url, *why ? why : curl_easy_strerror(code));
}
