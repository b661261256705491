/* webhook_secret.c - one rule for the operator's setting and the callers' field.
 * Any thread. */
#include "config/webhook_secret.h"

#include "base/base64.h"
#include "base/str.h"

#define SECRET_MAX 1024

bool hl_webhook_secret_is_valid(struct hl_str secret)
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
