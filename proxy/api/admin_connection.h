/* admin_connection.h - one connection to the admin listener: its requests are read and answered one
 * after the other. */
#ifndef HL_API_ADMIN_CONNECTION_H
#define HL_API_ADMIN_CONNECTION_H

#include "api/endpoint.h"
#include "base/list.h"
#include "loop/wheel.h"
#include "net/listener.h"

#define HL_ADMIN_MAX_HEAD (16 * 1024) /* more: 431 */
#define HL_ADMIN_MAX_BODY (64 * 1024) /* more: 413 */
#define HL_ADMIN_MAX_TAGS 128         /* a longer If-None-Match is passed over */

/* What the connections have in common; the listener's side of them (admin.c) owns it. */
struct hl_admin_home {
    uv_loop_t *loop;
    struct hl_wheel *wheel;
    struct hl_reader *reader;
    struct hl_api_view view;
    struct hl_list connections; /* all that are not freed */
    size_t count;
    void (*on_gone)(struct hl_admin_home *home); /* one was freed */
    struct hl_head head;                         /* scratch, valid within one event */
};

/* Takes the waiting connection. False: out of memory, it goes on waiting. */
HL_MUST_CHECK bool hl_admin_connection_accept(
    struct hl_admin_home *home, struct hl_listener *listener);

/* Closes all of them; each is freed in its close callback. */
void hl_admin_connection_close_all(struct hl_admin_home *home);

#endif
