/* body_check.h - what a response body is, found while it passes: valid JSON (depth-capped), valid
 * UTF-8, and how long it would be inside a JSON string. One pass, constant memory, cut anywhere. */
#ifndef HL_HTTP_BODY_CHECK_H
#define HL_HTTP_BODY_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "http/json_check.h"

enum hl_body_kind { HL_BODY_JSON, HL_BODY_TEXT, HL_BODY_BINARY };

struct hl_body_check {
    bool is_json;
    uint8_t utf8_state; /* enum hl_utf8_state */
    uint64_t size;
    uint64_t escaped; /* bytes of the body as the inside of a JSON string, quotes not counted */
    struct hl_json_check json;
};

/* `expects_json`: the content type is JSON (see hl_is_json_type); else JSON is not looked for. */
void hl_body_check_init(struct hl_body_check *c, bool expects_json);
void hl_body_check_feed(struct hl_body_check *c, const char *p, size_t n);
enum hl_body_kind hl_body_check_end(const struct hl_body_check *c);

/* application/json, or any type with the suffix +json; parameters ignored. */
bool hl_is_json_type(const char *content_type, size_t n);

/* Writes p[0..n) as the inside of a JSON string: `"`, `\` and controls escaped (\b \t \n \f \r,
 * else \u00xx), all else as it is. Same count as `escaped`. Returns the bytes written; out has room
 * for 6 * n. */
size_t hl_json_escape(char *out, const char *p, size_t n);

#endif
