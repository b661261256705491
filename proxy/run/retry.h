/* retry.h - whether an asynchronous run that has ended is tried again, and when (contract 4). Thread: the
 * worker's. */
#ifndef HL_RUN_RETRY_H
#define HL_RUN_RETRY_H

#include "base/compiler.h"
#include "store/record.h"

struct hl_head;
struct hl_run;

/* What the app says of the next attempt, in the head of an answer that is kept. */
void hl_run_retry_note(struct hl_run *run, const struct hl_head *head);

/* `*delay_ms`: from now until the next attempt. False: this was the last. */
HL_MUST_CHECK bool hl_run_retry_is_due(const struct hl_run *run, enum hl_run_state state,
    enum hl_run_reason reason, uint64_t *delay_ms);

/* The run has ended, and will be tried again: what came of it is dropped, the store is told, and the run
 * is freed. */
void hl_run_retry_put_off(struct hl_run *run, enum hl_run_reason reason, uint64_t delay_ms);

/* Before attempt n + 1: doubled for each, at most five minutes, with a spread that keeps the runs of one
 * outage from coming back in one moment. `random`: any number. */
uint64_t hl_run_retry_delay_ms(uint64_t first_ms, uint32_t n, uint32_t random);

#endif
