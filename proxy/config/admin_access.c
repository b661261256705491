/* admin_access.c - who may use the REST interface and the dashboard on the admin listener.
 * Thread: any; no state.
 * Not here: whose page a request was sent by (config/own_hosts.c), tokens (auth/). */
#include "config/admin_access.h"

#include "config/choice.h"
#include "config/config.h"

static bool is_loopback(const struct hl_listen_address *address)
{
    struct hl_ip ip;
    return hl_ip_from_sockaddr((const struct sockaddr *)&address->addr, &ip) &&
           hl_ip_is_loopback(&ip);
}

bool hl_admin_access_is_open(
    const struct hl_config *config, const struct hl_listen_address *address)
{
    if (config->admin_auth != HL_ADMIN_AUTH_AUTO)
        return config->admin_auth == HL_ADMIN_AUTH_NONE;
    return config->auth == HL_AUTH_NONE && is_loopback(address);
}

bool hl_admin_access_asks_token(const struct hl_config *config)
{
    for (size_t i = 0; i < config->admin_listen.n; i++) {
        if (!hl_admin_access_is_open(config, &config->admin_listen.items[i]))
            return true;
    }
    return false;
}
