/* secret_text.h - whether a secret is what somebody typed, or has something in it that nobody sees. */
#ifndef HL_CONFIG_SECRET_TEXT_H
#define HL_CONFIG_SECRET_TEXT_H

#include "base/buf.h"

/* False: it is UTF-16, or a text with a line break, another control character (a tab is none) or a byte
 * order mark in it. What is no text, such as 32 random bytes, is sound. */
bool hl_secret_text_is_sound(struct hl_str text);

/* Appends what is not sound, and where, " (byte 7 is a line break)"; nothing of the secret. */
HL_MUST_CHECK enum hl_err hl_secret_text_tell_fault(struct hl_str text, struct hl_buf *out);

#endif
