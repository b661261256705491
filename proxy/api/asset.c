/* asset.c - answers requests for the dashboard's files.
 * Owns: nothing; the files are constants. Thread: control.
 * Promise: whatever a file's text says, the browser that shows the dashboard runs nothing but these
 * files and talks to nothing but this listener.
 * Not here: the files (dashboard/), how they got into the program (dashboard/embed.cmake). */
#include "api/asset.h"

#include <stdio.h>
#include <string.h>

#include "api/endpoint.h"
#include "http/field_value.h"
#include "http/refusal.h"

/* Of what a browser may show as a page: no inline script or style, no frames, no forms that leave the page, no sink for
 * markup. */
static const char page_fields[] =
    "Content-Security-Policy: default-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; object-src 'none'; require-trusted-types-for 'script'; "
    "trusted-types 'none'\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Cross-Origin-Opener-Policy: same-origin\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n";

/* Of what such a page loads, which is under that page's. */
static const char loaded_fields[] = "X-Content-Type-Options: nosniff\r\n"
                                    "Cross-Origin-Resource-Policy: same-origin\r\n";

static bool is_page(const struct hl_asset *asset)
{
    return strncmp(asset->content_type, "text/html", 9) == 0 ||
           strncmp(asset->content_type, "image/svg", 9) == 0;
}

static void show(const struct hl_asset *asset, const struct hl_api_request *request,
    struct hl_api_response *response)
{
    response->content_type = hl_str_from(asset->content_type);
    response->cache_control = asset->is_immutable ? "max-age=31536000, immutable" : "no-cache";
    bool is_gzip = request->accepts_gzip;
    char tag[64] = ""; /* what never changes is not asked for again */
    if (!asset->is_immutable)
        snprintf(tag, sizeof(tag), "ETag: W/%s\r\n", asset->etag);
    snprintf(response->fields, sizeof(response->fields), "%sVary: Accept-Encoding\r\n%s%s", tag,
        is_gzip ? "Content-Encoding: gzip\r\n" : "", is_page(asset) ? page_fields : loaded_fields);
    if (*tag && hl_etag_is_known(request->if_none_match, hl_str_from(asset->etag))) {
        response->status = 304;
        return;
    }
    response->status = 200;
    const unsigned char *bytes = is_gzip ? asset->gzip : asset->bytes;
    if (hl_buf_append(&response->body, bytes, is_gzip ? asset->gzip_n : asset->n) != HL_OK)
        *response = (struct hl_api_response){.refusal = hl_refusal_make(HL_REFUSAL_ASSET_MEMORY)};
}

bool hl_asset_answer(const struct hl_api_request *request, struct hl_api_response *response)
{
    const struct hl_asset *asset = hl_assets, *end = hl_assets + hl_asset_count;
    while (asset < end && !hl_str_eq(request->path, hl_str_from(asset->path)))
        asset++;
    if (asset == end)
        return false;
    if (request->method == HL_METHOD_GET || request->method == HL_METHOD_HEAD) {
        show(asset, request, response);
        return true;
    }
    response->refusal = hl_refusal_make(HL_REFUSAL_ASSET_METHOD);
    return true;
}
