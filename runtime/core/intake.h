/* intake.h - a request of a connection, from its first byte to the queue. The loop's thread. */
#ifndef HL_RUNTIME_INTAKE_H
#define HL_RUNTIME_INTAKE_H

#include "http/message.h"

struct hl_connection;

/* How a request is read. */
extern const struct hl_message_rules hl_intake_rules;
/* Uses up to n bytes; returns how many. May answer, close, put a call in the queue. */
size_t hl_intake_feed(struct hl_connection *c, const char *p, size_t n);
/* A piece of a form is on its way to the disk: no more of the body is used meanwhile. */
bool hl_intake_is_storing(const struct hl_connection *c);
/* It is there, or it could not be written. */
void hl_intake_go_on(struct hl_connection *c);
/* Answers with a problem, and closes after it. */
void hl_intake_refuse(struct hl_connection *c, enum hl_refusal_cause cause);

#endif
