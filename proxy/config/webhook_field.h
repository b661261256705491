/* webhook_field.h - the operator's own header fields of webhooks: a text as the setting has it. Pure. */
#ifndef HL_CONFIG_WEBHOOK_FIELD_H
#define HL_CONFIG_WEBHOOK_FIELD_H

#include <stdbool.h>

#include "base/compiler.h"
#include "base/err.h"

struct hl_buf;
struct hl_str;

#define HL_WEBHOOK_FIELDS_MAX 64

/* A "Name: value" a line, at most HL_WEBHOOK_FIELDS_MAX; empty lines are passed over. No name that
 * hookline or the connection uses itself, no name twice, no empty value, no control bytes. */
bool hl_webhook_fields_are_valid(struct hl_str text);
/* Appends which line is refused, by its number and the field's name, never its value. */
HL_MUST_CHECK enum hl_err hl_webhook_fields_tell_fault(struct hl_str text, struct hl_buf *out);

/* Takes the next field off `*text`, trimmed; false at the end. */
bool hl_webhook_field_next(struct hl_str *text, struct hl_str *line);

#endif
