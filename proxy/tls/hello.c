/* hello.c - see hello.h.
 * Promise: what is held grows by no more than the hello itself, and one record, however small its pieces are; each byte
 * is moved twice at most for each time that something comes.
 * Not here: what it says (mbedTLS). */
#include "tls/hello.h"

#include <mbedtls/ssl.h>
#include <string.h>

#include "tls/session.h"

#define MESSAGE_HEAD 4 /* type and length: RFC 5246 7.4 */

/* Of the record at `p`, without its head. */
static size_t content_length(const unsigned char *p)
{
    return hl_tls_record_length(p) - HL_TLS_RECORD_HEAD;
}

/* Of the message that begins at `p`, with its head. */
static size_t message_length(const unsigned char *p)
{
    return MESSAGE_HEAD + (size_t)(p[1] << 16 | p[2] << 8 | p[3]);
}

/* Of a record of which `n` bytes are there. */
static enum hl_tls_hello look(const unsigned char *p, size_t n)
{
    if ((n > 0 && p[0] != MBEDTLS_SSL_MSG_HANDSHAKE) ||
        (n > 1 && p[1] != MBEDTLS_SSL_MAJOR_VERSION_3))
        return HL_TLS_HELLO_WRONG;
    if (n < HL_TLS_RECORD_HEAD)
        return HL_TLS_HELLO_PARTIAL;
    if (content_length(p) == 0 || content_length(p) > MBEDTLS_SSL_IN_CONTENT_LEN)
        return HL_TLS_HELLO_WRONG;
    return n < hl_tls_record_length(p) ? HL_TLS_HELLO_PARTIAL : HL_TLS_HELLO_WHOLE;
}

/* Of the message that the whole record at `p` begins with. */
static enum hl_tls_hello look_inside(const unsigned char *p)
{
    const unsigned char *message = p + HL_TLS_RECORD_HEAD;
    size_t n = content_length(p);
    if (message[0] != MBEDTLS_SSL_HS_CLIENT_HELLO)
        return HL_TLS_HELLO_WRONG;
    if (n < MESSAGE_HEAD)
        return HL_TLS_HELLO_PARTIAL;
    if (message_length(message) > MBEDTLS_SSL_IN_CONTENT_LEN)
        return HL_TLS_HELLO_WRONG;
    return n < message_length(message) ? HL_TLS_HELLO_PARTIAL : HL_TLS_HELLO_WHOLE;
}

/* The content of the record at `p + at` becomes the end of the first one's. False: that is too long. */
static bool append_record(unsigned char *p, size_t at)
{
    size_t first = hl_tls_record_length(p), n = content_length(p + at);
    size_t content = content_length(p) + n;
    if (content > MBEDTLS_SSL_IN_CONTENT_LEN)
        return false;
    memmove(p + first, p + at + HL_TLS_RECORD_HEAD, n);
    p[3] = (unsigned char)(content >> 8);
    p[4] = (unsigned char)content;
    return true;
}

enum hl_tls_hello hl_tls_hello_join(struct hl_buf *held)
{
    unsigned char *p = (unsigned char *)held->p;
    enum hl_tls_hello found = look(p, held->n);
    if (found != HL_TLS_HELLO_WHOLE)
        return found;
    size_t at = hl_tls_record_length(p); /* of the next one */
    while ((found = look_inside(p)) == HL_TLS_HELLO_PARTIAL &&
           (found = look(p + at, held->n - at)) == HL_TLS_HELLO_WHOLE) {
        size_t n = hl_tls_record_length(p + at);
        if (!append_record(p, at))
            return HL_TLS_HELLO_WRONG;
        at += n;
    }
    size_t first = hl_tls_record_length(p);
    memmove(p + first, p + at, held->n - at);
    held->n -= at - first;
    return found;
}
