/* json_check.h - whether a text is JSON (RFC 8259), found while it passes. One pass, constant memory,
 * cut anywhere. */
#ifndef HL_HTTP_JSON_CHECK_H
#define HL_HTTP_JSON_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HL_JSON_MAX_DEPTH 512

/* Strict; the text must be UTF-8 without a byte order mark; lone
 * surrogate escapes are allowed by the grammar and accepted. */
struct hl_json_check {
    uint8_t state;
    uint8_t literal;  /* position inside true, false, null or an escape */
    uint8_t utf8;     /* enum hl_utf8_state, inside a string */
    bool is_key;      /* the string is a member's name */
    bool is_too_deep; /* this is what made it invalid */
    uint16_t depth;
    uint64_t is_object[HL_JSON_MAX_DEPTH / 64]; /* one bit a level: object or array */
};

void hl_json_check_init(struct hl_json_check *c);
/* False from the first byte on that makes the text invalid. */
bool hl_json_check_feed(struct hl_json_check *c, const char *p, size_t n);
/* After the last byte: exactly one JSON value was there. */
bool hl_json_check_end(const struct hl_json_check *c);

#endif
