/* rest_events.h - a run's events, to be followed (contract 14). */
#ifndef HL_API_REST_EVENTS_H
#define HL_API_REST_EVENTS_H

struct hl_rest_call;

/* The reply is a grant, which the front makes a follower of. */
void hl_rest_show_events(struct hl_rest_call *call);

#endif
