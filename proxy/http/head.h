/* head.h - a message's head: where its lines are, what they say, how its body is framed.
 *
 * A head is parsed when all of it is there, in one contiguous run of bytes, once: llhttp finds its
 * fields and its end (http/parser.h), our own pass over them refuses whatever is ambiguous, and both
 * must see the same framing. Everything in struct hl_head is a slice of the parsed bytes: valid as
 * long as they are. */
#ifndef HL_HTTP_HEAD_H
#define HL_HTTP_HEAD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "http/field.h"

struct hl_refusal;

#define HL_HEAD_MAX_FIELDS 1024 /* more: 431, of the app 502 */

enum hl_framing {
    HL_FRAMING_NONE,        /* no body */
    HL_FRAMING_LENGTH,      /* content_length bytes; 0 too, when the field says so */
    HL_FRAMING_CHUNKED,     /* RFC 9112 7.1 */
    HL_FRAMING_UNTIL_CLOSE, /* responses only: RFC 9112 6.3, rule 8 */
};

enum hl_method {
    HL_METHOD_OTHER,
    HL_METHOD_GET,
    HL_METHOD_HEAD,
    HL_METHOD_POST,
    HL_METHOD_PUT,
    HL_METHOD_DELETE,
    HL_METHOD_OPTIONS,
    HL_METHOD_PATCH,
    HL_METHOD_CONNECT,
    HL_METHOD_TRACE,
};

struct hl_head {
    struct hl_str method, target; /* requests */
    enum hl_method method_id;
    uint16_t status;      /* responses */
    struct hl_str reason; /* responses; may be empty */
    uint8_t minor;        /* HTTP/1.minor: 0 or 1; a higher 1.x reads as 1 */

    enum hl_framing framing;
    /* With HL_FRAMING_LENGTH; on a response to HEAD or a 304, what the field said. */
    uint64_t content_length;
    bool has_content_length; /* the field was there and valid */
    bool is_persistent;    /* the connection may be used again after this message (RFC 9112 9.3) */
    bool expects_continue; /* requests, HTTP/1.1: Expect: 100-continue */
    /* GET, HTTP/1.1, Connection: upgrade, Upgrade: websocket; response: 101 with it. */
    bool is_websocket_upgrade;
    bool wants_websocket;  /* a 426 that asks for one */
    bool accepts_trailers; /* TE: trailers */
    /* Connection names fields of this connection: none of the trailer section goes on, for they may
     * be there (RFC 9110 7.6.1). */
    bool nominates_fields;
    /* OPTIONS requests: how many may still pass it on (RFC 9110 7.6.2), at most UINT32_MAX; -1: as
     * many as like. */
    int64_t max_forwards;
    /* Requests: the one valid Host; an absolute-form target's authority wins (RFC 9112 3.2.2);
     * empty only for HTTP/1.0 without Host. */
    struct hl_str host;

    uint64_t repeated; /* bit 1 << id: there is more than one field of that name */
    size_t field_count;
    struct hl_field fields[HL_HEAD_MAX_FIELDS]; /* in order of arrival */
    int16_t first[HL_FIELD_ID_COUNT];           /* index of the first field with that name, or -1 */
};

/* Parses a complete head of `n` bytes. False: `*fault` says why (of a response, with status 502);
 * `head` is then unspecified. Refused: everything in RFC 9112 that is ambiguous or forbidden (see
 * tests/unit/http). */
HL_MUST_CHECK bool hl_head_parse_request(
    struct hl_head *head, const char *p, size_t n, struct hl_refusal *fault);

/* `request_method` decides with the status whether a body follows (RFC 9112 6.3).
 * `is_websocket_request`: a 101 is expected. An unsolicited 101 is a fault. 1xx heads have framing
 * NONE. */
HL_MUST_CHECK bool hl_head_parse_response(struct hl_head *head, const char *p, size_t n,
    enum hl_method request_method, bool is_websocket_request, struct hl_refusal *fault);

/* ---- for message.c: heads that more may follow, or of which not all is there ---- */

struct hl_parser;

/* The good head that p[0..n) begins with; `*len` is its length. False: there is none, or not all of it
 * yet. `parser` may go on with a chunked body. */
HL_MUST_CHECK bool hl_head_take_request(
    struct hl_head *head, struct hl_parser *parser, const char *p, size_t n, size_t *len);
HL_MUST_CHECK bool hl_head_take_response(struct hl_head *head, struct hl_parser *parser,
    const char *p, size_t n, enum hl_method request_method, bool is_websocket_request, size_t *len);

/* Why the whole head p[0..n) was not taken: of all its faults the first one, in the order start line,
 * fields, what they say together. */
void hl_head_explain_request(
    struct hl_head *head, const char *p, size_t n, struct hl_refusal *fault);
void hl_head_explain_response(struct hl_head *head, const char *p, size_t n,
    enum hl_method request_method, bool is_websocket_request, struct hl_refusal *fault);

enum hl_head_end {
    HL_HEAD_END_MISSING, /* not all there yet */
    HL_HEAD_END_FOUND,
    HL_HEAD_END_BAD, /* can never become a head: bare LF, first byte that begins no start line */
};

/* Looks for the empty line that ends a head which was not taken. `*scanned` (0 at first) keeps how far
 * earlier calls came, so that a head that arrives byte by byte costs linear time. Empty lines before a
 * start line are part of the head (RFC 9112 2.2: a few are tolerated on requests). FOUND: `*head_len`
 * includes the final empty line. */
enum hl_head_end hl_head_find_end(const char *p, size_t n, size_t *scanned, size_t *head_len);

/* The first field of that name, or NULL. */
static inline const struct hl_field *hl_head_field(const struct hl_head *head, enum hl_field_id id)
{
    return head->first[id] < 0 ? NULL : &head->fields[head->first[id]];
}

/* The same of a name that has no id, in any case of its letters. */
const struct hl_field *hl_head_find(const struct hl_head *head, struct hl_str name);

/* How many fields of that name there are. */
static inline size_t hl_head_field_count(const struct hl_head *head, enum hl_field_id id)
{
    if (!(head->repeated >> id & 1))
        return head->first[id] >= 0;
    size_t count = 0;
    for (size_t i = 0; i < head->field_count; i++)
        count += head->fields[i].id == id;
    return count;
}

/* Methods are case-sensitive (RFC 9110 9.1). */
enum hl_method hl_method_lookup(struct hl_str name);
/* The method that a request begins with, of which this is there, whole or not, good or not. */
enum hl_method hl_head_peek_method(struct hl_str bytes);
/* RFC 9110 9.2.2. */
bool hl_method_is_idempotent(enum hl_method method);

#endif
