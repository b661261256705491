/* admin.c - the admin listener.
 * Owns: the listening sockets, and through admin_connection.c the connections. Thread: control.
 * Not here: the requests on a connection (admin_connection.c), what can be asked (endpoint.c). */
#include "api/admin.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "api/admin_answer.h"
#include "api/admin_connection.h"
#include "api/control_path.h"
#include "base/log.h"
#include "config/access.h"
#include "config/config.h"
#include "net/listener.h"
#include "run/service.h"

struct hl_admin {
    struct hl_admin_home home;
    bool is_closing;
    uv_idle_t last; /* never started: its close callback frees all this */
    struct hl_listener control;
    struct hl_control_path control_path;
    size_t listener_count;
    struct hl_listener listeners[];
};

/* Connections that are kept for later give way to one that is there now. */
static bool may_accept(void *owner)
{
    struct hl_admin_home *home = &((struct hl_admin *)owner)->home;
    if (home->count - home->local_count < HL_ADMIN_MAX_CONNECTIONS)
        return true;
    (void)hl_admin_connection_make_room(home);
    return false;
}

static bool make_room(void *owner)
{
    return hl_admin_connection_make_room(&((struct hl_admin *)owner)->home);
}

static bool may_use_reserve(void *owner)
{
    return ((struct hl_admin *)owner)->home.reserved_count < HL_SERVICE_RESERVE;
}

/* Whoever fills the admin listener keeps nobody from the control socket. */
static bool may_accept_local(void *owner)
{
    return ((struct hl_admin *)owner)->home.local_count < HL_ADMIN_MAX_CONNECTIONS;
}

static void on_connection(struct hl_listener *listener)
{
    struct hl_admin *admin = listener->host.owner;
    const struct hl_config *config = admin->home.view.config;
    bool is_local = listener == &admin->control;
    bool is_open = is_local || hl_admin_access_is_open(config,
                                   &config->admin_listen.items[listener - admin->listeners]);
    hl_admin_connection_accept(&admin->home, listener, is_local, is_open);
}

static void close_last(struct hl_admin *admin);

static void on_gone(struct hl_admin_home *home)
{
    struct hl_admin *admin = HL_CONTAINER_OF(home, struct hl_admin, home);
    if (admin->is_closing) {
        if (home->count == 0)
            close_last(admin);
        return;
    }
    hl_listener_poke(&admin->control);
    for (size_t i = 0; i < admin->listener_count; i++)
        hl_listener_poke(&admin->listeners[i]);
}

static struct hl_admin *new_admin(uv_loop_t *loop, struct hl_wheel *wheel, struct hl_reader *reader,
    const struct hl_api_view *view)
{
    size_t n = view->config->admin_listen.n;
    struct hl_admin *admin = calloc(1, sizeof(*admin) + n * sizeof(admin->listeners[0]));
    if (!admin)
        return NULL;
    admin->home = (struct hl_admin_home){.loop = loop,
        .wheel = wheel,
        .reader = reader,
        .view = *view,
        .responder = &hl_admin_answers,
        .on_gone = on_gone};
    hl_list_init(&admin->home.connections);
    admin->control_path.dir_fd = -1;
    uv_idle_init(loop, &admin->last);
    admin->listener_count = n;
    return admin;
}

static struct hl_listener_host host_of(struct hl_admin *admin, bool (*accepts)(void *owner))
{
    return (struct hl_listener_host){.loop = admin->home.loop,
        .wheel = admin->home.wheel,
        .owner = admin,
        .may_accept = accepts,
        .make_room = make_room,
        .may_use_reserve = may_use_reserve,
        .on_connection = on_connection};
}

/* libuv error code or 0. */
static int listen_control(struct hl_admin *admin)
{
    if (!hl_control_path_init(&admin->control_path, admin->home.view.config->data_dir.p))
        return uv_translate_sys_error(errno);
    const struct hl_listener_host host = host_of(admin, may_accept_local);
    return hl_listener_open_unix(&admin->control, &host, admin->control_path.text, 0600);
}

