/* json_check.c - the JSON validator: RFC 8259 as a push-down automaton with one bit a level.
 * Thread: any; no allocation.
 * Promise: the bytes of a text that passed may be embedded in another JSON text as they are. */
#include "http/json_check.h"

#include "base/utf8.h"
#include "http/byte.h"

enum {
    STATE_VALUE,       /* a value must come */
    STATE_FIRST_VALUE, /* after '[': a value or ']' */
    STATE_FIRST_KEY,   /* after '{': a name or '}' */
    STATE_KEY,         /* after ',' in an object: a name */
    STATE_COLON,       /* after a name */
    STATE_AFTER,       /* after a value: ',', a closing bracket, or at depth 0 the end */
    STATE_STRING,      /* inside a string */
    STATE_ESCAPE,      /* after '\' */
    STATE_HEX,         /* inside \uXXXX; `literal` digits were there */
    STATE_TRUE,        /* inside a literal; `literal` letters were there */
    STATE_FALSE,
    STATE_NULL,
    STATE_MINUS, /* after '-': a digit */
    STATE_ZERO,  /* after a leading 0: no more digits */
    STATE_INTEGER,
    STATE_POINT, /* after '.': a digit */
    STATE_FRACTION,
    STATE_EXPONENT,      /* after 'e': a sign or a digit */
    STATE_EXPONENT_SIGN, /* after its sign: a digit */
    STATE_EXPONENT_DIGIT,
    STATE_BAD,
};

void hl_json_check_init(struct hl_json_check *c)
{
    *c = (struct hl_json_check){.state = STATE_VALUE};
}

static bool is_space(char b)
{
    return b == ' ' || b == '\n' || b == '\r' || b == '\t';
}

static const char *skip_plain(const char *p, const char *end);
static uint8_t in_string(struct hl_json_check *c, char b);
static uint8_t in_literal(struct hl_json_check *c, const char *text, char b);
static uint8_t in_number(struct hl_json_check *c, char b);
static uint8_t in_structure(struct hl_json_check *c, char b);

static uint8_t after_byte(struct hl_json_check *c, char b)
{
    switch (c->state) {
    case STATE_STRING:
    case STATE_ESCAPE:
    case STATE_HEX:
        return in_string(c, b);
    case STATE_TRUE:
        return in_literal(c, "true", b);
    case STATE_FALSE:
        return in_literal(c, "false", b);
    case STATE_NULL:
        return in_literal(c, "null", b);
    default:
        return c->state >= STATE_MINUS ? in_number(c, b) : in_structure(c, b);
    }
}

bool hl_json_check_feed(struct hl_json_check *c, const char *p, size_t n)
{
    const char *end = p + n;
    while (p < end && c->state != STATE_BAD) {
        if (c->state == STATE_STRING && c->utf8 == HL_UTF8_START) {
            p = skip_plain(p, end);
            if (p == end)
                break;
        }
        c->state = after_byte(c, *p++);
    }
    return c->state != STATE_BAD;
}

bool hl_json_check_end(const struct hl_json_check *c)
{
    switch (c->state) {
    case STATE_AFTER:
    case STATE_ZERO:
    case STATE_INTEGER:
    case STATE_FRACTION:
    case STATE_EXPONENT_DIGIT:
        return c->depth == 0;
    default:
        return false;
    }
}

/* Inside a string, past bytes that mean themselves. */
static const char *skip_plain(const char *p, const char *end)
{
    while (end - p >= HL_BLOCK) {
        hl_block block = hl_block_load(p);
        unsigned n = hl_block_first(hl_block_escaped(block) | (hl_block)(block >= 0x80));
        p += n;
        if (n < HL_BLOCK)
            break;
    }
    return p;
}

static uint8_t in_string(struct hl_json_check *c, char b)
{
    if (c->state == STATE_HEX) {
        if (!hl_byte_is(b, HL_BYTE_HEX))
            return STATE_BAD;
        return ++c->literal == 4 ? STATE_STRING : STATE_HEX;
    }
    if (c->state == STATE_ESCAPE) {
        c->literal = 0;
        if (b == 'u')
            return STATE_HEX;
        return b != '\0' && strchr("\"\\/bfnrt", b) ? STATE_STRING : STATE_BAD;
    }
    c->utf8 = hl_utf8_next(c->utf8, (uint8_t)b);
    if (c->utf8 == HL_UTF8_BAD || (unsigned char)b < 0x20)
        return STATE_BAD;
    if (b == '\\')
        return STATE_ESCAPE;
    if (b == '"')
        return c->is_key ? STATE_COLON : STATE_AFTER;
    return STATE_STRING;
}

