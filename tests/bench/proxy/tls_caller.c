/* tls_caller.c - see tls_caller.h. */
#include "tls_caller.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void fail(const char *what)
{
    fprintf(stderr, "%s\n", what);
    ERR_print_errors_fp(stderr);
    exit(1);
}

SSL_CTX *tls_callers_new(void)
{
    SSL_CTX *callers = SSL_CTX_new(TLS_client_method());
    if (!callers || !SSL_CTX_set_min_proto_version(callers, TLS1_2_VERSION) ||
        !SSL_CTX_set_max_proto_version(callers, TLS1_2_VERSION) ||
        !SSL_CTX_set_cipher_list(callers, "ECDHE-ECDSA-AES128-GCM-SHA256") ||
        !SSL_CTX_set1_groups_list(callers, "X25519:P-256"))
        fail("OpenSSL");
    return callers;
}

void tls_caller_open(struct tls_caller *caller, SSL_CTX *callers, int port, SSL_SESSION *session)
{
    const struct sockaddr_in in = {.sin_family = AF_INET,
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
        .sin_port = htons((uint16_t)port)};
    caller->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(caller->fd, (const struct sockaddr *)&in, sizeof in) != 0)
        fail("a caller cannot connect");
    setsockopt(caller->fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    caller->ssl = SSL_new(callers);
    if (!caller->ssl || !SSL_set_fd(caller->ssl, caller->fd) ||
        (session && !SSL_set_session(caller->ssl, session)) || SSL_connect(caller->ssl) != 1)
        fail("a handshake failed");
    if (session && !SSL_session_reused(caller->ssl))
        fail("a session was not taken up again");
}

void tls_caller_close(struct tls_caller *caller)
{
    SSL_shutdown(caller->ssl); /* else OpenSSL takes the session for one that broke */
    SSL_free(caller->ssl);
    close(caller->fd);
}

void tls_caller_send(struct tls_caller *caller, const void *p, size_t n)
{
    if (SSL_write(caller->ssl, p, (int)n) != (int)n)
        fail("a request cannot be sent");
}

static size_t receive(struct tls_caller *caller, char *p, size_t n)
{
    int got = SSL_read(caller->ssl, p, (int)n);
    if (got <= 0)
        fail("an answer was cut");
    return (size_t)got;
}

uint64_t tls_caller_receive(struct tls_caller *caller)
{
    static char bytes[256 << 10];
    char head[4097], *end = NULL;
    size_t n = 0;
    while (!end) {
        if (n == sizeof head - 1)
            fail("a head without an end");
        n += receive(caller, head + n, sizeof head - 1 - n);
        head[n] = '\0';
        end = strstr(head, "\r\n\r\n");
    }
    const char *length = strcasestr(head, "\r\ncontent-length:");
    if (head[9] != '2' || !length)
        fail(head);
    uint64_t body = strtoull(length + strlen("\r\ncontent-length:"), NULL, 10);
    for (uint64_t left = body - (n - (size_t)(end + 4 - head)); left > 0;)
        left -= receive(caller, bytes, left < sizeof bytes ? left : sizeof bytes);
    return body;
}
