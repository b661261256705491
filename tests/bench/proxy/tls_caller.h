/* tls_caller.h - a caller that speaks TLS 1.2 by OpenSSL: one socket that it waits for. Whatever goes wrong ends the
 * program with a message. */
#ifndef BENCH_TLS_CALLER_H
#define BENCH_TLS_CALLER_H

#include <openssl/ssl.h>
#include <stdint.h>

struct tls_caller {
    int fd;
    SSL *ssl;
};

/* Never NULL. One suite, and the curve that all proxies prefer, so that the same work is compared (P-256 is the
 * certificate's). */
SSL_CTX *tls_callers_new(void);

/* Shakes hands; with a session (NULL: none), which has to be taken up. */
void tls_caller_open(struct tls_caller *caller, SSL_CTX *callers, int port, SSL_SESSION *session);
void tls_caller_close(struct tls_caller *caller);

void tls_caller_send(struct tls_caller *caller, const void *p, size_t n);
/* A whole answer, which has to be 2xx with a Content-Length; returns that. */
uint64_t tls_caller_receive(struct tls_caller *caller);

#endif
