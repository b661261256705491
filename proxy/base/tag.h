/* tag.h - a run's tags, "name=value" each (contract 7): what its caller marks it with, and lists find it by.
 *
 * All of them are one text, with commas between and nothing else: "tier=gold,order=17". So they are kept and told. A name is
 * 1 to HL_TAG_MAX of A-Z a-z 0-9 . _ - /, a value 1 to HL_TAG_MAX visible characters of ASCII and blanks between them, but
 * no comma, quotation mark or backslash: nothing of it is ever escaped. No name is there twice. */
#ifndef HL_BASE_TAG_H
#define HL_BASE_TAG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "base/str.h"

#define HL_TAGS_MAX 8
#define HL_TAG_MAX  64 /* of a name; of a value */
/* All of them, and what lists are asked for: one. */
#define HL_TAGS_TEXT (HL_TAGS_MAX * (2 * HL_TAG_MAX + 2) - 1)
#define HL_TAG_TEXT  (2 * HL_TAG_MAX + 1)

struct hl_tag {
    struct hl_str whole, name, value;
};

/* Takes the next one off the text. False: there is none left. */
bool hl_tag_next(struct hl_str *tags, struct hl_tag *tag);

/* `wanted`: "name=value", or "name": whatever its value. */
bool hl_tags_have(struct hl_str tags, struct hl_str wanted);
HL_MUST_CHECK bool hl_tag_is_wanted(struct hl_str text); /* it is one of the two */

/* ---- as a caller writes them ---- */

enum hl_tag_fault {
    HL_TAG_GOOD,
    HL_TAG_EMPTY,    /* nothing between two commas, or no tag at all */
    HL_TAG_NO_VALUE, /* there is no = */
    HL_TAG_BAD_NAME,
    HL_TAG_BAD_VALUE,
    HL_TAG_TWICE,    /* another one has its name */
    HL_TAG_TOO_MANY, /* it is beyond HL_TAGS_MAX */
};

struct hl_tag_list {
    char *text; /* HL_TAGS_TEXT bytes, borrowed */
    size_t n, count;
};

/* One field's value, "tier=gold, order=17": blanks and tabs around names and values are no part of them. Of a fault `*bad`
 * is the element of `written` that has it. */
HL_MUST_CHECK enum hl_tag_fault hl_tags_add(
    struct hl_tag_list *list, struct hl_str written, struct hl_str *bad);

#endif
