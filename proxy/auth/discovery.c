/* discovery.c - finds an issuer's keys by its name alone.
 * Thread: the keeper's.
 * Promise: a document counts only if it names the very issuer that was asked for, so nobody who can write
 * somewhere on the issuer's host speaks for it; and https leads to nothing less.
 * Not here: the requests (key_fetch.c). */
#include "auth/discovery.h"

#include <stdio.h>
#include <string.h>

#include "auth/jwks.h"
#include "auth/jwt.h"
#include "auth/key_fetch.h"
#include "base/buf.h"
#include "base/compiler.h"
#include "http/url.h"

#define URI_MAX 2048

static const char *const names[] = {
    "/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"};

size_t hl_discovery_places(
    struct hl_str issuer, char places[HL_DISCOVERY_PLACES][HL_DISCOVERY_URL_MAX])
{
    struct hl_url url;
    size_t n = 0;
    if (!hl_url_parse(issuer, &url))
        return 0;
    struct hl_str path = url.path_and_query, origin = issuer;
    origin.n -= path.n;
    if (path.n > 0 && path.p[path.n - 1] == '/') /* it goes before anything is added */
        path.n--;
    for (size_t i = 0; i < HL_ARRAY_LEN(names); i++) {
        snprintf(places[n++], HL_DISCOVERY_URL_MAX, "%.*s%.*s%s", HL_STR_ARG(origin),
            HL_STR_ARG(path), names[i]);
        if (path.n > 0)
            snprintf(places[n++], HL_DISCOVERY_URL_MAX, "%.*s%s%.*s", HL_STR_ARG(origin), names[i],
                HL_STR_ARG(path));
    }
    return n;
}

static struct hl_str member(const json_t *document, const char *name)
{
    json_t *value = json_object_get(document, name);
    return json_is_string(value)
               ? (struct hl_str){json_string_value(value), json_string_length(value)}
               : (struct hl_str){NULL, 0};
}

static const char *judge(
    const json_t *document, struct hl_str issuer, char uri[HL_DISCOVERY_URL_MAX])
{
    struct hl_url from, to;
    struct hl_str found = member(document, "jwks_uri");
    if (!json_is_object(document))
        return "its discovery document is no JSON object";
    if (!hl_str_eq(member(document, "issuer"), issuer))
        return "its discovery document names another issuer";
    if (found.n == 0 || found.n > URI_MAX || !hl_url_parse(found, &to) || to.has_userinfo ||
        to.port == 0)
        return "its discovery document has no usable jwks_uri";
    if (hl_url_parse(issuer, &from) && from.is_https && !to.is_https)
        return "its discovery document names keys that come without TLS";
    snprintf(uri, HL_DISCOVERY_URL_MAX, "%.*s", HL_STR_ARG(found));
    return NULL;
}

const char *hl_discovery_read(
    struct hl_str text, struct hl_str issuer, char uri[HL_DISCOVERY_URL_MAX])
{
    json_t *document = hl_strict_json(hl_str_unframe(text));
    const char *fault = judge(document, issuer, uri);
    json_decref(document);
    return fault;
}

static const char *ask(struct hl_key_fetcher *f, const char *place, struct hl_str issuer,
    uint64_t until_ms, char uri[HL_DISCOVERY_URL_MAX])
{
    struct hl_buf text;
    hl_buf_init(&text, HL_JWKS_MAX);
    const char *fault = hl_key_fetch(f, hl_str_from(place), until_ms, &text);
    if (!fault)
        fault = hl_discovery_read(hl_buf_str(&text), issuer, uri);
    hl_buf_fini(&text);
    return fault;
}

/* An answer may be a page that the server has for all that it does not know: the next place is looked at.
 * What is wrong with a document says more than that there is none elsewhere. */
const char *hl_discover(struct hl_key_fetcher *f, struct hl_str issuer, uint64_t until_ms,
    char uri[HL_DISCOVERY_URL_MAX])
{
    char places[HL_DISCOVERY_PLACES][HL_DISCOVERY_URL_MAX];
    size_t n = hl_discovery_places(issuer, places);
    const char *first = NULL;
    bool is_document = false;
    for (size_t i = 0; i < n; i++) {
        const char *fault = ask(f, places[i], issuer, until_ms, uri);
        if (!fault)
            return NULL;
        if (f->status == 0) /* the others would not answer either */
            return fault;
        if (!first || (f->status == 200 && !is_document))
            first = fault;
        is_document = is_document || f->status == 200;
    }
    return first ? first : "it is not a URL";
}
