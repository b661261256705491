/* json.h - values of the REST interface's JSON, on jansson. All return a new reference, or NULL when
 * out of memory; hl_json_object takes them, also when it fails. */
#ifndef HL_API_JSON_H
#define HL_API_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err.h"
#include "base/str.h"
#include "http/refusal.h"

struct hl_buf;
struct hl_id;

/* Of a string, whose bytes they are; of anything else none, at NULL. */
struct hl_str hl_json_str(const json_t *value);

json_t *hl_json_text(struct hl_str s);         /* what is not UTF-8 in it becomes U+FFFD */
json_t *hl_json_text_or_null(struct hl_str s); /* empty: null */
json_t *hl_json_id(const struct hl_id *id);
json_t *hl_json_time(int64_t wall_ms); /* RFC 3339; 0: null */
/* The same of a time of the steady clock, by the wall clock as it is: somebody may have set it since, and the
 * wait lasts as long. */
json_t *hl_json_steady_time(int64_t steady_ms);
json_t *hl_json_count_or_null(int64_t n); /* negative: null */

struct hl_json_member {
    const char *name;
    json_t *value; /* taken */
};

/* In that order. */
json_t *hl_json_object(const struct hl_json_member *members, size_t n);
#define HL_JSON_OBJECT(...)                                                                        \
    hl_json_object((const struct hl_json_member[]){__VA_ARGS__},                                   \
        sizeof((const struct hl_json_member[]){__VA_ARGS__}) / sizeof(struct hl_json_member))

/* Takes `value`. False: out of memory. */
bool hl_json_push(json_t *array, json_t *value);

/* Takes `value` and appends it, compact, with a line's end. */
HL_MUST_CHECK enum hl_err hl_json_write(json_t *value, struct hl_buf *out);

/* An object without members twice. Its texts may hold NULs. NULL: it is none, or there is no memory. */
json_t *hl_json_read_object(struct hl_str text);
/* Which of the two. */
enum hl_refusal_cause hl_json_no_object(void);

#endif
