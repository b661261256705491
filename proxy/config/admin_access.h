/* admin_access.h - who may use the REST interface and the dashboard on the admin listener without a token: by the
 * address that was reached. Pure. */
#ifndef HL_CONFIG_ADMIN_ACCESS_H
#define HL_CONFIG_ADMIN_ACCESS_H

#include <stdbool.h>

struct hl_config;
struct hl_listen_address;

/* Whoever reaches this address of HOOKLINE_ADMIN_LISTEN is an admin of every project. */
bool hl_admin_access_is_open(
    const struct hl_config *config, const struct hl_listen_address *address);
/* One of its addresses is not open: tokens have to be known. */
bool hl_admin_access_asks_token(const struct hl_config *config);

#endif
