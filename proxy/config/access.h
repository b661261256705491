/* access.h - who may ask: by which names hookline is asked, pages of which origins, which paths need no token, and
 * who may use the admin listener without one. Texts are as the settings have them. Pure. */
#ifndef HL_CONFIG_ACCESS_H
#define HL_CONFIG_ACCESS_H

#include <stdbool.h>

#include "base/compiler.h"
#include "base/err.h"
#include "base/str.h"

struct hl_config;
struct hl_head;
struct hl_listen_address;
struct hl_origin_list;

/* ---- whether a request was meant for this server, by the name that it came by, and whether a page of another
 * origin sent it
 *
 * A browser on the machine reaches loopback addresses for any page that it shows: a page whose name was pointed here (DNS
 * rebinding) is told by its Host, one of another origin by what the browser says of it (Fetch Metadata, Origin,
 * Referer) ---- */

/* HOOKLINE_ADMIN_HOSTS, HOOKLINE_HOSTS: comma-separated names, without ports. */
bool hl_hookline_hosts_are_valid(struct hl_str list);
/* `host` (RFC 9110 7.2) is an address, localhost, or one of those names. */
bool hl_hookline_hosts_have(struct hl_str names, struct hl_str host);
/* A browser sent it for a page of another origin than ours. */
bool hl_hookline_hosts_is_cross_site(struct hl_str names, const struct hl_head *head);

/* ---- lists of web origins (RFC 6454) ---- */

/* Comma-separated "scheme://host" or "scheme://host:port", in lower case as browsers send them; the
 * scheme's own port is taken off. "*" stands for all. "null" is not an origin: every sandboxed page
 * has it. Empty text is the empty list. HL_ERR_INVALID, HL_ERR_NOMEM: `out` is empty. */
HL_MUST_CHECK enum hl_err hl_origin_list_parse(struct hl_str text, struct hl_origin_list *out);
void hl_origin_list_fini(struct hl_origin_list *list);

/* The element that stands for `origin`, or an empty one. */
struct hl_str hl_origin_list_find(const struct hl_origin_list *list, struct hl_str origin);

/* ---- HOOKLINE_PUBLIC_PATHS: what is passed through to the app without a token ---- */

/* Comma-separated paths; a '*' at the end of one stands for any rest. None lies where hookline's own
 * routes are, and none could only match paths that are never public. */
bool hl_public_paths_are_valid(struct hl_str list);

/* Whether the raw `path` of a request, without its query, is one of them. A path that two readers
 * could take for different ones is not: with an encoded slash, backslash, dot or NUL, a backslash,
 * an empty or a dot segment, or ';'. */
bool hl_public_paths_have(struct hl_str list, struct hl_str path);

/* ---- who may use the REST interface and the dashboard on the admin listener without a token: by the address
 * that was reached ---- */

/* Whoever reaches this address of HOOKLINE_ADMIN_LISTEN is an admin of every project. */
bool hl_admin_access_is_open(
    const struct hl_config *config, const struct hl_listen_address *address);
/* One of its addresses is not open: tokens have to be known. */
bool hl_admin_access_asks_token(const struct hl_config *config);

#endif
