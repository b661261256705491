/* run_terms.h - what a call asks for its run, beside the app's answer (contract 7). It is made with the call's plan, and
 * copied whole from there to whoever has the run: its worker, the store, the worker that is handed it. */
#ifndef HL_BASE_RUN_TERMS_H
#define HL_BASE_RUN_TERMS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/priority.h"

struct hl_run_terms {
    uint64_t wait_ms; /* asynchronous: for the response, in place of the 202; 0: not */
    /* Inside the app, each attempt; 0: none, or asynchronous: as settings say then. */
    uint64_t timeout_ms;
    /* Until it is inside for the first time, then it ends as expired; 0: none but what settings say of waiting. */
    uint64_t start_timeout_ms;
    /* Asynchronous, with `wait_ms`: a front's caller waits for nothing but the app's own answer. */
    bool has_caller;
    uint32_t max_attempts;     /* asynchronous; 0: as settings say then */
    enum hl_priority priority; /* normal, where it `asks_priority` not */
    bool asks_priority;        /* by X-Run-Priority */
    /* Synchronous: an event stream is kept; and the caller has asked for it, and hears if it is not. */
    bool keeps_stream, asks_keep;
};

#endif
