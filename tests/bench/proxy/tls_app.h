/* tls_app.h - an app that speaks TLS by OpenSSL, on a thread of its own: it answers each request with the beginning of
 * an event stream, and never ends one. */
#ifndef BENCH_TLS_APP_H
#define BENCH_TLS_APP_H

/* Both files are PEM. Ends the program when they cannot be used. */
void tls_app_start(int port, const char *cert, const char *key);

#endif
