/* webhook_setting.h - which hosts of webhooks are trusted, and the operator's own header fields for them: texts as
 * the settings have them. Pure. */
#ifndef HL_CONFIG_WEBHOOK_SETTING_H
#define HL_CONFIG_WEBHOOK_SETTING_H

#include <stdbool.h>

#include "base/compiler.h"
#include "base/err.h"

struct hl_buf;
struct hl_str;

/* ---- hosts that are trusted ---- */

/* Comma-separated names ("hooks.example.com"), names under one ("*.corp.example"), addresses
 * ("10.0.0.5", "[fd00::5]"), or "*" for all. No ports; other wildcards, ranges and other ways to
 * write an address are not valid. */
bool hl_host_list_is_valid(struct hl_str text);

/* `host` as hl_url_parse gives it. Names compare without case and without a dot at the end; "*."
 * stands for one or more labels, and addresses are matched by themselves and by "*" alone. An empty
 * text has none. */
bool hl_host_list_has(struct hl_str text, struct hl_str host, bool is_bracketed);

/* ---- the operator's own header fields ---- */

#define HL_WEBHOOK_FIELDS_MAX 64

/* A "Name: value" a line, at most HL_WEBHOOK_FIELDS_MAX; empty lines are passed over. No name that
 * hookline or the connection uses itself, no name twice, no empty value, no control bytes. */
bool hl_webhook_fields_are_valid(struct hl_str text);
/* Appends which line is refused, by its number and the field's name, never its value. */
HL_MUST_CHECK enum hl_err hl_webhook_fields_tell_fault(struct hl_str text, struct hl_buf *out);

/* Takes the next field off `*text`, trimmed; false at the end. */
bool hl_webhook_field_next(struct hl_str *text, struct hl_str *line);

#endif
