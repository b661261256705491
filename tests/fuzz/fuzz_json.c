/* fuzz_json.c - what a response's body is, how it stands in a webhook's envelope, and what it says went wrong.
 * Input: a byte that cuts, a content type up to a line feed, then the body.
 * Claims: the validator says the same wherever the body is cut, and what jansson says, but where
 * jansson is narrower (numbers it cannot hold, escaped lone surrogates, \u0000 in a name); the
 * envelope is as long as it promised, is JSON, and gives the body back byte for byte; the line that says what went wrong is
 * harmless, and that of the member which jansson finds. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "fuzz.h"
#include "http/body_check.h"
#include "base/utf8.h"
#include "http/error_line.h"
#include "store/lease.h"
#include "webhook/envelope.h"

static struct hl_body_check check_in_pieces(
    const char *p, size_t n, bool expects_json, struct fuzz_cuts *cuts)
{
    struct hl_body_check check;
    hl_body_check_init(&check, expects_json);
    for (size_t at = 0; at < n;) {
        size_t piece = cuts ? fuzz_cut(cuts, n - at) : n;
        hl_body_check_feed(&check, p + at, piece);
        at += piece;
    }
    return check;
}

/* Jansson goes deeper, to 2,048 levels, and passes over a NUL behind a number. */
static void check_against_jansson(const char *p, size_t n, bool is_json)
{
    json_error_t error;
    json_t *tree = json_loadb(p, n, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    if (tree && !is_json && !memchr(p, '\0', n)) {
        size_t depth = 0, deepest = 0;
        for (size_t i = 0; i < n; i++) { /* brackets in strings only make it deeper */
            depth += p[i] == '[' || p[i] == '{';
            depth -= depth > 0 && (p[i] == ']' || p[i] == '}');
            deepest = depth > deepest ? depth : deepest;
        }
        FUZZ_CHECK(deepest > HL_JSON_MAX_DEPTH, "jansson reads it as JSON");
    }
    if (!tree && is_json) {
        enum json_error_code code = json_error_code(&error);
        bool is_narrower = code == json_error_numeric_overflow ||
                           code == json_error_null_byte_in_key ||
                           strstr(error.text, "nvalid Unicode");
        fuzz_note("jansson", hl_str_from(error.text));
        FUZZ_CHECK(is_narrower, "jansson does not read it as JSON");
    }
    json_decref(tree);
}

static void make_leased(struct hl_leased *l, const char *p, size_t n,
    const struct hl_body_check *check, struct hl_str type)
{
    static const enum hl_encoding encodings[] = {[HL_BODY_JSON] = HL_ENCODING_JSON,
        [HL_BODY_TEXT] = HL_ENCODING_TEXT,
        [HL_BODY_BINARY] = HL_ENCODING_BASE64};
    struct hl_outcome *o = &l->outcome;
    *l = (struct hl_leased){.project = HL_STR("p"), .app = HL_STR("a")};
    o->state = HL_RUN_SUCCESS;
    o->http_status = 200;
    o->finished_ms = INT64_C(1795248000123);
    o->encoding = encodings[hl_body_check_end(check)];
    o->escaped_size = check->escaped;
    o->body = (struct hl_body){.where = HL_BODY_INLINE, .size = n, .bytes = (char *)(uintptr_t)p};
    hl_digest_sha256((struct hl_str){p, n}, o->body.digest);
    if (type.n <= HL_CONTENT_FIELD_MAX && !memchr(type.p, '\0', type.n) && hl_utf8_is_valid(type))
        memcpy(o->content_type, type.p, type.n);
}

/* The whole envelope, read in pieces. Owned. */
static char *read_envelope(struct hl_envelope *e, struct fuzz_cuts *cuts)
{
    char *all = malloc(e->size + 1);
    if (!all)
        abort();
    size_t at = 0;
    FUZZ_CHECK(hl_envelope_rewind(e) == HL_OK, "an envelope in memory can be read");
    for (;;) {
        char piece[1 + 512];
        size_t cap = 1 + fuzz_cut(cuts, 512);
        ssize_t got = hl_envelope_read(e, piece, cap);
        FUZZ_CHECK(got >= 0 && (size_t)got <= cap, "an envelope in memory can be read");
        if (got == 0)
            break;
        FUZZ_CHECK(at + (size_t)got <= e->size, "the envelope is longer than it promised");
        memcpy(all + at, piece, (size_t)got);
        at += (size_t)got;
    }
    FUZZ_CHECK(at == e->size, "the envelope is shorter than it promised");
    return all;
}

/* RFC 4648 4, padded. Owned. */
static char *decode_base64(const char *text, size_t n, size_t *out_n)
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *out = malloc(n + 1);
    if (!out)
        abort();
    *out_n = 0;
    FUZZ_CHECK(n % 4 == 0, "base64 in groups of four");
    for (size_t i = 0; i < n; i += 4) {
        unsigned group = 0, pads = 0;
        for (size_t k = i; k < i + 4; k++) {
            const char *found = text[k] == '\0' ? NULL : strchr(alphabet, text[k]);
            bool is_pad = text[k] == '=' && i + 4 == n && k >= i + 2;
            FUZZ_CHECK(is_pad || (found && pads == 0), "no base64");
            pads += is_pad;
            group = group << 6 | (is_pad ? 0 : (unsigned)(found - alphabet));
        }
        for (unsigned k = 0; k < 3 - pads; k++)
            out[(*out_n)++] = (char)(group >> (16 - 8 * k));
    }
    return out;
}

