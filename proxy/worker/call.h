/* call.h - from a parsed head to a run or an answer. */
#ifndef HL_WORKER_CALL_H
#define HL_WORKER_CALL_H

#include <stddef.h>

struct hl_client;
struct hl_str;

/* hl_worker.on_head: starts a run or answers. */
size_t hl_call_begin(struct hl_client *c, struct hl_str rest);

#endif
