/* endpoint.h - where hookline listens and where the app is: texts as socket addresses. */
#ifndef HL_CONFIG_ENDPOINT_H
#define HL_CONFIG_ENDPOINT_H

#include "base/compiler.h"
#include "base/err.h"

struct hl_app_url;
struct hl_listen_list;
struct hl_str;

/* Comma-separated "address:port", the address of IPv6 in brackets; of names "localhost" alone, which is
 * 127.0.0.1; without an address, ":8080", it is 0.0.0.0. At least one. Port 0 lets the kernel choose. HL_ERR_INVALID, HL_ERR_NOMEM: `out` is empty. */
HL_MUST_CHECK enum hl_err hl_listen_list_parse(struct hl_str text, struct hl_listen_list *out);
void hl_listen_list_fini(struct hl_listen_list *list);

/* "http://host", "http://host:port" (a final slash is allowed, a path is not), "unix:/path".
 * HL_ERR_INVALID, HL_ERR_NOMEM: `out` is empty. */
HL_MUST_CHECK enum hl_err hl_app_url_parse(struct hl_str text, struct hl_app_url *out);
void hl_app_url_fini(struct hl_app_url *url);

#endif
