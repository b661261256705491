/* strict_http.h - an independent reader of HTTP/1.x messages, for tests: what hookline sends is
 * read again by this, as RFC 9112 says it and not a byte more leniently. It shares no code and no
 * design with proxy/http: it goes line by line, keeps copies of nothing and is in no hurry. */
#ifndef HL_FUZZ_STRICT_HTTP_H
#define HL_FUZZ_STRICT_HTTP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

#define STRICT_MAX_FIELDS 2048 /* as many as the largest input can have */

enum strict_origin {
    STRICT_OURS, /* HTTP/1.1, no chunk extensions, nothing that is only tolerated */
    STRICT_PEER, /* what RFC 9112 lets a recipient take: HTTP/1.0, a higher minor version, empty
                    lines before a request, a status line without its last SP */
};

enum strict_result {
    STRICT_WHOLE,   /* one message, in m->size bytes */
    STRICT_PARTIAL, /* the beginning of one; m->has_head: its head is whole, m->body what is there,
                       m->size all bytes */
    STRICT_BAD,     /* m->why */
};

enum strict_framing {
    STRICT_NONE,
    STRICT_LENGTH,
    STRICT_CHUNKED,
    STRICT_UNTIL_CLOSE,
};

struct strict_field {
    struct hl_str name, value;
};

struct strict_fields {
    size_t n;
    struct strict_field items[STRICT_MAX_FIELDS];
};

/* Slices of the bytes that were read, but for a chunked body. */
struct strict_message {
    struct hl_str method, target; /* requests */
    unsigned status;              /* responses */
    struct hl_str reason;
    unsigned minor;
    struct strict_fields fields;
    bool has_head;
    size_t head_size;

    enum strict_framing framing;
    bool has_length; /* Content-Length is there: `length` */
    uint64_t length;
    struct hl_str body;            /* decoded */
    struct strict_fields trailers; /* of a whole chunked body */
    size_t size;

    const char *why;
    char *decoded; /* owns a chunked body */
};

/* Reads the message that `bytes` begin with. `m` is written whole; end it with strict_fini. */
enum strict_result strict_read_request(
    struct strict_message *m, struct hl_str bytes, enum strict_origin origin);

/* `request_method` and the status decide about a body (RFC 9112 6.3); `is_end`: nothing follows
 * `bytes`. A 101 has no body: what follows is another protocol. */
enum strict_result strict_read_response(struct strict_message *m, struct hl_str bytes, bool is_end,
    struct hl_str request_method, enum strict_origin origin);

void strict_fini(struct strict_message *m);

/* The next field of that name (any case) at or after `*i`, which is then behind it; NULL: none. */
const struct strict_field *strict_next(
    const struct strict_fields *fields, const char *name, size_t *i);
size_t strict_count(const struct strict_fields *fields, const char *name);
/* The first one's value, or the empty string. */
struct hl_str strict_value(const struct strict_fields *fields, const char *name);
/* Whether an element of the comma-separated lists of that name is `element` (any case). */
bool strict_lists(const struct strict_fields *fields, const char *name, struct hl_str element);

#endif
