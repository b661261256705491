/* description.h - the description of the interface (api/openapi.json), which is part of the program,
 * and what is answered to a GET of it. It is the same for everybody, holds no secret, and is asked for without a
 * token (contract 2). */
#ifndef HL_ROUTE_DESCRIPTION_H
#define HL_ROUTE_DESCRIPTION_H

#include <stddef.h>

struct hl_answer;
struct hl_str;

#define HL_DESCRIPTION_PATH "/v2/openapi.json"

/* What openapi_embed.cmake makes of the file. */
struct hl_description {
    const unsigned char *bytes;
    size_t n;
    const char *etag;       /* with its quotes */
    const char *etag_field; /* the whole line, with CRLF */
};
extern const struct hl_description hl_description;

/* Fills status, type, body (borrowed, for good), caching and extra_fields: 200, or 304 where
 * `if_none_match`, the field's value or empty, names the present version. */
void hl_description_answer(struct hl_answer *answer, struct hl_str if_none_match);

#endif
