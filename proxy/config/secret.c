/* secret.c - what may sign webhooks: one rule for the operator's setting and the callers' field.
 * Any thread. */
#include "base/base64.h"
#include "config/config.h"

#define SECRET_MAX 1024

bool hl_is_webhook_secret(struct hl_str secret)
{
    const struct hl_str prefix = HL_STR("whsec_");
    uint8_t key[SECRET_MAX];
    if (secret.n == 0 || secret.n > SECRET_MAX)
        return false;
    if (!hl_str_starts_with(secret, prefix))
        return true;
    struct hl_str text = {secret.p + prefix.n, secret.n - prefix.n};
    return hl_base64_decode(text, key) > 0;
}
