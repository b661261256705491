/* endpoint.h - where hookline listens, where the app is, and what a process is called among others. */
#ifndef HL_CONFIG_ENDPOINT_H
#define HL_CONFIG_ENDPOINT_H

#include <stdbool.h>

#include "base/compiler.h"
#include "base/err.h"
#include "config/choice.h"

struct hl_app_url;
struct hl_buf;
struct hl_config;
struct hl_listen_list;
struct hl_str;

/* ---- addresses ---- */

/* Comma-separated "address:port", the address of IPv6 in brackets; of names "localhost" alone, which is
 * 127.0.0.1; without an address, ":8080", it is 0.0.0.0. At least one. Port 0 lets the kernel choose. HL_ERR_INVALID, HL_ERR_NOMEM: `out` is empty. */
HL_MUST_CHECK enum hl_err hl_listen_list_parse(struct hl_str text, struct hl_listen_list *out);
void hl_listen_list_fini(struct hl_listen_list *list);

/* "http://host", "http://host:port" (a final slash is allowed, a path is not), "unix:/path".
 * HL_ERR_INVALID, HL_ERR_NOMEM: `out` is empty. */
HL_MUST_CHECK enum hl_err hl_app_url_parse(struct hl_str text, struct hl_app_url *out);
void hl_app_url_fini(struct hl_app_url *url);
/* The field Host of our own requests to it, a line with CRLF (RFC 9112 3.2: an address of IPv6 in brackets). */
HL_MUST_CHECK enum hl_err hl_app_url_write_host(const struct hl_app_url *url, struct hl_buf *out);

/* ---- whether they can be listened on ---- */

/* Listens for a moment on each address of HOOKLINE_ADMIN_LISTEN and HOOKLINE_LISTEN, with the same
 * neighbours as in a process that runs. A line for each address where this fails, ending in '\n':
 * to `taken` if another has the port, which may be a hookline that runs, else to `problems`; they
 * may be the same. HL_ERR_NOMEM. */
HL_MUST_CHECK enum hl_err hl_ports_probe(
    const struct hl_config *config, struct hl_buf *taken, struct hl_buf *problems);

/* ---- HOOKLINE_REPLICA: what a process calls itself among others on the same database, and where it is found ---- */

#define HL_REPLICA_MAX 128 /* bytes */

/* 1 to 128 printable ASCII characters, none of them blank. */
bool hl_replica_is_valid(struct hl_str text);
/* The host's name, or "hookline" where that cannot be used. Writes a NUL. */
void hl_replica_by_host(char out[HL_REPLICA_MAX + 1]);

/* Where others reach this one's run listener, unless it is told: the address that it listens on; where that
 * is any, the machine's first that is no loopback one. Empty: it has none, or its port is not known yet. Writes
 * a NUL. */
void hl_replica_url_by_listener(
    const struct hl_listen_list *listen, bool is_tls, char out[HL_REPLICA_URL_MAX + 1]);

#endif
