/* stream_choice.h - whether the answer of a run is kept as an event stream (contract 14). Thread: its worker's. */
#ifndef HL_RUN_STREAM_CHOICE_H
#define HL_RUN_STREAM_CHOICE_H

#include <stdbool.h>

#include "base/compiler.h"

struct hl_head;
struct hl_run;

/* The final head is there. A synchronous run that is to be kept, and that the store does not know of yet, is
 * recorded now. True: the head is to wait for that (hl_run_stream_settle), and to be read again. */
HL_MUST_CHECK bool hl_stream_choice_waits(struct hl_run *run, const struct hl_head *head);
/* It waits no longer. What was prepared for a run that is not kept is given up. */
bool hl_stream_choice_make(struct hl_run *run, const struct hl_head *head);

#endif
