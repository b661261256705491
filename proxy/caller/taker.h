/* taker.h - whoever takes the body of a caller's request, and hears what becomes of its caller: a
 * call of the app, an asynchronous call until its 202, a question for the REST interface. */
#ifndef HL_CALLER_TAKER_H
#define HL_CALLER_TAKER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct hl_refusal;

/* `owner` is what was named with the table in hl_client_give_to. None of the functions is NULL. */
struct hl_taker {
    /* There is no room now; hl_client_resume says that there is again. */
    bool (*is_blocked)(void *owner);
    /* Body bytes, decoded; only while it is not blocked. May end the call. */
    void (*body)(void *owner, struct hl_str data);
    /* The body has ended; `trailer`: lines with CRLF, or empty. May end the call. */
    void (*body_end)(void *owner, struct hl_str trailer);
    /* The body has a fault, or does not come: the call ends, and its caller is told if nothing was
     * answered yet. */
    void (*failed)(void *owner, const struct hl_refusal *why);
    /* Nobody waits any more. The connection is being closed and is not to be touched. */
    void (*caller_gone)(void *owner);
    /* The caller's socket takes bytes again. */
    void (*drained)(void *owner);
    /* The call ends with its caller: nobody else waits for it. */
    bool (*needs_caller)(void *owner);
    bool reads_long;     /* long bodies come in larger pieces */
    bool tells_failures; /* says in the log itself why a call failed */
};

/* For those who have no use for a body. */
static inline bool hl_taker_never_blocks(void *owner)
{
    (void)owner;
    return false;
}

static inline void hl_taker_ignores(void *owner)
{
    (void)owner;
}

static inline void hl_taker_drops(void *owner, struct hl_str bytes)
{
    (void)owner;
    (void)bytes;
}

#endif
