/* json_line.h - JSON text as a value of a header field. Pure. */
#ifndef HL_RUNTIME_JSON_LINE_H
#define HL_RUNTIME_JSON_LINE_H

#include <stddef.h>

struct hl_str;

/* The same JSON without white space between its tokens, and in ASCII: what is not printable there is
 * \uXXXX (RFC 8259 7). Whatever `json` is, `out` has nothing that a field's value may not have
 * (RFC 9110 5.5). Returns its bytes; 0: it has more than `cap`, or there is no text. */
size_t hl_json_line_write(char *out, size_t cap, struct hl_str json);

#endif
