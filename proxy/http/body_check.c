/* body_check.c - what a body is, told from its bytes as they pass.
 * Thread: any; no allocation.
 * Not here: the JSON automaton (http/json_check.c); the envelope that needs all this
 * (webhook/envelope.c). */
#include "http/body_check.h"

#include "base/str.h"
#include "base/utf8.h"
#include "http/byte.h"

void hl_body_check_init(struct hl_body_check *c, bool expects_json)
{
    *c = (struct hl_body_check){.is_json = expects_json, .utf8_state = HL_UTF8_START};
    hl_json_check_init(&c->json);
}

/* The second character of a short escape, or 0. */
static char short_escape(char b)
{
    switch (b) {
    case '"':
    case '\\':
        return b;
    case '\b':
        return 'b';
    case '\t':
        return 't';
    case '\n':
        return 'n';
    case '\f':
        return 'f';
    case '\r':
        return 'r';
    default:
        return 0;
    }
}

/* How many bytes more than itself a byte is in a JSON string. */
static unsigned escape_cost(char b)
{
    if (short_escape(b))
        return 1;
    return (unsigned char)b < 0x20 ? 5 : 0;
}

static uint8_t check_utf8(uint8_t state, const char *p, size_t n)
{
    for (size_t i = 0; i < n && state != HL_UTF8_BAD; i++)
        state = hl_utf8_next(state, (uint8_t)p[i]);
    return state;
}

/* Of most blocks two comparisons say all there is to know. The last one is filled up with spaces, which change
 * nothing. */
static void read_block(struct hl_body_check *c, const char *p, size_t n)
{
    char whole[HL_BLOCK] = "                ";
    hl_block block = hl_block_load(n < HL_BLOCK ? memcpy(whole, p, n) : p);
    for (unsigned marks = hl_block_mask(hl_block_escaped(block)); marks; marks &= marks - 1)
        c->escaped += escape_cost(p[__builtin_ctz(marks)]);
    if (c->utf8_state != HL_UTF8_START || hl_block_mask((hl_block)(block >= 0x80)))
        c->utf8_state = check_utf8(c->utf8_state, p, n);
}

static void read_text(struct hl_body_check *c, const char *p, size_t n)
{
    c->escaped += n;
    for (; n > HL_BLOCK; p += HL_BLOCK, n -= HL_BLOCK)
        read_block(c, p, HL_BLOCK);
    read_block(c, p, n);
}

void hl_body_check_feed(struct hl_body_check *c, const char *p, size_t n)
{
    c->size += n;
    if (n > 0)
        read_text(c, p, n);
    if (c->is_json)
        c->is_json = hl_json_check_feed(&c->json, p, n);
}

enum hl_body_kind hl_body_check_end(const struct hl_body_check *c)
{
    if (c->is_json && hl_json_check_end(&c->json))
        return HL_BODY_JSON;
    if (c->utf8_state == HL_UTF8_START)
        return HL_BODY_TEXT;
    return HL_BODY_BINARY;
}

bool hl_is_json_type(const char *content_type, size_t n)
{
    struct hl_str type = {content_type, n};
    const char *semicolon = n ? memchr(content_type, ';', n) : NULL;
    if (semicolon)
        type.n = (size_t)(semicolon - content_type);
    type = hl_str_trim(type);
    if (hl_str_eq_nocase(type, HL_STR("application/json")))
        return true;

    const struct hl_str suffix = HL_STR("+json");
    const char *slash = type.n ? memchr(type.p, '/', type.n) : NULL;
    if (!slash || slash == type.p || type.p + type.n - slash <= (ptrdiff_t)suffix.n + 1)
        return false;
    struct hl_str tail = {type.p + type.n - suffix.n, suffix.n};
    return hl_str_eq_nocase(tail, suffix);
}

/* By whole blocks: those bytes before the first that cannot stand in a JSON string as it is; those above 0x7f can.
 * What is written behind them is written over: there is room for six times as much. Not the last bytes, that fill no
 * block. */
static inline size_t copy_plain(char *to, const char *p, const char *end)
{
    const char *from = p;
    unsigned plain = HL_BLOCK;
    for (; plain == HL_BLOCK && end - p >= HL_BLOCK; p += plain, to += plain) {
        hl_block block = hl_block_load(p);
        memcpy(to, &block, sizeof block);
        plain = hl_block_first(hl_block_escaped(block));
    }
    return (size_t)(p - from);
}

size_t hl_json_escape(char *out, const char *p, size_t n)
{
    const char *end = p + n;
    char *to = out;
    while (p < end) {
        size_t plain = copy_plain(to, p, end);
        to += plain;
        p += plain;
        if (p == end)
            break;
        char b = *p++, second = short_escape(b);
        if (second) {
            *to++ = '\\';
            *to++ = second;
        } else if ((unsigned char)b < 0x20) {
            memcpy(to, "\\u00", 4);
            to[4] = (char)('0' + (b >> 4));
            to[5] = "0123456789abcdef"[b & 15];
            to += 6;
        } else {
            *to++ = b;
        }
    }
    return (size_t)(to - out);
}
