/* port.h - whether the listeners' addresses can be listened on. */
#ifndef HL_CONFIG_PORT_H
#define HL_CONFIG_PORT_H

#include "base/compiler.h"
#include "base/err.h"

struct hl_buf;
struct hl_config;

/* Listens for a moment on each address of HOOKLINE_ADMIN_LISTEN and HOOKLINE_LISTEN, with the same
 * neighbours as in a process that runs. A line for each address where this fails, ending in '\n':
 * to `taken` if another has the port, which may be a hookline that runs, else to `problems`; they
 * may be the same. HL_ERR_NOMEM. */
HL_MUST_CHECK enum hl_err hl_ports_probe(
    const struct hl_config *config, struct hl_buf *taken, struct hl_buf *problems);

#endif
