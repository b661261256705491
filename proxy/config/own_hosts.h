/* own_hosts.h - whether a request was meant for this server, by the name that it came by, and whether a page of another
 * origin sent it. Pure.
 *
 * A browser on the machine reaches loopback addresses for any page that it shows: a page whose name was pointed here (DNS
 * rebinding) is told by its Host, one of another origin by what the browser says of it (Fetch Metadata, Origin,
 * Referer). */
#ifndef HL_CONFIG_OWN_HOSTS_H
#define HL_CONFIG_OWN_HOSTS_H

#include <stdbool.h>

struct hl_head;
struct hl_str;

/* HOOKLINE_ADMIN_HOSTS, HOOKLINE_HOSTS: comma-separated names, without ports. */
bool hl_own_hosts_are_valid(struct hl_str list);
/* `host` (RFC 9110 7.2) is an address, localhost, or one of those names. */
bool hl_own_hosts_have(struct hl_str names, struct hl_str host);
/* A browser sent it for a page of another origin than ours. */
bool hl_own_hosts_is_cross_site(struct hl_str names, const struct hl_head *head);

#endif
