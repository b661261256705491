/* message.h - the one reader of HTTP/1.1 messages: bytes in; heads, data, ends and faults out. No
 * sockets, no loop: the three servers and the app's side use it.
 *
 *   hl_message_read_request or _response   until HEAD      (again after a 1xx)
 *   hl_message_read_body                   until END
 *   hl_message_next                        and so on
 *
 * Each takes what it uses off the front of `bytes`. A head is used whole or not at all: until it is
 * there, the same bytes are to be given again with more behind them, wherever they then lie. A head may be
 * read again before anything of its body is. */
#ifndef HL_HTTP_MESSAGE_H
#define HL_HTTP_MESSAGE_H

#include "http/chunked.h"
#include "http/head.h"

struct hl_refusal;

/* What a reader takes, and how it refuses the rest. Outlives the reader. */
struct hl_message_rules {
    size_t max_head;    /* bytes */
    size_t max_trailer; /* bytes of a trailer section */
    /* Neither is NULL. What came can never become a head; a bad body has its status, too. */
    const struct hl_refusal *no_head;
    const struct hl_refusal *head_too_large; /* more than max_head */
};

enum hl_message_event {
    HL_MESSAGE_MORE,  /* nothing is to be had without more bytes */
    HL_MESSAGE_HEAD,  /* a good head: slices of the bytes that it was read from */
    HL_MESSAGE_DATA,  /* the next slice of the body, decoded; never empty */
    HL_MESSAGE_END,   /* the body is over; bytes behind it are not used */
    HL_MESSAGE_FAULT, /* for good: nothing more can be read */
};

struct hl_message_reader {
    const struct hl_message_rules *rules;
    size_t scanned; /* of an incomplete head */
    /* bytes of the last head that was whole, refused or not, and not too large; else 0 */
    size_t head_n;

    /* the present message's body; NONE between messages */
    enum hl_framing framing;
    uint64_t left;                  /* with HL_FRAMING_LENGTH: bytes still to come */
    struct hl_chunk_reader *chunks; /* with HL_FRAMING_CHUNKED; owned */
};

/* No allocation until a chunked body comes: most connections never see one. */
void hl_message_reader_init(struct hl_message_reader *r, const struct hl_message_rules *rules);
/* Leaves it as it was after init. */
void hl_message_reader_fini(struct hl_message_reader *r);

/* MORE, HEAD or FAULT. `head` is scratch for the caller. */
enum hl_message_event hl_message_read_request(struct hl_message_reader *r, struct hl_str *bytes,
    struct hl_head *head, struct hl_refusal *fault);
/* `method` and `is_websocket`: of the request that it answers, see head.h. */
enum hl_message_event hl_message_read_response(struct hl_message_reader *r, struct hl_str *bytes,
    enum hl_method method, bool is_websocket, struct hl_head *head, struct hl_refusal *fault);

/* MORE, DATA, END or FAULT. A body that ends with the connection has no END. */
enum hl_message_event hl_message_read_body(struct hl_message_reader *r, struct hl_str *bytes,
    struct hl_str *data, struct hl_refusal *fault);
/* `n` bytes of a body with a length, no more than are left, were used without being read here. */
static inline void hl_message_pass_over(struct hl_message_reader *r, size_t n)
{
    r->left -= n;
}
/* The trailer lines that may go on, after END; until hl_message_next. */
static inline struct hl_str hl_message_trailer(const struct hl_message_reader *r)
{
    return r->chunks ? hl_buf_str(&r->chunks->trailer) : (struct hl_str){NULL, 0};
}

/* The present message is done with: what is kept of it goes, and a head is next. */
void hl_message_next(struct hl_message_reader *r);

#endif
