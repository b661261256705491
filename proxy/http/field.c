/* field.c - field lines: the names that hookline knows, and the strict reading of one line.
 * Thread: any; no state, no allocation.
 * Promise: a line that was read is safe to send on as it stands.
 * Not here: where a line begins (llhttp, by http/parser.c), what the fields of a head mean together
 * (http/head.c, http/framing.c, http/framing.c). */
#include "http/field.h"

#include "base/assert.h"
#include "http/byte.h"
#include "http/parser.h"

static const char *const texts[HL_FIELD_ID_COUNT] = {[HL_FIELD_OTHER] = "",
#define X(name, text) [HL_FIELD_##name] = text,
    HL_FIELD_MAP(X)
#undef X
};

static const uint8_t lengths[HL_FIELD_ID_COUNT] = {
#define X(name, text) [HL_FIELD_##name] = sizeof(text) - 1,
    HL_FIELD_MAP(X)
#undef X
};

const char *hl_field_text(enum hl_field_id id)
{
    HL_ASSERT(id < HL_FIELD_ID_COUNT);
    return texts[id];
}

/* Hop-by-hop by definition, nominated or not (RFC 9110 7.6.1, RFC 9113 8.2.2). */
#define BIT(name) (UINT64_C(1) << HL_FIELD_##name)
static const uint64_t always_hop = BIT(CONNECTION) | BIT(KEEP_ALIVE) | BIT(PROXY_CONNECTION) |
                                   BIT(TE) | BIT(TRAILER) | BIT(TRANSFER_ENCODING) | BIT(UPGRADE) |
                                   BIT(HTTP2_SETTINGS) | BIT(PROXY_AUTHENTICATE) |
                                   BIT(PROXY_AUTHORIZATION);
_Static_assert(HL_FIELD_ID_COUNT <= 64, "sets of field ids are one word");

static inline bool read_line(struct hl_field *field, const char *end);

bool hl_field_parse_line(const char *p, size_t n, struct hl_field *out)
{
    return n > 0 && p[n - 1] == '\n' && hl_parser_read_name(p, n, &out->name) && out->name.p == p &&
           read_line(out, p + n) && out->line.n == n;
}

const char *hl_field_read_lines(
    struct hl_field *fields, size_t count, const char *p, const char *end)
{
    for (struct hl_field *field = fields; field < fields + count; field++) {
        if (field->name.p != p || !read_line(field, end))
            return NULL;
        p += field->line.n;
    }
    return p;
}

/* Past the letters and dashes at p, which is all that most names are made of. */
static inline const char *skip_letters(const char *p, const char *end)
{
    unsigned n = HL_BLOCK;
    while (n == HL_BLOCK && end - p >= HL_BLOCK) {
        n = hl_block_first(~hl_block_letters(hl_block_load(p)));
        p += n;
    }
    return p;
}

/* Up to the first byte that may not stand in a field value. */
static inline const char *skip_value(const char *p, const char *end)
{
    while (end - p >= HL_BLOCK) {
        unsigned n = hl_block_first(hl_block_controls(hl_block_load(p)));
        p += n;
        if (n == HL_BLOCK)
            continue;
        if (*p != '\t')
            return p;
        p++;
    }
    while (p < end && hl_byte_is(*p, HL_BYTE_FIELD))
        p++;
    return p;
}

/* One comparison says no of nearly all. */
static inline bool is_blank(char c)
{
    return (unsigned char)c <= ' ' && (c == ' ' || c == '\t');
}

static inline enum hl_field_id lookup(struct hl_str name, unsigned classes);

/* Looks at no byte from `end` on; the one before it is LF: every step stops there at the latest. */
static inline bool read_line(struct hl_field *field, const char *end)
{
    const char *p = field->name.p, *colon = p + field->name.n;
    unsigned classes = 0;
    p = skip_letters(p, end);
    while (p < colon && hl_byte_is(*p, HL_BYTE_TOKEN))
        classes |= hl_byte_class[(unsigned char)*p++];
    if (p != colon || *p != ':' || field->name.n == 0)
        return false;

    p += p[1] == ' ' ? 2 : 1; /* nearly always one space, no more */
    while (is_blank(*p))
        p++;
    const char *value = p;
    p = skip_value(p, end);
    if (p[0] != '\r' || p[1] != '\n')
        return false;
    field->line = (struct hl_str){field->name.p, (size_t)(p + 2 - field->name.p)};
    while (p > value && is_blank(p[-1]))
        p--;
    field->value = (struct hl_str){value, (size_t)(p - value)};

    enum hl_field_id id = lookup(field->name, classes);
    field->id = (uint8_t)id;
    field->is_hop = always_hop >> id & 1;
    return true;
}

