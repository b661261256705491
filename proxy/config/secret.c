/* secret.c - what nobody sees in a secret, and nobody means; one rule for secrets that sign webhooks, the
 * operator's and those of callers. Any thread; no state.
 * Not here: what stands around a secret, which is taken off before (hl_str_unframe). */
#include "config/secret.h"

#include "base/base64.h"
#include "base/str.h"
#include "base/utf8.h"

#define BYTE_ORDER_MARK 0xfeff

static const char *name_of(uint32_t code)
{
    switch (code) {
    case '\0':
        return "NUL";
    case '\n':
    case '\r':
        return "a line break";
    case BYTE_ORDER_MARK:
        return "a byte order mark";
    default:
        return (code < ' ' && code != '\t') || code == 0x7f ? "a control character" : NULL;
    }
}

static bool is_utf16(struct hl_str text)
{
    return hl_str_starts_with(text, HL_STR("\xff\xfe")) ||
           hl_str_starts_with(text, HL_STR("\xfe\xff"));
}

/* NULL: there is none. */
static const char *find_fault(struct hl_str text, size_t *at)
{
    uint32_t code;
    if (!hl_utf8_is_valid(text))
        return NULL;
    for (size_t i = 0, n = 1; i < text.n; i += n) {
        n = hl_utf8_decode(text.p + i, text.n - i, &code);
        *at = i + 1;
        if (name_of(code))
            return name_of(code);
    }
    return NULL;
}

bool hl_secret_text_is_sound(struct hl_str text)
{
    size_t at;
    return !is_utf16(text) && !find_fault(text, &at);
}

enum hl_err hl_secret_text_tell_fault(struct hl_str text, struct hl_buf *out)
{
    size_t at = 0;
    const char *fault = find_fault(text, &at);
    if (is_utf16(text))
        return hl_buf_printf(out, " (bytes 1 and 2 are the mark of UTF-16; UTF-8 is read)");
    return fault ? hl_buf_printf(out, " (byte %zu is %s)", at, fault) : HL_OK;
}

/* ---- what may sign webhooks ---- */

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
