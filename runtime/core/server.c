/* server.c - a function host's server: the loop's thread, from listening to the last answer.
 * Owns: the loop and all that lives on it. Thread: the loop's, but for what its header says.
 * Promise: once stopping, it ends when every connection has its answer and every call was released,
 * and not before.
 * Not here: connections (connection.c), which requests are whose (triage.c). */
#include "core/server.h"

#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>
#include <uv/unix.h>

#include "base/log.h"
#include "base/log_sink.h"
#include "core/call_inside.h"
#include "core/connection.h"
#include "core/desk.h"
#include "core/fork.h"
#include "core/host_log.h"
#include "core/progress.h"
#include "core/upload.h"
#include "loop/thread.h"
#include "net/listener.h"

#define MOST_CONNECTIONS  4096
#define OTHER_DESCRIPTORS 64 /* kept for the function and the libraries */
#define LEAST_MAX_HELD    (UINT64_C(256) << 20)
#define SOCKET_MODE       0777 /* less the umask, as bind does */

struct hl_server {
    struct hl_desk desk;
    uv_loop_t loop;
    struct hl_wheel wheel;
    struct hl_reader reader;
    struct hl_listener listener;
    uv_signal_t sigterm, sigint;
    struct hl_home home;
    struct hl_thread thread;
    struct hl_msg stop;
    atomic_bool is_told; /* `stop` was posted */
    bool has_loop, has_handles, has_queue, takes_signals;
    bool is_stopping; /* the loop knows */
    uint16_t port;
};

/* ---- stopping ---- */

static void close_listener(struct hl_server *server)
{
    hl_fork_hold();
    hl_listener_close(&server->listener);
    hl_fork_release();
}

static void close_handles(struct hl_server *server)
{
    if (server->takes_signals) {
        uv_close((uv_handle_t *)&server->sigterm, NULL);
        uv_close((uv_handle_t *)&server->sigint, NULL);
    }
    close_listener(server);
    hl_wheel_close(&server->wheel);
    hl_reader_close(&server->reader);
    hl_uv_mailbox_close(&server->desk.mail);
}

static void on_gone(struct hl_home *home)
{
    struct hl_server *server = HL_CONTAINER_OF(home, struct hl_server, home);
    if (!server->is_stopping) {
        hl_listener_poke(&server->listener);
        return;
    }
    if (home->count > 0)
        return;
    hl_queue_close(&server->desk.queue);
    if (home->calls == 0)
        close_handles(server);
}

static void begin_stop(struct hl_server *server)
{
    if (server->is_stopping)
        return;
    HL_LOG(INFO, "stopping: no more calls are accepted, running ones may finish",
        HL_LOG_INT("calls", server->home.calls));
    server->is_stopping = true;
    atomic_store_explicit(&server->desk.is_stopping, true, memory_order_relaxed);
    close_listener(server);
    hl_connection_stop_all(&server->home);
    if (server->home.count == 0)
        on_gone(&server->home);
}

static void on_signal(uv_signal_t *handle, int signal)
{
    struct hl_server *server = handle->data;
    if (!server->is_stopping) {
        begin_stop(server);
        return;
    }
    HL_LOG(WARN, "a second signal: ending at once", HL_LOG_INT("calls", server->home.calls));
    hl_log_sink_put_last("", 0);
    uv_signal_stop(handle); /* back to what the system does with it */
    kill(getpid(), signal);
}

void hl_server_stop(struct hl_server *server)
{
    if (!atomic_exchange(&server->is_told, true))
        hl_mailbox_post(&server->desk.mail.box, &server->stop);
}

bool hl_server_is_stopping(const struct hl_server *server)
{
    return atomic_load_explicit(&server->desk.is_stopping, memory_order_relaxed);
}

/* ---- running ---- */

static void on_message(void *self, struct hl_msg *msg)
{
    struct hl_server *server = self;
    switch ((enum hl_desk_message)msg->type) {
    case HL_DESK_PIECE:
        hl_connection_take_piece(&server->home, HL_CONTAINER_OF(msg, struct hl_piece, msg));
        break;
    case HL_DESK_PROGRESS:
        hl_connection_take_progress(&server->home, HL_CONTAINER_OF(msg, struct hl_progress, told));
        break;
    case HL_DESK_RELEASED:
        hl_connection_take_call(&server->home, HL_CONTAINER_OF(msg, struct hl_call, released));
        break;
    case HL_DESK_STOP:
        begin_stop(server);
        break;
    }
}