/* Where the known names stand, by length, first and middle character: no two share a place. A new
 * name that does is a compile error (an initializer overridden) and asks for other factors. */
#define SLOT(n, first, middle) (((n) + 9 * (first) + 7 * (middle)) % 128)
#define SHORTEST_NAME          2
#define LONGEST_NAME           27
static const uint8_t slots[128] = {
    [SLOT(4, 'h', 's')] = HL_FIELD_HOST,
    [SLOT(10, 'c', 'c')] = HL_FIELD_CONNECTION,
    [SLOT(14, 'c', '-')] = HL_FIELD_CONTENT_LENGTH,
    [SLOT(17, 't', '-')] = HL_FIELD_TRANSFER_ENCODING,
    [SLOT(2, 't', 'e')] = HL_FIELD_TE,
    [SLOT(7, 't', 'i')] = HL_FIELD_TRAILER,
    [SLOT(7, 'u', 'r')] = HL_FIELD_UPGRADE,
    [SLOT(14, 'h', 'e')] = HL_FIELD_HTTP2_SETTINGS,
    [SLOT(6, 'e', 'e')] = HL_FIELD_EXPECT,
    [SLOT(10, 'k', 'a')] = HL_FIELD_KEEP_ALIVE,
    [SLOT(16, 'p', 'n')] = HL_FIELD_PROXY_CONNECTION,
    [SLOT(18, 'p', 'h')] = HL_FIELD_PROXY_AUTHENTICATE,
    [SLOT(19, 'p', 'h')] = HL_FIELD_PROXY_AUTHORIZATION,
    [SLOT(3, 'v', 'i')] = HL_FIELD_VIA,
    [SLOT(12, 'm', 'r')] = HL_FIELD_MAX_FORWARDS,
    [SLOT(4, 'd', 't')] = HL_FIELD_DATE,
    [SLOT(12, 'c', 't')] = HL_FIELD_CONTENT_TYPE,
    [SLOT(16, 'c', 'e')] = HL_FIELD_CONTENT_ENCODING,
    [SLOT(13, 'c', 'c')] = HL_FIELD_CACHE_CONTROL,
    [SLOT(17, 'x', 'b')] = HL_FIELD_X_ACCEL_BUFFERING,
    [SLOT(15, 'a', 'e')] = HL_FIELD_ACCEPT_ENCODING,
    [SLOT(13, 'a', 'i')] = HL_FIELD_AUTHORIZATION,
    [SLOT(6, 'o', 'g')] = HL_FIELD_ORIGIN,
    [SLOT(6, 'p', 'f')] = HL_FIELD_PREFER,
    [SLOT(15, 'i', 'e')] = HL_FIELD_IDEMPOTENCY_KEY,
    [SLOT(16, 'x', 'k')] = HL_FIELD_X_WEBHOOK_SECRET,
    [SLOT(12, 'x', 'e')] = HL_FIELD_X_REQUEST_ID,
    [SLOT(15, 'x', 'r')] = HL_FIELD_X_FORWARDED_FOR,
    [SLOT(17, 'x', 'd')] = HL_FIELD_X_FORWARDED_PROTO,
    [SLOT(16, 'x', 'd')] = HL_FIELD_X_FORWARDED_HOST,
    [SLOT(9, 'f', 'a')] = HL_FIELD_FORWARDED,
    [SLOT(9, 'x', 'a')] = HL_FIELD_X_REAL_IP,
    [SLOT(11, 't', 'p')] = HL_FIELD_TRACEPARENT,
    [SLOT(10, 't', 's')] = HL_FIELD_TRACESTATE,
    [SLOT(22, 's', 'e')] = HL_FIELD_SEC_WEBSOCKET_PROTOCOL,
    [SLOT(27, 'a', 'l')] = HL_FIELD_ACCESS_CONTROL_ALLOW_ORIGIN,
    [SLOT(6, 'a', 'e')] = HL_FIELD_ACCEPT,
};

/* Setting bit 0x20 lowers letters and keeps '-' and digits; of the other token characters none
 * becomes one that is in a name of ours. */
static inline uint64_t load_folded(const char *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof word);
    return word | UINT64_C(0x2020202020202020);
}

