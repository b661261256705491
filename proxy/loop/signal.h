/* signal.h - the end of watching a signal. */
#ifndef HL_LOOP_SIGNAL_H
#define HL_LOOP_SIGNAL_H

#include <uv.h>

/* Closes the handle and leaves the signal ignored. uv_close alone leaves its default action, which
 * would end a process that has not finished its end. */
void hl_signal_close(uv_signal_t *handle);

#endif