/* Text that stands at the envelope's end, before its closing brace, as it is. */
static bool is_embedded(const char *all, size_t all_n, const char *p, size_t n)
{
    static const char before[] = "\"encoding\":\"json\",\"response\":";
    size_t tail = sizeof before - 1 + n + 1;
    return all_n > tail && memcmp(all + all_n - tail, before, sizeof before - 1) == 0 &&
           memcmp(all + all_n - n - 1, p, n) == 0 && all[all_n - 1] == '}';
}

static void check_response(const json_t *envelope, const char *p, size_t n)
{
    const json_t *response = json_object_get(envelope, "response");
    const char *encoding = json_string_value(json_object_get(envelope, "encoding"));
    const char *text = json_string_value(response);
    size_t text_n = json_string_length(response);
    FUZZ_CHECK(encoding && text, "the response is a string and its encoding is said");
    if (strcmp(encoding, "text") == 0) {
        FUZZ_CHECK(text_n == n && memcmp(text, p, n) == 0, "another text");
        return;
    }
    FUZZ_CHECK(strcmp(encoding, "base64") == 0, "an encoding that is none");
    size_t raw_n;
    char *raw = decode_base64(text, text_n, &raw_n);
    FUZZ_CHECK(raw_n == n && memcmp(raw, p, n) == 0, "other bytes");
    free(raw);
}

static void check_envelope(const char *p, size_t n, const struct hl_body_check *check,
    struct hl_str type, struct fuzz_cuts *cuts)
{
    struct hl_leased leased;
    struct hl_envelope e;
    json_error_t error;
    make_leased(&leased, p, n, check, type);
    FUZZ_CHECK(
        hl_envelope_init(&e, &leased, NULL, NULL) == HL_OK, "a record without contradictions");
    size_t size = (size_t)e.size;
    char *all = read_envelope(&e, cuts), *again = read_envelope(&e, cuts);
    fuzz_note("envelope", (struct hl_str){all, size});
    FUZZ_CHECK(memcmp(all, again, size) == 0, "read twice, other bytes");

    bool is_json = hl_body_check_end(check) == HL_BODY_JSON && n > 0;
    FUZZ_CHECK(!is_json || is_embedded(all, size, p, n), "JSON is embedded as it is");
    json_t *tree = json_loadb(all, size, JSON_ALLOW_NUL, &error);
    FUZZ_CHECK(tree || is_json, "the envelope is no JSON");
    if (tree) {
        const char *as_text = json_string_value(json_object_get(tree, "content_type"));
        FUZZ_CHECK(strcmp(as_text ? as_text : "", leased.outcome.content_type) == 0,
            "another content type");
        if (!is_json)
            check_response(tree, p, n);
    }
    json_decref(tree);
    free(all);
    free(again);
    hl_envelope_fini(&e);
}

