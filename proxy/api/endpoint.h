/* endpoint.h - what can be asked of the admin listener: one table of method, path and handler. */
#ifndef HL_API_ENDPOINT_H
#define HL_API_ENDPOINT_H

#include "base/buf.h"
#include "http/head.h"

struct hl_api_view;

struct hl_api_request {
    enum hl_method method;
    struct hl_str path, query; /* as they came, still encoded */
    bool is_open;              /* no token is asked for where it came in */
    bool accepts_gzip;
    struct hl_str if_none_match; /* empty: not there */
};

#define HL_API_FIELDS_MAX 768

struct hl_api_response {
    const struct hl_refusal *refusal; /* problem+json (RFC 9457); NULL: the next three count */
    uint16_t status;
    struct hl_str content_type;     /* static */
    const char *cache_control;      /* static; NULL: no-store */
    char fields[HL_API_FIELDS_MAX]; /* whole lines with CRLF, or "" */
    struct hl_buf body;
};

/* Fills an empty response. Control thread; must not block. HEAD comes as GET: whoever writes the
 * response leaves the body out. */
typedef void hl_api_handler(const struct hl_api_view *view, const struct hl_api_request *request,
    struct hl_api_response *response);

struct hl_api_endpoint {
    enum hl_method method; /* GET stands for HEAD too (RFC 9110 9.3.2) */
    const char *path;
    hl_api_handler *handle;
};

extern const struct hl_api_endpoint hl_api_endpoints[];
extern const size_t hl_api_endpoint_count;

/* Fills the empty `response`, whose body is then the caller's to free: the endpoint's answer, 404,
 * or 405 with Allow. */
void hl_api_answer(const struct hl_api_view *view, const struct hl_api_request *request,
    struct hl_api_response *response);

/* Whether something is at that path. */
bool hl_api_has(struct hl_str path);

#endif
