/* representation.h - what goes out of a JSON answer to a GET: nothing where the asker has it, gzip where that is taken,
 * else the text. Control thread. */
#ifndef HL_API_REPRESENTATION_H
#define HL_API_REPRESENTATION_H

#include "base/buf.h"

/* What a request says of it. */
struct hl_taste {
    bool is_read;      /* GET or HEAD: nothing else is answered with less, or compressed */
    bool accepts_gzip; /* rather than the text */
    bool refuses_text; /* then short answers are compressed, too */
    struct hl_str if_none_match; /* empty: not there */
};

#define HL_GZIP_FROM 1024         /* a shorter answer fits a packet as it is */
#define HL_GZIP_MAX  (256 * 1024) /* a longer one would hold up the control thread */

#define HL_REPRESENTATION_FIELDS 128

struct hl_representation {
    bool is_known;      /* 304, without a body */
    bool is_compressed; /* `gzip` is the body, in place of the text */
    struct hl_buf gzip;
    char fields[HL_REPRESENTATION_FIELDS]; /* whole lines with CRLF, or "" */
};

/* Of the text of an answer with status 200. Without memory it goes out as it is. */
void hl_representation_init(
    struct hl_representation *r, struct hl_str json, const struct hl_taste *taste);
void hl_representation_fini(struct hl_representation *r);

struct hl_reply;
/* The same, done to an answer of the REST interface that is JSON of ours (worker/reply.h); any other stays as it is. */
void hl_representation_choose(struct hl_reply *reply, const struct hl_taste *taste);

#endif
