/* relay_pass.c - see relay_pass.h. */
#include "store/relay_pass.h"

#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "store/backend.h"
#include "store/key.h"

#define SIGNATURE_TEXT (2 * HL_KEY_SIZE)

static void sign(const struct hl_key *key, struct hl_str text, char out[SIGNATURE_TEXT])
{
    uint8_t signature[HL_KEY_SIZE];
    hl_key_sign_relay(key, text, signature);
    hl_hex_write(out, signature, sizeof(signature));
}

void hl_relay_pass_write(const struct hl_store *store, const struct hl_id *run_id, int64_t now_ms,
    char out[HL_RELAY_PASS_MAX])
{
    char id[HL_ID_TEXT];
    hl_id_format(run_id, id);
    int n = snprintf(out, HL_RELAY_PASS_MAX, "%.*s.%lld", HL_ID_TEXT, id,
        (long long)(now_ms + HL_RELAY_PASS_MS));
    struct hl_str text = {out, (size_t)n};
    out[n] = '.';
    sign(&store->shared_keys->key, text, out + n + 1);
    out[n + 1 + SIGNATURE_TEXT] = '\0';
}

/* Takes as long whatever differs. */
static bool is_signed_with(const struct hl_key *key, struct hl_str text, const char *signature)
{
    char good[SIGNATURE_TEXT];
    unsigned differs = 0;
    sign(key, text, good);
    for (size_t i = 0; i < sizeof(good); i++)
        differs |= (unsigned char)(good[i] ^ signature[i]);
    return differs == 0;
}

/* Up to 15 digits. */
static bool read_end(struct hl_str digits, int64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < digits.n; i++) {
        if (digits.p[i] < '0' || digits.p[i] > '9')
            return false;
        *out = *out * 10 + (digits.p[i] - '0');
    }
    return digits.n > 0 && digits.n <= 15;
}

/* The signature is looked at first: what others write into it is not. */
bool hl_relay_pass_read(
    const struct hl_store *store, struct hl_str pass, int64_t now_ms, struct hl_id *run_id)
{
    const struct hl_shared_keys *keys = store->shared_keys;
    int64_t end_ms;
    if (!keys || pass.n >= HL_RELAY_PASS_MAX || pass.n < HL_ID_TEXT + 3 + SIGNATURE_TEXT)
        return false;
    struct hl_str text = {pass.p, pass.n - SIGNATURE_TEXT - 1};
    const char *signature = text.p + text.n + 1;
    if (text.p[text.n] != '.' ||
        (!is_signed_with(&keys->key, text, signature) &&
            !(keys->has_previous && is_signed_with(&keys->previous, text, signature))))
        return false;
    struct hl_str end = {text.p + HL_ID_TEXT + 1, text.n - HL_ID_TEXT - 1};
    return text.p[HL_ID_TEXT] == '.' && read_end(end, &end_ms) && end_ms > now_ms &&
           end_ms <= now_ms + 2 * HL_RELAY_PASS_MS &&
           hl_id_parse((struct hl_str){text.p, HL_ID_TEXT}, run_id);
}
