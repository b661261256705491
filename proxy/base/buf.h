/* buf.h - a growing run of bytes with a cap. Owns its bytes. Not for the warm path: that writes
 * into fixed scratch space. */
#ifndef HL_BASE_BUF_H
#define HL_BASE_BUF_H

#include "base/compiler.h"
#include "base/err.h"
#include "base/str.h"

struct hl_buf {
    char *p;
    size_t n;   /* bytes used */
    size_t cap; /* bytes allocated */
    size_t max; /* never grows beyond this; 0: no limit */
};

static inline void hl_buf_init(struct hl_buf *b, size_t max)
{
    *b = (struct hl_buf){.max = max};
}

void hl_buf_fini(struct hl_buf *b); /* leaves it empty and usable */

/* HL_ERR_TOO_LARGE beyond max, HL_ERR_NOMEM; on error nothing was appended. */
HL_MUST_CHECK enum hl_err hl_buf_reserve(struct hl_buf *b, size_t more);
HL_MUST_CHECK enum hl_err hl_buf_append(struct hl_buf *b, const void *p, size_t n);
HL_MUST_CHECK enum hl_err hl_buf_append_str(struct hl_buf *b, struct hl_str s);
HL_MUST_CHECK enum hl_err hl_buf_printf(struct hl_buf *b, const char *fmt, ...) HL_PRINTF(2, 3);

/* Removes the first n bytes. */
void hl_buf_drop(struct hl_buf *b, size_t n);

static inline struct hl_str hl_buf_str(const struct hl_buf *b)
{
    return (struct hl_str){b->p, b->n};
}

#endif