static bool may_accept(void *owner)
{
    const struct hl_server *server = owner;
    return server->home.count < server->home.max;
}

static void on_connection(struct hl_listener *listener)
{
    struct hl_server *server = listener->host.owner;
    hl_connection_accept(&server->home, listener);
}

static void run(void *arg)
{
    struct hl_server *server = arg;
    uv_run(&server->loop, UV_RUN_DEFAULT);
}

/* ---- starting ---- */

static struct hl_listener_host host_of(struct hl_server *server)
{
    return (struct hl_listener_host){.loop = &server->loop,
        .wheel = &server->wheel,
        .owner = server,
        .may_accept = may_accept,
        .on_connection = on_connection};
}

static int listen_tcp(struct hl_server *server)
{
    const struct hl_settings *s = &server->desk.settings;
    struct sockaddr_storage address = {0};
    if (uv_ip4_addr(s->host, s->port, (struct sockaddr_in *)&address) != 0 &&
        uv_ip6_addr(s->host, s->port, (struct sockaddr_in6 *)&address) != 0)
        return UV_EINVAL;
    const struct hl_listener_host host = host_of(server);
    int rc = hl_listener_open(&server->listener, &host, (struct sockaddr *)&address, false);
    if (rc == 0)
        server->port = hl_listener_port(&server->listener);
    return rc;
}

static enum hl_err listen_on(struct hl_server *server, char *why)
{
    const struct hl_settings *s = &server->desk.settings;
    server->home.is_unix = s->socket[0] != '\0';
    hl_fork_hold();
    const struct hl_listener_host host = host_of(server);
    int rc = server->home.is_unix
                 ? hl_listener_open_unix(&server->listener, &host, s->socket, SOCKET_MODE)
                 : listen_tcp(server);
    hl_fork_release();
    if (rc == 0)
        return HL_OK;
    if (server->home.is_unix)
        snprintf(why, HL_SETTINGS_WHY,
            "cannot listen on %s: %s; free it or choose another (--socket)", s->socket,
            uv_strerror(rc));
    else
        snprintf(why, HL_SETTINGS_WHY,
            "cannot listen on %s port %u: %s; free it or choose another (--host, --port)", s->host,
            s->port, uv_strerror(rc));
    return HL_ERR_IO;
}

static size_t count_connections(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 ||
        limit.rlim_cur > MOST_CONNECTIONS + OTHER_DESCRIPTORS)
        return MOST_CONNECTIONS;
    return limit.rlim_cur > 2 * OTHER_DESCRIPTORS ? limit.rlim_cur - OTHER_DESCRIPTORS
                                                  : OTHER_DESCRIPTORS;
}

static void init_home(struct hl_server *server)
{
    struct hl_home *home = &server->home;
    uint64_t held = server->desk.settings.max_body * 4;
    home->desk = &server->desk;
    home->loop = &server->loop;
    home->wheel = &server->wheel;
    home->reader = &server->reader;
    home->max = count_connections();
    home->max_held = held > LEAST_MAX_HELD ? held : LEAST_MAX_HELD;
    home->on_gone = on_gone;
    hl_list_init(&home->connections);
    hl_list_init(&home->uploads);
    hl_slot_table_init(&home->names);
    hl_id_source_init(&home->ids);
}

/* The loop with everything on it but the listener. What was begun is lost on a failure: then there
 * is no memory, and the program ends. */
static int init_loop(struct hl_server *server)
{
    hl_loop_memory_set();
    int rc = uv_loop_init(&server->loop);
    if (rc != 0)
        return rc;
    server->has_loop = true;
    rc = hl_wheel_init(&server->wheel, &server->loop);
    if (rc == 0)
        rc = hl_reader_init(&server->reader, &server->loop);
    if (rc == 0)
        rc = hl_uv_mailbox_init(&server->desk.mail, &server->loop, on_message, server);
    if (rc == 0)
        uv_ref((uv_handle_t *)&server->desk.mail.async); /* calls without a caller end, too */
    server->has_handles = rc == 0;
    return rc;
}

static int take_signals(struct hl_server *server)
{
    int rc = uv_signal_init(&server->loop, &server->sigterm);
    if (rc == 0)
        rc = uv_signal_init(&server->loop, &server->sigint);
    server->takes_signals = rc == 0;
    server->sigterm.data = server->sigint.data = server;
    if (rc == 0)
        rc = uv_signal_start(&server->sigterm, on_signal, SIGTERM);
    return rc == 0 ? uv_signal_start(&server->sigint, on_signal, SIGINT) : rc;
}

