/* held_request.h - requests that must not be lost but do not fit on a full volume: they wait here to be
 * retried, while lighter ones go on. The engine's thread. */
#ifndef HL_STORE_HELD_REQUEST_H
#define HL_STORE_HELD_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hl_msg;
struct hl_store_msg;

struct hl_held_requests {
    struct hl_msg *first, *last;
    size_t least;      /* the weight of the lightest: what weighs as much is not tried either */
    uint64_t retry_us; /* all are tried again then; UINT64_MAX: that is not known yet */
};

void hl_held_requests_init(struct hl_held_requests *h);
/* Takes `m`. */
void hl_held_requests_add(struct hl_held_requests *h, struct hl_store_msg *m, size_t weight);
/* Whether a request must wait with them: it is as heavy, or says more about what one of them ends. */
bool hl_held_requests_blocks(
    const struct hl_held_requests *h, const struct hl_store_msg *m, size_t weight);
/* Puts them, in order, before the queue `*first` … `*last`. */
void hl_held_requests_release(
    struct hl_held_requests *h, struct hl_msg **first, struct hl_msg **last);

#endif
