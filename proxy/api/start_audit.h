/* start_audit.h - what nobody asks for, and is told all the same (store/audit.h): settings that a start has changed, and
 * that the process begins to end. The control thread. */
#ifndef HL_API_START_AUDIT_H
#define HL_API_START_AUDIT_H

#include <jansson.h>

struct hl_rest_calls;
struct hl_rest_parts;

/* What a row about this process says that it is about, where others share its store; else, and out of memory, NULL. A new
 * reference. */
json_t *hl_audit_replica_json(const struct hl_rest_parts *parts);
/* Once the store is open, and who signs tokens is known. */
void hl_start_audit_begin(struct hl_rest_calls *calls);
/* Nobody answers any more: what of it is under way is dropped. */
void hl_start_audit_drop(struct hl_rest_calls *calls);
/* `name` may be NULL. */
void hl_drain_audit(struct hl_rest_calls *calls, const char *via, const char *name);

#endif
