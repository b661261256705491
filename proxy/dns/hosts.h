/* hosts.h - addresses that /etc/hosts has for a name. */
#ifndef HL_DNS_HOSTS_H
#define HL_DNS_HOSTS_H

#include "net/address.h"

/* In the order of the file, at most `max`; how many. `*is_there`: the file can be read. Blocks for as long as
 * that takes. */
size_t hl_hosts_find(struct hl_str name, struct hl_ip *out, size_t max, bool *is_there);
/* The same of a file's text. */
size_t hl_hosts_find_in(struct hl_str text, struct hl_str name, struct hl_ip *out, size_t max);

/* localhost, or a name below it: they are this machine, and no name server is asked (RFC 6761 6.3). */
bool hl_hosts_is_local(struct hl_str name);

#endif