static void explain_control(const struct hl_config *config, int rc, char *why, size_t why_len)
{
    snprintf(why, why_len,
        "HOOKLINE_DATA_DIR: cannot listen on the control socket %s/" HL_CONTROL_SOCKET ": %s",
        config->data_dir.p, uv_strerror(rc));
}

bool hl_admin_check(const struct hl_config *config, char *why, size_t why_len)
{
    struct hl_control_path path;
    if (config->store == HL_STORE_MEMORY || !hl_control_path_init(&path, config->data_dir.p))
        return true;
    int err = hl_listener_probe_unix(path.text);
    hl_control_path_fini(&path);
    if (err != EADDRINUSE)
        return true;
    explain_control(config, uv_translate_sys_error(err), why, why_len);
    return false;
}

/* The memory store needs no data directory: then the socket is worth making one, no more. */
static enum hl_err open_control(struct hl_admin *admin, char *why, size_t why_len)
{
    const struct hl_config *config = admin->home.view.config;
    bool is_needed = config->store != HL_STORE_MEMORY;
    if (!is_needed)
        (void)mkdir(config->data_dir.p, 0700);
    int rc = listen_control(admin);
    if (rc == 0)
        return HL_OK;
    explain_control(config, rc, why, why_len);
    if (is_needed)
        return HL_ERR_IO;
    HL_LOG(WARN, "no control socket: the hookline command cannot ask this process",
        HL_LOG_TEXT("why", why));
    return HL_OK;
}

enum hl_err hl_admin_open(struct hl_admin **out, uv_loop_t *loop, struct hl_wheel *wheel,
    struct hl_reader *reader, const struct hl_api_view *view, char *why, size_t why_len)
{
    *out = NULL;
    struct hl_admin *admin = new_admin(loop, wheel, reader, view);
    if (!admin) {
        snprintf(why, why_len, "out of memory");
        return HL_ERR_NOMEM;
    }
    const struct hl_listener_host host = host_of(admin, may_accept);
    for (size_t i = 0; i < admin->listener_count; i++) {
        const struct hl_listen_address *address = &view->config->admin_listen.items[i];
        int rc = hl_listener_open(
            &admin->listeners[i], &host, (const struct sockaddr *)&address->addr, false);
        if (rc != 0) {
            snprintf(why, why_len, "cannot listen on HOOKLINE_ADMIN_LISTEN %s: %s", address->text,
                uv_strerror(rc));
            hl_admin_close(admin);
            return HL_ERR_IO;
        }
    }
    enum hl_err err = open_control(admin, why, why_len);
    if (err != HL_OK) {
        hl_admin_close(admin);
        return err;
    }
    *out = admin;
    return HL_OK;
}

uint16_t hl_admin_port(const struct hl_admin *admin, size_t index)
{
    return hl_listener_port(&admin->listeners[index]);
}

void hl_admin_close(struct hl_admin *admin)
{
    if (!admin)
        return;
    admin->is_closing = true;
    hl_listener_close(&admin->control);
    for (size_t i = 0; i < admin->listener_count; i++)
        hl_listener_close(&admin->listeners[i]);
    hl_admin_connection_close_all(&admin->home);
    if (admin->home.count == 0)
        close_last(admin);
}

static void on_last_closed(uv_handle_t *handle)
{
    struct hl_admin *admin = HL_CONTAINER_OF(handle, struct hl_admin, last);
    hl_control_path_fini(&admin->control_path);
    free(admin);
}

static void on_turn_over(uv_handle_t *handle)
{
    uv_idle_init(handle->loop, (uv_idle_t *)handle);
    uv_close(handle, on_last_closed);
}

/* Closed twice: libuv promises no order among the close callbacks of one loop turn, and the
 * listeners, which close in silence, may share the first one. */
static void close_last(struct hl_admin *admin)
{
    uv_close((uv_handle_t *)&admin->last, on_turn_over);
}
