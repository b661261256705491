/* chunked.h - the chunked transfer coding, both ways (RFC 9112 7.1). llhttp reads sizes and data; our
 * pass over the bytes between the data is strict: exact CRLFs, sizes of at most 15 hex digits,
 * extensions are read and dropped within a limit, trailer lines are fields. Framing that goes on is
 * always ours. */
#ifndef HL_HTTP_CHUNKED_H
#define HL_HTTP_CHUNKED_H

#include "base/buf.h"
#include "http/parser.h"
#include "http/refusal.h"

struct hl_str;

enum hl_chunk_event {
    HL_CHUNK_MORE, /* all input consumed, body not ended */
    /* `data` is the next slice of body bytes: a whole chunk, or the part of it that is here. */
    HL_CHUNK_DATA,
    HL_CHUNK_END, /* last chunk and trailer section read; bytes after it are not consumed */
    HL_CHUNK_BAD,
};

struct hl_chunk_reader {
    struct hl_parser parser;
    uint8_t state;
    uint8_t digits;
    uint32_t extension;          /* bytes of extensions seen in the whole body; capped */
    uint64_t left;               /* bytes of the present chunk still to come */
    struct hl_buf trailer;       /* trailer lines with their CRLFs, for passing on */
    struct hl_buf line;          /* a trailer line that is not complete */
    size_t trailer_left;         /* of max_trailer */
    bool drops_trailer;          /* no line of it is passed on; set after init */
    enum hl_refusal_cause fault; /* after HL_CHUNK_BAD */
};

/* `after_head` has read the head before the body, and is copied. No allocation until trailers come.
 * `max_trailer` bounds the whole section, dropped lines and the final empty line (2 bytes) too. */
void hl_chunk_reader_init(
    struct hl_chunk_reader *r, const struct hl_parser *after_head, size_t max_trailer);
/* Leaves it empty and usable. */
void hl_chunk_reader_fini(struct hl_chunk_reader *r);

/* Reads from *p (advanced, *n reduced) up to the next event. Trailer fields that may not be passed
 * on (framing, routing, ours) are dropped; malformed ones are BAD. */
enum hl_chunk_event hl_chunk_read(
    struct hl_chunk_reader *r, const char **p, size_t *n, struct hl_str *data);

#define HL_CHUNK_HEAD_MAX 18 /* 16 hex digits and CRLF */
/* "<hex>\r\n", returns its length. */
size_t hl_chunk_head_write(char out[HL_CHUNK_HEAD_MAX], uint64_t size);

#endif
