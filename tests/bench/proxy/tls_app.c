/* tls_app.c - see tls_app.h. One connection after the other: who says nothing for a while, as a look whether the app is
 * there, is left alone. */
#include "tls_app.h"

#include <arpa/inet.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define BACKLOG 1024

static const char answer[] = "HTTP/1.1 200 OK\r\n"
                             "Content-Type: text/event-stream\r\n"
                             "Transfer-Encoding: chunked\r\n"
                             "\r\n"
                             "d\r\ndata: hello\n\n\r\n";

static SSL_CTX *app;
static int listener;

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static void serve(int fd)
{
    const struct timeval patience = {.tv_sec = 2};
    char request[4096];
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    SSL *ssl = SSL_new(app); /* who was answered keeps it, for good */
    if (!ssl || !SSL_set_fd(ssl, fd))
        fail("OpenSSL");
    if (SSL_accept(ssl) == 1 && SSL_read(ssl, request, sizeof request) > 0) {
        SSL_write(ssl, answer, sizeof answer - 1);
        return;
    }
    SSL_free(ssl);
    close(fd);
}

static void *app_main(void *unused)
{
    (void)unused;
    for (;;) {
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0)
            break;
        serve(fd);
    }
    return NULL;
}

void tls_app_start(int port, const char *cert, const char *key)
{
    const struct sockaddr_in in = {.sin_family = AF_INET,
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
        .sin_port = htons((uint16_t)port)};
    pthread_t thread;
    app = SSL_CTX_new(TLS_server_method());
    if (!app || !SSL_CTX_set_max_proto_version(app, TLS1_2_VERSION) ||
        SSL_CTX_use_certificate_file(app, cert, SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_use_PrivateKey_file(app, key, SSL_FILETYPE_PEM) != 1)
        fail("the app's certificate");
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    if (bind(listener, (const struct sockaddr *)&in, sizeof in) != 0 ||
        listen(listener, BACKLOG) != 0 || pthread_create(&thread, NULL, app_main, NULL) != 0)
        fail("the app cannot listen");
}
