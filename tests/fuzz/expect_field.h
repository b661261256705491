/* expect_field.h - a part of expecting messages: which fields are whose, and the fields of one message
 * that came out, each of which must have been expected. One message at a time. */
#ifndef HL_FUZZ_EXPECT_FIELD_H
#define HL_FUZZ_EXPECT_FIELD_H

#include <stdbool.h>
#include <stddef.h>

struct hl_str;
struct strict_field;
struct strict_message;

/* ---- names ---- */

/* `names` ends with NULL. */
bool expect_is_in(struct hl_str name, const char *const *names);
bool expect_begins(struct hl_str name, struct hl_str prefix);
/* X-Forwarded-For, -Host and whatever else proxies add. */
bool expect_is_forwarded(struct hl_str name);
/* With '_' for '-' it would be a name of ours (contract 2). */
bool expect_is_spoof(struct hl_str name);
/* Hop-by-hop by definition, or nominated by Connection (RFC 9110 7.6.1). */
bool expect_is_of_connection(const struct strict_message *in, struct hl_str name);

/* ---- one message that came out ---- */

/* Nothing is taken, nothing is wrong yet. */
void expect_begin(const struct strict_message *out);
/* The first claim that does not hold is the fault. */
void expect_that(bool holds, const char *otherwise);
/* The index of a field that was not taken yet, or -1. */
ptrdiff_t expect_find(const struct strict_message *out, const char *name);
/* There is a field of that name that was not taken yet, with that value, or one that `is_right`. */
void expect_take(const struct strict_message *out, const char *name, struct hl_str value);
void expect_take_any(
    const struct strict_message *out, const char *name, bool (*is_right)(struct hl_str value));
/* Content-Length and Transfer-Encoding, which the reader has read. */
void expect_take_framing(const struct strict_message *out);
/* Field `i` is that one, as it was. */
void expect_kept(const struct strict_message *out, size_t i, const struct strict_field *field);
/* All have been taken. Returns the fault, or NULL. */
const char *expect_end(const struct strict_message *out);
const char *expect_fault(void);

/* The fields that `goes_on` names stand together and in order, from index `at` on. */
#define EXPECT_KEPT(in, out, at, goes_on)                                                          \
    do {                                                                                           \
        size_t next = (at);                                                                        \
        for (size_t k = 0; k < (in)->fields.n; k++) {                                              \
            const struct strict_field *field = &(in)->fields.items[k];                             \
            if (!(goes_on))                                                                        \
                continue;                                                                          \
            expect_kept((out), next++, field);                                                     \
        }                                                                                          \
    } while (0)

/* ---- values ---- */

/* Lower-case hex digits only. */
bool expect_is_hex(struct hl_str s);
bool expect_is_uuid(struct hl_str value);

#endif