static inline uint32_t load_half_folded(const char *p)
{
    uint32_t word;
    memcpy(&word, p, sizeof word);
    return word | UINT32_C(0x20202020);
}

/* `text` is lower case and as long as `name`. Words overlap at the end instead of a tail
 * of bytes. */
static inline bool equals_folded(struct hl_str name, const char *text)
{
    if (name.n < 4) {
        for (size_t i = 0; i < name.n; i++)
            if ((name.p[i] | 0x20) != text[i])
                return false;
        return true;
    }
    if (name.n < 8)
        return load_half_folded(name.p) == load_half_folded(text) &&
               load_half_folded(name.p + name.n - 4) == load_half_folded(text + name.n - 4);
    for (size_t i = 0; i + 8 < name.n; i += 8)
        if (load_folded(name.p + i) != load_folded(text + i))
            return false;
    size_t last = name.n - 8;
    return load_folded(name.p + last) == load_folded(text + last);
}

/* Names that are ours by how they begin. */
static enum hl_field_id lookup_prefix(struct hl_str name)
{
    const struct hl_str run = HL_STR("x-run-"), forwarded = HL_STR("x-forwarded-");
    if (name.n >= run.n && equals_folded((struct hl_str){name.p, run.n}, run.p))
        return HL_FIELD_X_RUN;
    if (name.n >= forwarded.n && equals_folded((struct hl_str){name.p, forwarded.n}, forwarded.p))
        return HL_FIELD_X_FORWARDED_OTHER;
    return HL_FIELD_OTHER;
}

static inline enum hl_field_id lookup_exact(struct hl_str name)
{
    if (name.n < SHORTEST_NAME)
        return HL_FIELD_OTHER;
    unsigned first = (unsigned char)(name.p[0] | 0x20);
    unsigned middle = (unsigned char)(name.p[name.n / 2] | 0x20);
    unsigned id = slots[SLOT(name.n, first, middle)];
    if (lengths[id] == name.n && equals_folded(name, texts[id]))
        return id;
    return first == 'x' ? lookup_prefix(name) : HL_FIELD_OTHER;
}

/* CGI and WSGI turn '-' into '_' on the way to the app, so that x_request_id would arrive as
 * X-Request-Id does. */
static enum hl_field_id lookup_underscored(struct hl_str name)
{
    char dashed[LONGEST_NAME];
    size_t n = name.n < sizeof dashed ? name.n : sizeof dashed;
    for (size_t i = 0; i < n; i++)
        dashed[i] = name.p[i] == '_' ? '-' : name.p[i];
    struct hl_str all = {dashed, n};
    enum hl_field_id id = n == name.n ? lookup_exact(all) : lookup_prefix(all);
    if (id != HL_FIELD_OTHER)
        return HL_FIELD_UNDERSCORE;
    return HL_FIELD_OTHER;
}

/* `classes`: those of all bytes of the name, or-ed. */
static inline enum hl_field_id lookup(struct hl_str name, unsigned classes)
{
    if (classes & HL_BYTE_UNDERSCORE)
        return lookup_underscored(name);
    return lookup_exact(name);
}

static unsigned classes_of(struct hl_str s)
{
    unsigned classes = 0;
    for (size_t i = 0; i < s.n; i++)
        classes |= hl_byte_class[(unsigned char)s.p[i]];
    return classes;
}

enum hl_field_id hl_field_lookup(struct hl_str name)
{
    return lookup(name, classes_of(name));
}

bool hl_str_is_token(struct hl_str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!hl_byte_is(s.p[i], HL_BYTE_TOKEN))
            return false;
    return s.n > 0;
}

bool hl_field_is_trailer_safe(const struct hl_field *field)
{
    /* Beside the names above, each of which is framing, routing, authentication or ours: what a
     * recipient acts on before it has seen a trailer section. */
    static const char *const unsafe[] = {"age", "authentication-info", "content-range", "cookie",
        "expires", "if-match", "if-modified-since", "if-none-match", "if-range",
        "if-unmodified-since", "location", "pragma", "range", "retry-after", "set-cookie", "vary",
        "warning", "www-authenticate"};
    if (field->id != HL_FIELD_OTHER)
        return false;
    for (size_t i = 0; i < HL_ARRAY_LEN(unsafe); i++)
        if (hl_str_eq_nocase(field->name, hl_str_from(unsafe[i])))
            return false;
    return true;
}
