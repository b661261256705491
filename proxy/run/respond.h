/* respond.h - a run's response half: app ─▶ caller and spool. After each of these the run may
 * have ENDED. */
#ifndef HL_RUN_RESPOND_H
#define HL_RUN_RESPOND_H

#include <stdbool.h>
#include <stddef.h>

struct hl_run;

/* Bytes from the app. */
void hl_respond_bytes(struct hl_run *run, const char *p, size_t n);
/* The head of a kept stream waited for the store, which has answered: the answer goes on. */
void hl_respond_take_held(struct hl_run *run);
/* It is not waited for any longer: likewise, but the stream is not kept. */
void hl_respond_stop_holding(struct hl_run *run);
/* The app ended its side, or the connection broke. */
void hl_respond_end(struct hl_run *run, bool is_clean);
/* Nothing came of an event stream for a heartbeat, or for HOOKLINE_STREAM_IDLE_TIMEOUT. */
void hl_respond_beat(struct hl_run *run);

#endif