static void check_line(const char *line)
{
    char again[HL_ERROR_LINE_MAX + 1];
    struct hl_str s = hl_str_from(line);
    uint32_t code;
    FUZZ_CHECK(s.n <= HL_ERROR_LINE_MAX && hl_utf8_is_valid(s), "no text");
    FUZZ_CHECK(hl_utf8_count(s) <= HL_ERROR_LINE_CHARACTERS, "a line that is too long");
    for (size_t i = 0; i < s.n; i += hl_utf8_decode(s.p + i, s.n - i, &code)) {
        hl_utf8_decode(s.p + i, s.n - i, &code);
        FUZZ_CHECK(!hl_utf8_is_unsafe(code), "a control");
    }
    hl_error_line_of_text(s, again);
    FUZZ_CHECK(strcmp(line, again) == 0, "a line is its own first line");
}

/* What jansson's tree has in the first of those members that says something. */
static void expect_line(const json_t *tree, const char *line)
{
    static const char *const names[] = {"detail", "error", "message", "title"};
    char expected[HL_ERROR_LINE_MAX + 1] = "";
    for (size_t i = 0; i < HL_ARRAY_LEN(names) && !expected[0]; i++) {
        const json_t *value = json_object_get(tree, names[i]);
        if (strcmp(names[i], "error") == 0 && json_is_object(value))
            value = json_object_get(value, "message");
        if (json_is_string(value))
            hl_error_line_of_text(
                (struct hl_str){json_string_value(value), json_string_length(value)}, expected);
    }
    FUZZ_CHECK(strcmp(line, expected) == 0, "another error");
}

/* A member's name that is escaped is none of those that are sought. */
static void check_error(const char *p, size_t n, bool is_json, struct fuzz_cuts *cuts)
{
    char line[HL_ERROR_LINE_MAX + 1];
    hl_error_line_of_text((struct hl_str){p, n}, line);
    check_line(line);
    hl_error_line_of_html((struct hl_str){p, n}, line);
    check_line(line);
    if (!is_json)
        return;
    hl_error_line_of_json((struct hl_str){p, n > 0 ? fuzz_cut(cuts, n) : 0}, line);
    check_line(line);
    hl_error_line_of_json((struct hl_str){p, n}, line);
    check_line(line);
    json_t *tree = json_loadb(p, n, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    if (tree && n <= HL_ERROR_LINE_LOOKS && !memmem(p, n, "\\u", 2))
        expect_line(tree, line);
    json_decref(tree);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = fuzz_input(data, size);
    struct fuzz_cuts cuts = fuzz_cuts(fuzz_take_byte(&input));
    struct hl_str type = fuzz_take_until(&input, '\n');
    bool expects_json = hl_is_json_type(type.p, type.n);
    size_t n;
    char *p = fuzz_take_rest(&input, &n);
    fuzz_forget();
    fuzz_note("type", type);
    fuzz_note("body", (struct hl_str){p, n});

    struct hl_body_check whole = check_in_pieces(p, n, true, NULL);
    struct hl_body_check pieces = check_in_pieces(p, n, true, &cuts);
    FUZZ_CHECK(hl_body_check_end(&whole) == hl_body_check_end(&pieces), "cut, another kind");
    FUZZ_CHECK(whole.escaped == pieces.escaped && whole.size == n, "cut, another length");
    check_against_jansson(p, n, hl_body_check_end(&whole) == HL_BODY_JSON);
    check_error(p, n, hl_body_check_end(&whole) == HL_BODY_JSON, &cuts);
    if (!expects_json)
        whole = check_in_pieces(p, n, false, &cuts);
    check_envelope(p, n, &whole, type, &cuts);
    free(p);
    return 0;
}
