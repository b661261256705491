/* origin.c - see origin.h. libcurl's own parser says which host a URL names: one that reads it otherwise than
 * who connects judges another host. */
#include "cli/origin.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

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
