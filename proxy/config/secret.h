/* secret.h - whether a secret is what somebody typed, or has something in it that nobody sees; and what may sign
 * webhooks. */
#ifndef HL_CONFIG_SECRET_H
#define HL_CONFIG_SECRET_H

#include <stdbool.h>

#include "base/buf.h"

struct hl_str;

/* False: it is UTF-16, or a text with a line break, another control character (a tab is none) or a byte
 * order mark in it. What is no text, such as 32 random bytes, is sound. */
bool hl_secret_text_is_sound(struct hl_str text);

/* Appends what is not sound, and where, " (byte 7 is a line break)"; nothing of the secret. */
HL_MUST_CHECK enum hl_err hl_secret_text_tell_fault(struct hl_str text, struct hl_buf *out);

/* ---- what may sign webhooks ---- */

/* From a caller or the operator (contract 5): 1 to 1,024 bytes; after
 * "whsec_" padded base64 of at least one byte. */
bool hl_webhook_secret_is_valid(struct hl_str secret);

#endif
