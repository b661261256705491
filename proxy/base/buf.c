/* buf.c - a growing run of bytes with a cap. One thread at a time.
 * The allocation is one byte longer than `cap`: room for the NUL that vsnprintf writes and nobody
 * counts. */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define LEAST_CAP 256

void hl_buf_fini(struct hl_buf *b)
{
    free(b->p);
    hl_buf_init(b, b->max);
}

enum hl_err hl_buf_reserve(struct hl_buf *b, size_t more)
{
    size_t limit = b->max ? b->max : SIZE_MAX / 2;
    if (more <= b->cap - b->n)
        return HL_OK;
    if (b->n > limit || more > limit - b->n)
        return HL_ERR_TOO_LARGE;

    size_t cap = b->cap < limit / 2 ? b->cap * 2 : limit;
    if (cap < LEAST_CAP)
        cap = LEAST_CAP < limit ? LEAST_CAP : limit;
    if (cap < b->n + more)
        cap = b->n + more;
    char *p = realloc(b->p, cap + 1);
    if (!p)
        return HL_ERR_NOMEM;
    b->p = p;
    b->cap = cap;
    return HL_OK;
}

enum hl_err hl_buf_append(struct hl_buf *b, const void *p, size_t n)
{
    enum hl_err err = hl_buf_reserve(b, n);
    if (err || n == 0)
        return err;
    memcpy(b->p + b->n, p, n);
    b->n += n;
    return HL_OK;
}

enum hl_err hl_buf_append_str(struct hl_buf *b, struct hl_str s)
{
    return hl_buf_append(b, s.p, s.n);
}

enum hl_err hl_buf_printf(struct hl_buf *b, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (n < 0)
        return HL_ERR_INVALID;

    enum hl_err err = hl_buf_reserve(b, (size_t)n);
    if (err || n == 0)
        return err;
    va_start(args, fmt);
    vsnprintf(b->p + b->n, (size_t)n + 1, fmt, args);
    va_end(args);
    b->n += (size_t)n;
    return HL_OK;
}

void hl_buf_drop(struct hl_buf *b, size_t n)
{
    if (n >= b->n) {
        b->n = 0;
        return;
    }
    memmove(b->p, b->p + n, b->n - n);
    b->n -= n;
}
