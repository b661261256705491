/* listening.h - the sockets of HOOKLINE_LISTEN on which a worker's callers arrive. Its thread, but for opening. */
#ifndef HL_WORKER_LISTENING_H
#define HL_WORKER_LISTENING_H

#include <stddef.h>

#include "base/compiler.h"
#include "base/err.h"

struct hl_worker;

/* On failure `why` has one line. */
HL_MUST_CHECK enum hl_err hl_listening_open(struct hl_worker *w, char *why, size_t why_len);
/* There is room for callers again. */
void hl_listening_poke(struct hl_worker *w);
/* Connections that the kernel has accepted for us already are served. */
void hl_listening_empty_queue(struct hl_worker *w);
void hl_listening_close(struct hl_worker *w);

#endif