static uint8_t in_literal(struct hl_json_check *c, const char *text, char b)
{
    if (b != text[c->literal])
        return STATE_BAD;
    c->literal++;
    return text[c->literal] ? c->state : STATE_AFTER;
}

/* A number ends with the first byte that is not of it. */
static uint8_t in_number(struct hl_json_check *c, char b)
{
    bool is_digit = hl_byte_is(b, HL_BYTE_DIGIT), is_e = b == 'e' || b == 'E';
    switch (c->state) {
    case STATE_MINUS:
        return b == '0' ? STATE_ZERO : is_digit ? STATE_INTEGER : STATE_BAD;
    case STATE_POINT:
        return is_digit ? STATE_FRACTION : STATE_BAD;
    case STATE_EXPONENT:
        if (b == '+' || b == '-')
            return STATE_EXPONENT_SIGN;
        return is_digit ? STATE_EXPONENT_DIGIT : STATE_BAD;
    case STATE_EXPONENT_SIGN:
        return is_digit ? STATE_EXPONENT_DIGIT : STATE_BAD;
    case STATE_ZERO:
    case STATE_INTEGER:
        if (b == '.')
            return STATE_POINT;
        if (is_digit)
            return c->state == STATE_INTEGER ? STATE_INTEGER : STATE_BAD;
        break;
    case STATE_FRACTION:
        if (is_digit)
            return STATE_FRACTION;
        break;
    case STATE_EXPONENT_DIGIT:
        if (is_digit)
            return STATE_EXPONENT_DIGIT;
        is_e = false;
        break;
    }
    if (is_e)
        return STATE_EXPONENT;
    c->state = STATE_AFTER;
    return in_structure(c, b);
}

static uint8_t open_level(struct hl_json_check *c, bool is_object)
{
    c->is_too_deep = c->depth == HL_JSON_MAX_DEPTH;
    if (c->is_too_deep)
        return STATE_BAD;
    uint64_t bit = UINT64_C(1) << c->depth % 64, *word = &c->is_object[c->depth / 64];
    *word = is_object ? *word | bit : *word & ~bit;
    c->depth++;
    return is_object ? STATE_FIRST_KEY : STATE_FIRST_VALUE;
}

static bool is_in_object(const struct hl_json_check *c)
{
    unsigned level = c->depth - 1u;
    return c->is_object[level / 64] >> level % 64 & 1;
}

static uint8_t close_level(struct hl_json_check *c, bool is_object)
{
    if (c->depth == 0 || is_in_object(c) != is_object)
        return STATE_BAD;
    c->depth--;
    return STATE_AFTER;
}

static uint8_t begin_string(struct hl_json_check *c, bool is_key)
{
    c->is_key = is_key;
    c->utf8 = HL_UTF8_START;
    return STATE_STRING;
}

static uint8_t begin_value(struct hl_json_check *c, char b)
{
    c->literal = 1;
    switch (b) {
    case '{':
        return open_level(c, true);
    case '[':
        return open_level(c, false);
    case '"':
        return begin_string(c, false);
    case 't':
        return STATE_TRUE;
    case 'f':
        return STATE_FALSE;
    case 'n':
        return STATE_NULL;
    case '-':
        return STATE_MINUS;
    case '0':
        return STATE_ZERO;
    default:
        return hl_byte_is(b, HL_BYTE_DIGIT) ? STATE_INTEGER : STATE_BAD;
    }
}

static uint8_t after_value(struct hl_json_check *c, char b)
{
    if (b == ',' && c->depth > 0)
        return is_in_object(c) ? STATE_KEY : STATE_VALUE;
    if (b == ']' || b == '}')
        return close_level(c, b == '}');
    return STATE_BAD;
}

/* Between values: white space and the structural characters. */
static uint8_t in_structure(struct hl_json_check *c, char b)
{
    if (is_space(b))
        return c->state;
    switch (c->state) {
    case STATE_FIRST_VALUE:
        return b == ']' ? close_level(c, false) : begin_value(c, b);
    case STATE_VALUE:
        return begin_value(c, b);
    case STATE_FIRST_KEY:
        if (b == '}')
            return close_level(c, true);
        return b == '"' ? begin_string(c, true) : STATE_BAD;
    case STATE_KEY:
        return b == '"' ? begin_string(c, true) : STATE_BAD;
    case STATE_COLON:
        return b == ':' ? STATE_VALUE : STATE_BAD;
    case STATE_AFTER:
        return after_value(c, b);
    default:
        return STATE_BAD;
    }
}
