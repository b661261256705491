/* writer.h - writes bytes into a fixed space: an overflow is remembered, and checked once at the
 * end. */
#ifndef HL_HTTP_WRITER_H
#define HL_HTTP_WRITER_H

#include "base/str.h"

struct hl_writer {
    char *start, *p, *end;
    bool is_full; /* something did not fit: nothing more is written */
};

static inline struct hl_writer hl_writer_on(char *out, size_t cap)
{
    return (struct hl_writer){out, out, out + cap, false};
}

static inline void hl_write(struct hl_writer *w, const char *p, size_t n)
{
    if ((size_t)(w->end - w->p) < n) {
        w->is_full = true;
        w->end = w->p;
        return;
    }
    memcpy(w->p, p, n);
    w->p += n;
}

/* One field line; whether it fits is asked once. `name` is a literal with its ": ". */
static inline void hl_write_line_of(
    struct hl_writer *w, const char *name, size_t name_n, struct hl_str value)
{
    size_t n = name_n + value.n + 2;
    if ((size_t)(w->end - w->p) < n) {
        w->is_full = true;
        w->end = w->p;
        return;
    }
    char *p = w->p;
    memcpy(p, name, name_n);
    if (value.n > 0)
        memcpy(p + name_n, value.p, value.n);
    memcpy(p + name_n + value.n, "\r\n", 2);
    w->p = p + n;
}
#define HL_WRITE_LINE(w, name, value) hl_write_line_of((w), (name), sizeof(name) - 1, (value))

/* A string literal. */
#define HL_WRITE(w, lit) hl_write((w), (lit), sizeof(lit) - 1)

static inline void hl_write_str(struct hl_writer *w, struct hl_str s)
{
    if (s.n > 0)
        hl_write(w, s.p, s.n);
}

static inline void hl_write_u64(struct hl_writer *w, uint64_t v)
{
    char digits[20], *p = digits + sizeof digits;
    do
        *--p = (char)('0' + v % 10);
    while ((v /= 10) > 0);
    hl_write(w, p, (size_t)(digits + sizeof digits - p));
}

/* The length written, or 0 when it did not all fit. */
static inline size_t hl_writer_end(const struct hl_writer *w)
{
    return w->is_full ? 0 : (size_t)(w->p - w->start);
}

#endif
