/* rest_inquiry.h - the front for requests that came in on the run listener. */
#ifndef HL_API_REST_INQUIRY_H
#define HL_API_REST_INQUIRY_H

struct hl_inquiry;
struct hl_inquiry_gone;
struct hl_rest_calls;

/* Takes the worker's message, which goes back answered. */
/* Nobody waits for its answer: it is dropped if it waits. Takes the message. */
void hl_rest_drop_inquiry(struct hl_rest_calls *calls, struct hl_inquiry_gone *gone);
void hl_rest_take_inquiry(struct hl_rest_calls *calls, struct hl_inquiry *inquiry);

#endif
