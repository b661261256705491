/* port.c - whether the listeners' addresses can be listened on. Any thread; no state.
 * Not here: listening (net/listener.c), and who owns the listeners (api/admin.c, worker/worker.c). */
#include "config/port.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "config/choice.h"
#include "config/config.h"
#include "net/listener.h"

static const char *advice(int err)
{
    switch (err) {
    case EADDRINUSE:
        return "free the port or choose another";
    case EADDRNOTAVAIL:
        return "choose an address that this machine has";
    case EACCES:
        return "choose a port of 1024 or above, or let hookline bind lower ones "
               "(CAP_NET_BIND_SERVICE)";
    default:
        return "choose another address";
    }
}

/* `held`: where the open sockets go, -1 for one that is not; NULL: each is closed again at once. */
static enum hl_err hold_all(const char *name, const struct hl_listen_list *list, int *held,
    struct hl_buf *taken, struct hl_buf *problems)
{
    enum hl_err err = HL_OK;
    for (size_t i = 0; i < list->n && !err; i++) {
        const struct hl_listen_address *a = &list->items[i];
        int fd, rc = hl_listener_hold((const struct sockaddr *)&a->addr, &fd);
        if (rc != 0)
            err = hl_buf_printf(rc == EADDRINUSE ? taken : problems,
                "cannot listen on %s %s: %s; %s\n", name, a->text, strerror(rc), advice(rc));
        if (held)
            held[i] = fd;
        else if (fd >= 0)
            close(fd);
    }
    return err;
}

/* Addresses of the run listener may overlap each other (SO_REUSEPORT); those of the admin listener
 * may overlap none. */
enum hl_err hl_ports_probe(
    const struct hl_config *config, struct hl_buf *taken, struct hl_buf *problems)
{
    size_t n = config->admin_listen.n;
    int *held = malloc((n + 1) * sizeof(int));
    if (!held)
        return HL_ERR_NOMEM;
    for (size_t i = 0; i < n; i++)
        held[i] = -1;
    enum hl_err err =
        hold_all("HOOKLINE_ADMIN_LISTEN", &config->admin_listen, held, taken, problems);
    if (!err)
        err = hold_all("HOOKLINE_LISTEN", &config->listen, NULL, taken, problems);
    for (size_t i = 0; i < n; i++)
        if (held[i] >= 0)
            close(held[i]);
    free(held);
    return err;
}
