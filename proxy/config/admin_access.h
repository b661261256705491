/* admin_access.h - who may use the REST interface and the dashboard on the admin listener: by its
 * address, by the name that a request came by, by the page that sent it. Pure.
 *
 * A browser on the machine reaches loopback addresses for any page that it shows: a page whose name
 * was pointed here (DNS rebinding) is told by its Host, one of another origin by what the browser
 * says of it (Fetch Metadata, Origin). */
#ifndef HL_CONFIG_ADMIN_ACCESS_H
#define HL_CONFIG_ADMIN_ACCESS_H

#include "config/config.h"
#include "http/head.h"

/* Whoever reaches this address of HOOKLINE_ADMIN_LISTEN is an admin of every project. */
bool hl_admin_access_is_open(
    const struct hl_config *config, const struct hl_listen_address *address);
/* One of its addresses is not open: tokens have to be known. */
bool hl_admin_access_asks_token(const struct hl_config *config);

/* HOOKLINE_ADMIN_HOSTS, HOOKLINE_HOSTS: comma-separated names, without ports. */
bool hl_admin_access_hosts_are_valid(struct hl_str list);
/* `host` (RFC 9110 7.2) is an address, localhost, or one of those names. */
bool hl_admin_access_serves_host(struct hl_str names, struct hl_str host);
/* A browser sent it for a page of another origin than ours. */
bool hl_admin_access_is_cross_site(struct hl_str names, const struct hl_head *head);

#endif
