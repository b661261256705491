/* serve.h - runs the sidecar: starts the threads in order and stops them in reverse. */
#ifndef HL_SERVE_H
#define HL_SERVE_H

struct hl_cli;

/* Until SIGTERM, SIGINT. Returns the exit status: 0 after a clean end, 1 when something cannot be
 * started, 2 for wrong settings. */
int hl_serve(const struct hl_cli *cli);

#endif
