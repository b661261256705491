/* webhook_secret.h - what may sign webhooks. Pure. */
#ifndef HL_CONFIG_WEBHOOK_SECRET_H
#define HL_CONFIG_WEBHOOK_SECRET_H

#include <stdbool.h>

struct hl_str;

/* From a caller or the operator (contract 5): 1 to 1,024 bytes; after
 * "whsec_" padded base64 of at least one byte. */
bool hl_webhook_secret_is_valid(struct hl_str secret);

#endif
