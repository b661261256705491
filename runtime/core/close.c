/* close.c - how a connection ends, whoever ends it. Thread: the loop's.
 * Promise: the call, if there is one, is told, and goes when no thread has it.
 * Not here: when it ends (connection.c, intake.c, output.c, progress.c). */
#include <stdlib.h>
#include <sys/socket.h>

#include "core/call_inside.h"
#include "core/connection.h"
#include "core/desk.h"
#include "core/fork.h"
#include "core/upload.h"

void hl_connection_drop_call(struct hl_home *home, struct hl_call *call)
{
    home->held -= call->body.n;
    home->calls--;
    hl_call_free(call);
    home->on_gone(home);
}

/* It is not in the queue yet. */
static bool is_arriving(const struct hl_connection *c, const struct hl_call *call)
{
    return c->state == HL_CONNECTION_BODY || (call->upload && call->upload->is_writing);
}

/* A call that waits in the queue is never run; a thread that has it is told. */
static void leave_call(struct hl_connection *c)
{
    struct hl_call *call = c->call;
    c->call = NULL;
    if (!call)
        return;
    hl_call_leave(call);
    if (is_arriving(c, call) || hl_queue_remove(&c->home->desk->queue, &call->entry))
        hl_connection_drop_call(c->home, call);
}

static void drop_pieces(struct hl_connection *c)
{
    struct hl_list *node;
    while ((node = hl_list_pop_front(&c->out)) != NULL)
        free(HL_CONTAINER_OF(node, struct hl_piece, node));
}

/* A process that a function forked may have the socket, too: a close would say nothing to the peer, and
 * a disconnected socket of TCP is one that was reset. */
static void end_socket(struct hl_connection *c, bool resets)
{
    uv_os_fd_t fd;
    if (uv_fileno(&c->stream.handle, &fd) == 0) {
        struct sockaddr nobody = {.sa_family = AF_UNSPEC};
        if (!resets || c->home->is_unix || connect(fd, &nobody, sizeof(nobody)) != 0)
            shutdown(fd, SHUT_RDWR);
    }
    hl_fork_hold();
    hl_stream_close(&c->stream);
    hl_fork_release();
}

void hl_connection_close(struct hl_connection *c, bool resets)
{
    if (c->state == HL_CONNECTION_CLOSING)
        return;
    leave_call(c);
    c->state = HL_CONNECTION_CLOSING;
    hl_slot_remove(&c->home->names, c->name);
    hl_timer_disarm(&c->timer);
    hl_timer_disarm(&c->pace);
    drop_pieces(c);
    end_socket(c, resets);
}
