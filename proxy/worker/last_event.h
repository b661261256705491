/* last_event.h - the field Last-Event-ID of a request, as a value (WHATWG HTML 9.2.4). */
#ifndef HL_WORKER_LAST_EVENT_H
#define HL_WORKER_LAST_EVENT_H

#include "http/sse.h"

struct hl_head;

struct hl_last_event {
    bool is_bad; /* there were several, or it is too long */
    uint16_t n;  /* 0: none */
    char text[HL_EVENT_ID_MAX];
};

/* An empty one is none. */
void hl_last_event_read(struct hl_last_event *out, const struct hl_head *head);

#endif
