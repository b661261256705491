/* progress.h - how far a call is, as its function says it (hl_call_progress): an interim response
 * (RFC 9110 15.2) on the call's connection, before its answer.
 *
 *   HTTP/1.1 103 Early Hints
 *   X-Run-Progress: {"step":3,"of":20}
 *
 * The function's thread leaves its newest value on the call and tells the loop that there is one;
 * the loop sends what it finds there when it may. So a value that is superseded costs nobody
 * anything, and nobody waits. */
#ifndef HL_RUNTIME_PROGRESS_H
#define HL_RUNTIME_PROGRESS_H

#include <stddef.h>

#include "core/call.h"
#include "loop/mailbox.h"
#include "loop/slot.h"

struct hl_connection;
struct hl_str;

/* ---- JSON text as a value of a header field. Pure ---- */

/* The same JSON without white space between its tokens, and in ASCII: what is not printable there is
 * \uXXXX (RFC 8259 7). Whatever `json` is, `out` has nothing that a field's value may not have
 * (RFC 9110 5.5). Returns its bytes; 0: it has more than `cap`, or there is no text. */
size_t hl_json_line_write(char *out, size_t cap, struct hl_str json);

#define HL_PROGRESS_EVERY_MS 500 /* between two interim responses of a call */

/* All of it is under the call's lock but `connection`, which does not change. */
struct hl_progress {
    struct hl_msg told; /* first: HL_DESK_PROGRESS */
    struct hl_slot_name connection;
    bool is_told; /* `told` is in the mailbox */
    size_t n;     /* of `line`; 0: nothing waits. Else the loop knows of it, or will by `told` */
    char line[HL_CALL_PROGRESS_MAX];
};

/* ---- the loop's thread ---- */

/* The connection's call has told something. False: the peer has gone. */
bool hl_progress_hear(struct hl_connection *c, struct hl_progress *progress);
/* The pause after the last value is over: sends what waits. False: the peer has gone. */
bool hl_progress_pump(struct hl_connection *c);
/* The answer, or the next piece of it, goes out now: a value that waits goes before it. */
void hl_progress_flush(struct hl_connection *c);

#endif
