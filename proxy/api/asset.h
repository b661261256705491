/* asset.h - the dashboard's files (api/dashboard/), which are part of the program, and the answer to
 * a request for one of them (contract 13).
 *
 * The page `/` is asked for each time and answered with 304 where it has not changed; all else has a
 * path with a hash over all files in it and may be kept for good. */
#ifndef HL_API_ASSET_H
#define HL_API_ASSET_H

#include <stdbool.h>
#include <stddef.h>

struct hl_api_request;
struct hl_api_response;

struct hl_asset {
    const char *path, *content_type;
    const char *etag; /* with its quotes */
    bool is_immutable;
    const unsigned char *bytes, *gzip; /* as it is; the same, compressed (RFC 1952) */
    size_t n, gzip_n;
};

/* The table that dashboard/embed.cmake makes. */
extern const struct hl_asset hl_assets[];
extern const size_t hl_asset_count;

/* Fills the empty response if an asset has the request's path, also when it refuses the method.
 * False: there is none. */
bool hl_asset_answer(const struct hl_api_request *request, struct hl_api_response *response);

#endif
