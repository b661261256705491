/* hello.h - a client's hello, which may come in several records (RFC 5246 6.2.1), made one: mbedTLS 2.28
 * takes it in one alone. */
#ifndef HL_TLS_HELLO_H
#define HL_TLS_HELLO_H

#include "base/buf.h"

enum hl_tls_hello {
    HL_TLS_HELLO_PARTIAL, /* more has to come */
    HL_TLS_HELLO_WHOLE,   /* it is the first record */
    HL_TLS_HELLO_WRONG,   /* nothing of what may follow could make it right */
};

/* `held`: all that came; it begins like a record of a handshake. Joins what is there. */
enum hl_tls_hello hl_tls_hello_join(struct hl_buf *held);

#endif
