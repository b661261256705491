/* cors.h - what an answer tells a browser about who may read it (WHATWG Fetch, 3.2). */
#ifndef HL_HTTP_CORS_H
#define HL_HTTP_CORS_H

#include "base/str.h"

struct hl_head;
struct hl_writer;

struct hl_cors {
    struct hl_str allowed; /* the origin whose page may read it, or "*"; empty: none */
    bool varies;           /* another origin would get another answer */
};

/* The fields for an answer of any kind; nothing for a struct of zeros. */
void hl_cors_write(struct hl_writer *w, const struct hl_cors *cors);

/* Whether a browser asks what it may send, before it sends it. */
bool hl_cors_is_preflight(const struct hl_head *head);

#define HL_CORS_PREFLIGHT_MAX 768
/* The further fields for the answer to that, NUL-terminated. */
void hl_cors_write_preflight(char out[HL_CORS_PREFLIGHT_MAX], const struct hl_head *head);

#endif
