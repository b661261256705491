/* admin.h - the admin listener and the control socket: a small, strict HTTP/1.1 server on the
 * control thread's loop (contract 2). */
#ifndef HL_API_ADMIN_H
#define HL_API_ADMIN_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/compiler.h"
#include "base/err.h"

struct hl_api_view;
struct hl_config;
struct hl_reader;
struct hl_wheel;

/* Of each kind. Beyond it, from the network, one that is idle gives way; else accepting pauses. */
#define HL_ADMIN_MAX_CONNECTIONS 256

struct hl_admin;

/* Listens on every address in view->config->admin_listen, and on the control socket; where nothing is
 * stored on disk, that one may fail with a warning. Borrows all its arguments until it is
 * closed and the loop has run its close callbacks; `*view` is copied. On failure `why` has one line
 * and `*out` is NULL. */
HL_MUST_CHECK enum hl_err hl_admin_open(struct hl_admin **out, uv_loop_t *loop,
    struct hl_wheel *wheel, struct hl_reader *reader, const struct hl_api_view *view, char *why,
    size_t why_len);

/* Whether the control socket's place is free, or has what a start would replace; a data directory
 * that cannot be used is the store's to say. False: `why` has one line. */
bool hl_admin_check(const struct hl_config *config, char *why, size_t why_len);
/* The port that the address of that index in the config was bound to. */
uint16_t hl_admin_port(const struct hl_admin *admin, size_t index);

/* Stops listening and closes all connections. NULL-safe. `admin` is freed while the loop runs on,
 * in its last close callback. */
void hl_admin_close(struct hl_admin *admin);

#endif
