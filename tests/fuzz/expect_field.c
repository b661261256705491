/* expect_field.c - names of fields, and the fields that came out, taken off one by one. The lists are
 * contract 2's, written down a second time. */
#include "expect_field.h"

#include "http/field.h"
#include "strict_grammar.h"
#include "strict_http.h"

/* RFC 9110 7.6.1, RFC 9113 8.2.2. */
static const char *const hop_by_hop[] = {"connection", "keep-alive", "proxy-connection", "te",
    "trailer", "transfer-encoding", "upgrade", "http2-settings", "proxy-authenticate",
    "proxy-authorization", NULL};
/* What cannot be nominated away, beside X-Forwarded-*: what the proxies before us say of the caller,
 * what asks for an answer. */
static const char *const never_of_connection[] = {
    "forwarded", "x-real-ip", "expect", "max-forwards", NULL};
/* Every name that hookline knows. */
static const char *const known[] = {
#define X(id, text) text,
    HL_FIELD_MAP(X)
#undef X
        NULL};

bool expect_is_in(struct hl_str name, const char *const *names)
{
    for (; *names; names++)
        if (strict_same_nocase(name, hl_str_from(*names)))
            return true;
    return false;
}

bool expect_begins(struct hl_str name, struct hl_str prefix)
{
    return name.n >= prefix.n && strict_same_nocase((struct hl_str){name.p, prefix.n}, prefix);
}

bool expect_is_forwarded(struct hl_str name)
{
    return expect_begins(name, HL_STR("x-forwarded-"));
}

bool expect_is_spoof(struct hl_str name)
{
    char dashed[256];
    bool has_underscore = memchr(name.p, '_', name.n) != NULL;
    if (name.n > sizeof dashed)
        name.n = sizeof dashed; /* longer than all that are known; the beginning may be X-Run- */
    for (size_t i = 0; i < name.n; i++)
        dashed[i] = name.p[i] == '_' ? '-' : name.p[i];
    struct hl_str as_read = {dashed, name.n};
    return has_underscore &&
           (expect_is_in(as_read, known) || expect_begins(as_read, HL_STR("x-run-")) ||
               expect_is_forwarded(as_read));
}

bool expect_is_of_connection(const struct strict_message *in, struct hl_str name)
{
    static const char *const no_names[] = {"close", "keep-alive", "upgrade", NULL};
    if (expect_is_in(name, hop_by_hop))
        return true;
    return strict_lists(&in->fields, "connection", name) && !expect_is_in(name, no_names) &&
           !expect_is_in(name, never_of_connection) && !expect_is_forwarded(name);
}

static const char *fault; /* the first of what does not hold */

void expect_that(bool holds, const char *otherwise)
{
    if (!holds && !fault)
        fault = otherwise;
}

static bool is_taken[STRICT_MAX_FIELDS];

void expect_begin(const struct strict_message *out)
{
    fault = NULL;
    memset(is_taken, 0, out->fields.n);
}

ptrdiff_t expect_find(const struct strict_message *out, const char *name)
{
    for (size_t i = 0; i < out->fields.n; i++)
        if (!is_taken[i] && strict_same_nocase(out->fields.items[i].name, hl_str_from(name)))
            return (ptrdiff_t)i;
    return -1;
}

void expect_take(const struct strict_message *out, const char *name, struct hl_str value)
{
    ptrdiff_t i = expect_find(out, name);
    expect_that(i >= 0, "a field of ours is missing");
    if (i < 0)
        return;
    expect_that(strict_same(out->fields.items[i].value, value), "a field of ours says otherwise");
    is_taken[i] = true;
}

void expect_take_any(
    const struct strict_message *out, const char *name, bool (*is_right)(struct hl_str value))
{
    ptrdiff_t i = expect_find(out, name);
    expect_that(i >= 0, "a field of ours is missing");
    if (i < 0)
        return;
    expect_that(is_right(out->fields.items[i].value), "a field of ours has no right value");
    is_taken[i] = true;
}

void expect_kept(const struct strict_message *out, size_t i, const struct strict_field *field)
{
    bool is_same = i < out->fields.n && strict_same(out->fields.items[i].name, field->name) &&
                   strict_same(out->fields.items[i].value, field->value);
    expect_that(is_same, "a field did not go on as it was, or not in its place");
    if (i < out->fields.n)
        is_taken[i] = true;
}

void expect_take_framing(const struct strict_message *out)
{
    ptrdiff_t length = expect_find(out, "Content-Length"); /* its value is compared as a number */
    if (length >= 0)
        is_taken[length] = true;
    if (strict_count(&out->fields, "transfer-encoding") > 0)
        expect_take(out, "Transfer-Encoding", HL_STR("chunked"));
}

const char *expect_end(const struct strict_message *out)
{
    for (size_t i = 0; i < out->fields.n; i++)
        expect_that(is_taken[i], "a field went on that should not have");
    return fault;
}

const char *expect_fault(void)
{
    return fault;
}

bool expect_is_hex(struct hl_str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!(s.p[i] >= '0' && s.p[i] <= '9') && !(s.p[i] >= 'a' && s.p[i] <= 'f'))
            return false;
    return true;
}

bool expect_is_uuid(struct hl_str v)
{
    if (v.n != 36)
        return false;
    for (size_t i = 0; i < v.n; i++) {
        bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (is_dash ? v.p[i] != '-' : !expect_is_hex((struct hl_str){v.p + i, 1}))
            return false;
    }
    return true;
}