/* ---- forked processes ---- */

static void close_fd(int fd)
{
    if (fd >= 0)
        close(fd);
}

static void close_handle(const uv_handle_t *handle)
{
    uv_os_fd_t fd;
    if (uv_fileno(handle, &fd) == 0)
        close(fd);
}

/* In a child: its copies of our descriptors. The loop itself is left as it is: asking libuv to close
 * anything would take it out of the epoll set that the child shares with us. */
static void let_go(void *self)
{
    struct hl_server *server = self;
    if (server->listener.is_open) {
        close_handle(&server->listener.handle);
        close_fd(server->listener.accepted); /* nobody has taken it yet */
    }
    HL_LIST_EACH (node, &server->home.connections)
        close_handle(&HL_CONTAINER_OF(node, struct hl_connection, node)->stream.handle);
    hl_upload_close_all(&server->home.uploads);
    close_fd(server->desk.queue.bell);
    close_fd(server->loop.async_io_watcher.fd);
    close_fd(server->loop.async_wfd);
    close_fd(server->loop.signal_pipefd[0]);
    close_fd(server->loop.signal_pipefd[1]);
    close_fd(uv_backend_fd(&server->loop));
}

static enum hl_err open_all(struct hl_server *server, const struct hl_settings *settings,
    const struct hl_callee *callees, size_t count, bool takes_signals, char *why)
{
    server->desk.settings = *settings;
    server->stop.type = HL_DESK_STOP;
    enum hl_err err = hl_fork_watch();
    if (!err)
        err = hl_directory_init(&server->desk.directory, callees, count, why);
    if (err)
        return err;
    snprintf(why, HL_SETTINGS_WHY, "cannot make the server's loop");
    err = hl_queue_init(&server->desk.queue, settings->concurrency);
    if (err)
        return err;
    server->has_queue = true;
    init_home(server);
    if (init_loop(server) != 0 || (takes_signals && take_signals(server) != 0))
        return HL_ERR_NOMEM;
    hl_fork_set_server(server, let_go, takes_signals);
    return listen_on(server, why);
}

static void free_server(struct hl_server *server)
{
    hl_fork_drop_server(server);
    if (server->has_loop) {
        uv_run(&server->loop, UV_RUN_DEFAULT); /* close callbacks */
        uv_loop_close(&server->loop);
    }
    hl_reader_fini(&server->reader);
    hl_slot_table_fini(&server->home.names);
    if (server->has_queue)
        hl_queue_fini(&server->desk.queue);
    hl_directory_fini(&server->desk.directory);
    free(server);
}

enum hl_err hl_server_start(struct hl_server **out, const struct hl_settings *settings,
    const struct hl_callee *callees, size_t callee_count, bool takes_signals,
    char why[HL_SETTINGS_WHY])
{
    *out = NULL;
    snprintf(why, HL_SETTINGS_WHY, "out of memory");
    struct hl_server *server = calloc(1, sizeof(*server));
    if (!server)
        return HL_ERR_NOMEM;
    signal(SIGPIPE, SIG_IGN);
    enum hl_err err = open_all(server, settings, callees, callee_count, takes_signals, why);
    if (!err && hl_thread_start(&server->thread, "hl-server", run, server) != 0) {
        snprintf(why, HL_SETTINGS_WHY, "cannot start the server's thread");
        err = HL_ERR_NOMEM;
    }
    if (err) {
        if (server->has_handles)
            close_handles(server);
        free_server(server);
        return err;
    }
    hl_host_log_set_serving();
    *out = server;
    return HL_OK;
}

uint16_t hl_server_port(const struct hl_server *server)
{
    return server->port;
}

struct hl_call *hl_call_take(struct hl_server *server)
{
    return hl_desk_take(&server->desk);
}

struct hl_call *hl_call_take_async(struct hl_server *server)
{
    return hl_desk_take_async(&server->desk);
}

int hl_server_bell(const struct hl_server *server)
{
    return server->desk.queue.bell;
}

bool hl_server_hear(struct hl_server *server)
{
    return hl_queue_hear(&server->desk.queue);
}

void hl_server_free(struct hl_server *server)
{
    if (!server || hl_fork_is_child()) /* a child's is its parent's */
        return;
    hl_server_stop(server);
    hl_thread_join(&server->thread);
    free_server(server);
}
