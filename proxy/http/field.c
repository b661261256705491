/* field.c - field lines: the names that hookline knows, and the strict reading of one line.
 * Thread: any; no state, no allocation. Promise: a line that was read is safe to send on as it
 * stands. Not here: what the fields of a head mean together (http/head.c, http/framing.c,
 * http/hop.c). */
#include "http/field.h"

#include "base/assert.h"
#include "http/byte.h"

static const char *const texts[HL_FIELD_ID_COUNT] = {[HL_FIELD_OTHER] = "",
#define X(name, text) [HL_FIELD_##name] = text,
    HL_FIELD_MAP(X)
#undef X
};

const char *hl_field_text(enum hl_field_id id)
{
    HL_ASSERT(id < HL_FIELD_ID_COUNT);
    return texts[id];
}

/* Up to the first byte that may not stand in a field value. */
static const char *skip_value(const char *p, const char *end)
{
    while (end - p >= 8) {
        uint64_t w = hl_word_load(p);
        uint64_t marks = hl_word_below(w, 0x20) | hl_word_equal(w, 0x7f);
        if (!marks) {
            p += 8;
            continue;
        }
        p += hl_word_first(marks);
        if (*p != '\t')
            return p;
        p++;
    }
    while (p < end && hl_byte_is(*p, HL_BYTE_FIELD))
        p++;
    return p;
}

static enum hl_field_id lookup(struct hl_str name, unsigned classes);

const char *hl_field_read(const char *p, const char *end, struct hl_field *out)
{
    const char *start = p;
    unsigned classes = 0;
    while (p < end && hl_byte_is(*p, HL_BYTE_TOKEN))
        classes |= hl_byte_class[(unsigned char)*p++];
    if (p == start || p == end || *p != ':')
        return NULL;
    out->name = (struct hl_str){start, (size_t)(p - start)};

    p++;
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    const char *value = p;
    p = skip_value(p, end);
    if (end - p < 2 || p[0] != '\r' || p[1] != '\n')
        return NULL;
    out->line = (struct hl_str){start, (size_t)(p + 2 - start)};
    while (p > value && (p[-1] == ' ' || p[-1] == '\t'))
        p--;
    out->value = (struct hl_str){value, (size_t)(p - value)};

    out->id = (uint8_t)lookup(out->name, classes);
    return start + out->line.n;
}

bool hl_field_parse_line(const char *p, size_t n, struct hl_field *out)
{
    return hl_field_read(p, p + n, out) == p + n;
}

/* The known names of one length, ended by 0. x-run-* has no length of its own: see is_run_name. */
#define LONGEST_NAME 22
static const uint8_t ids_by_length[LONGEST_NAME + 1][5] = {
    [2] = {HL_FIELD_TE},
    [3] = {HL_FIELD_VIA},
    [4] = {HL_FIELD_HOST},
    [6] = {HL_FIELD_ACCEPT, HL_FIELD_EXPECT, HL_FIELD_ORIGIN, HL_FIELD_PREFER},
    [7] = {HL_FIELD_UPGRADE, HL_FIELD_TRAILER},
    [9] = {HL_FIELD_FORWARDED, HL_FIELD_X_REAL_IP},
    [10] = {HL_FIELD_CONNECTION, HL_FIELD_KEEP_ALIVE, HL_FIELD_TRACESTATE},
    [11] = {HL_FIELD_TRACEPARENT},
    [12] = {HL_FIELD_CONTENT_TYPE, HL_FIELD_X_REQUEST_ID, HL_FIELD_MAX_FORWARDS},
    [13] = {HL_FIELD_AUTHORIZATION, HL_FIELD_CACHE_CONTROL},
    [14] = {HL_FIELD_CONTENT_LENGTH, HL_FIELD_HTTP2_SETTINGS},
    [15] = {HL_FIELD_ACCEPT_ENCODING, HL_FIELD_X_FORWARDED_FOR, HL_FIELD_IDEMPOTENCY_KEY},
    [16] = {HL_FIELD_CONTENT_ENCODING, HL_FIELD_X_WEBHOOK_SECRET, HL_FIELD_X_FORWARDED_HOST,
        HL_FIELD_PROXY_CONNECTION},
    [17] = {HL_FIELD_TRANSFER_ENCODING, HL_FIELD_X_FORWARDED_PROTO, HL_FIELD_X_ACCEL_BUFFERING},
    [18] = {HL_FIELD_PROXY_AUTHENTICATE},
    [19] = {HL_FIELD_PROXY_AUTHORIZATION},
    [22] = {HL_FIELD_SEC_WEBSOCKET_PROTOCOL},
};

/* Setting bit 0x20 lowers letters and keeps '-' and digits; of the other token characters none
 * becomes one that is in a name of ours. */
#define FOLD (HL_WORD_ONES * 0x20)

/* `text` is lower case and as long as `name`. Words of eight overlap at the end instead of a tail
 * of bytes. */
static bool equals_folded(struct hl_str name, const char *text)
{
    if (name.n < 8) {
        for (size_t i = 0; i < name.n; i++)
            if ((name.p[i] | 0x20) != text[i])
                return false;
        return true;
    }
    for (size_t i = 0; i + 8 < name.n; i += 8)
        if ((hl_word_load(name.p + i) | FOLD) != hl_word_load(text + i))
            return false;
    size_t last = name.n - 8;
    return (hl_word_load(name.p + last) | FOLD) == hl_word_load(text + last);
}

static bool is_run_name(struct hl_str name)
{
    return name.n >= 6 && equals_folded((struct hl_str){name.p, 6}, "x-run-");
}

static enum hl_field_id lookup_exact(struct hl_str name)
{
    if (name.n <= LONGEST_NAME) {
        const uint8_t *ids = ids_by_length[name.n];
        for (; *ids; ids++)
            if (equals_folded(name, texts[*ids]))
                return *ids;
    }
    return is_run_name(name) ? HL_FIELD_X_RUN : HL_FIELD_OTHER;
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
    if (n == name.n ? lookup_exact(all) != HL_FIELD_OTHER : is_run_name(all))
        return HL_FIELD_UNDERSCORE;
    return HL_FIELD_OTHER;
}

/* `classes`: those of all bytes of the name, or-ed. */
static enum hl_field_id lookup(struct hl_str name, unsigned classes)
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
        "date", "expires", "if-match", "if-modified-since", "if-none-match", "if-range",
        "if-unmodified-since", "location", "pragma", "range", "retry-after", "set-cookie", "vary",
        "warning", "www-authenticate"};
    if (field->id != HL_FIELD_OTHER)
        return false;
    for (size_t i = 0; i < HL_ARRAY_LEN(unsafe); i++)
        if (hl_str_eq_nocase(field->name, hl_str_from(unsafe[i])))
            return false;
    return true;
}
