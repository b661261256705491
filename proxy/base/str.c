/* str.c - comparing, cutting and reading borrowed slices. Any thread; only hl_str_dup allocates.
 * Case is ASCII's and never the locale's: field names and option values are ASCII. */
#include "base/str.h"

#include <stdlib.h>

#include "base/assert.h"

static unsigned char to_lower(char c)
{
    unsigned char u = (unsigned char)c;
    return u >= 'A' && u <= 'Z' ? u | 0x20 : u;
}

bool hl_str_eq_nocase(struct hl_str a, struct hl_str b)
{
    if (a.n != b.n)
        return false;
    for (size_t i = 0; i < a.n; i++) {
        if (to_lower(a.p[i]) != to_lower(b.p[i]))
            return false;
    }
    return true;
}

bool hl_str_starts_with(struct hl_str s, struct hl_str prefix)
{
    return s.n >= prefix.n && hl_str_eq((struct hl_str){s.p, prefix.n}, prefix);
}

static bool is_ows(char c)
{
    return c == ' ' || c == '\t';
}

struct hl_str hl_str_trim(struct hl_str s)
{
    while (s.n > 0 && is_ows(s.p[0])) {
        s.p++;
        s.n--;
    }
    while (s.n > 0 && is_ows(s.p[s.n - 1]))
        s.n--;
    return s;
}

struct hl_str hl_str_unframe(struct hl_str s)
{
    const struct hl_str mark = HL_STR("\xef\xbb\xbf");
    if (hl_str_starts_with(s, mark)) {
        s.p += mark.n;
        s.n -= mark.n;
    }
    while (s.n > 0 && (s.p[s.n - 1] == '\n' || s.p[s.n - 1] == '\r'))
        s.n--;
    return s;
}

bool hl_str_next_element(struct hl_str *list, struct hl_str *element)
{
    while (list->n > 0) {
        const char *comma = memchr(list->p, ',', list->n);
        size_t n = comma ? (size_t)(comma - list->p) : list->n;
        size_t taken = comma ? n + 1 : n;
        *element = hl_str_trim((struct hl_str){list->p, n});
        list->p += taken;
        list->n -= taken;
        if (element->n > 0)
            return true;
    }
    return false;
}

bool hl_str_to_u64(struct hl_str s, uint64_t *out)
{
    uint64_t v = 0;
    if (s.n == 0)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        unsigned digit = (unsigned)(unsigned char)s.p[i] - '0';
        bool may_overflow = i >= 19; /* digits before it always fit */
        if (digit > 9 || (may_overflow && v > (UINT64_MAX - digit) / 10))
            return false;
        v = v * 10 + digit;
    }
    *out = v;
    return true;
}

void hl_str_put(char *out, size_t cap, const char *text)
{
    size_t n = strlen(text);
    HL_ASSERT(n < cap);
    memcpy(out, text, n + 1);
}

void hl_str_put_cut(char *out, size_t cap, struct hl_str s)
{
    size_t n = strnlen(s.n > 0 ? s.p : "", s.n < cap ? s.n : cap - 1);
    if (n > 0)
        memcpy(out, s.p, n);
    out[n] = '\0';
}

char *hl_str_dup(struct hl_str s)
{
    char *copy = malloc(s.n + 1);
    if (!copy)
        return NULL;
    if (s.n > 0)
        memcpy(copy, s.p, s.n);
    copy[s.n] = '\0';
    return copy;
}

/* ---- how far apart two names are: for "did you mean" ---- */

static unsigned least_of(unsigned a, unsigned b, unsigned c)
{
    unsigned least = a < b ? a : b;
    return least < c ? least : c;
}

/* One row of the table at a time. */
unsigned hl_distance(struct hl_str a, struct hl_str b)
{
    unsigned row[HL_DISTANCE_MAX + 1];
    if (a.n > HL_DISTANCE_MAX)
        a.n = HL_DISTANCE_MAX;
    if (b.n > HL_DISTANCE_MAX)
        b.n = HL_DISTANCE_MAX;
    for (unsigned j = 0; j <= b.n; j++)
        row[j] = j;
    for (unsigned i = 1; i <= a.n; i++) {
        unsigned diagonal = row[0];
        row[0] = i;
        for (unsigned j = 1; j <= b.n; j++) {
            unsigned replaced = diagonal + (a.p[i - 1] != b.p[j - 1]);
            diagonal = row[j];
            row[j] = least_of(replaced, row[j] + 1, row[j - 1] + 1);
        }
    }
    return row[b.n];
}
