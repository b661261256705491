/* str.h - borrowed slices of bytes. Not NUL-terminated; whoever made the slice owns the bytes. */
#ifndef HL_BASE_STR_H
#define HL_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct hl_str {
    const char *p;
    size_t n;
};

/* A slice of a string literal. */
#define HL_STR(lit) ((struct hl_str){(lit), sizeof(lit) - 1})
/* For printf("%.*s"). */
#define HL_STR_ARG(s) (int)(s).n, (s).p

static inline struct hl_str hl_str_from(const char *z)
{
    return (struct hl_str){z, z ? strlen(z) : 0};
}

static inline bool hl_str_eq(struct hl_str a, struct hl_str b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

/* ASCII case folded, as for field names (RFC 9110 5.1). */
bool hl_str_eq_nocase(struct hl_str a, struct hl_str b);
bool hl_str_starts_with(struct hl_str s, struct hl_str prefix);

/* Without optional white space (SP, HTAB) at both ends: RFC 9110 5.6.3. */
struct hl_str hl_str_trim(struct hl_str s);

/* Without what editors, shells and `echo` put around a text: UTF-8's byte order mark before it, line
 * ends behind it. */
struct hl_str hl_str_unframe(struct hl_str s);

/* Takes the next element of a comma-separated list (RFC 9110 5.6.1) off `*list`, trimmed; empty
 * elements are passed over. False when nothing is left. Knows nothing of quoted strings. */
bool hl_str_next_element(struct hl_str *list, struct hl_str *element);

/* Decimal digits only, no sign, no white space; false on overflow. */
bool hl_str_to_u64(struct hl_str s, uint64_t *out);

/* A NUL-terminated copy in an array of `cap` bytes. It has to fit: whoever took `text` in has checked
 * its length. */
void hl_str_put(char *out, size_t cap, const char *text);

/* The same of what may be too long: it is cut there, and at a NUL. */
void hl_str_put_cut(char *out, size_t cap, struct hl_str s);

/* An owned, NUL-terminated copy, or NULL when out of memory. free() it. */
char *hl_str_dup(struct hl_str s);

/* ---- how far apart two names are: for "did you mean" ---- */

#define HL_DISTANCE_MAX 64

/* In how many letters they differ (Levenshtein). Names that have more than HL_DISTANCE_MAX are compared
 * by their beginning. */
unsigned hl_distance(struct hl_str a, struct hl_str b);

#endif
