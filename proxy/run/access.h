/* access.h - what each request of a caller came to: counted once, at its end.
 * Thread: the worker's. */
#ifndef HL_RUN_ACCESS_H
#define HL_RUN_ACCESS_H

struct hl_client;

enum hl_access_end {
    HL_ACCESS_WHOLE, /* the caller was given a whole response, or an answer of ours */
    HL_ACCESS_CUT,   /* its response was broken off, not by the caller */
    HL_ACCESS_LEFT,  /* the caller left before */
};

/* A request's head is there. `c->status` and `c->mode` are set as more is known. A second call
 * before the end changes nothing. */
void hl_access_begin(struct hl_client *c);
/* Nothing happens between requests. */
void hl_access_end(struct hl_client *c, enum hl_access_end how);

#endif
