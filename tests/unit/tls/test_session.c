/* test_session.c - a stream that speaks TLS, with a client of mbedTLS's on a thread as its peer. */
#include "tls/tls.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <mbedtls/net_sockets.h>
#include <mbedtls/ssl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/str.h"
#include "certificates.h"
#include "loop_fixture.h"
#include "tls/identity.h"

#define MUCH (3u << 20)

static struct hl_tls *tls;
static struct hl_tls_seat *seat;
static char directory[] = "/tmp/hl-tls-XXXXXX", cert_path[64], key_path[64];

/* ---- our side ---- */

static struct side {
    struct hl_stream stream;
    size_t received;
    unsigned ended, failed, drained, closed;
    bool is_wrong;
} side;

static char pattern_at(size_t i)
{
    return (char)(i * 31 + i / 251);
}

static void on_event(struct hl_stream *stream, const struct hl_stream_event *event)
{
    (void)stream;
    switch (event->kind) {
    case HL_STREAM_DATA:
        for (size_t i = 0; i < event->n; i++)
            side.is_wrong |= event->p[i] != pattern_at(side.received + i);
        side.received += event->n;
        break;
    case HL_STREAM_EOF:
        side.ended++;
        break;
    case HL_STREAM_FAILED:
        side.failed++;
        break;
    case HL_STREAM_DRAINED:
        side.drained++;
        break;
    case HL_STREAM_CLOSED:
        side.closed++;
        break;
    default:
        cr_assert_fail("an event that nothing here causes");
    }
}

static void write_file(char *path, const char *name, const char *text)
{
    snprintf(path, sizeof(cert_path), "%s/%s", directory, name);
    FILE *f = fopen(path, "w");
    cr_assert_not_null(f);
    fputs(text, f);
    fclose(f);
}

static void begin(void)
{
    char why[512] = "";
    cr_assert_not_null(mkdtemp(directory));
    write_file(cert_path, "cert", expired_certificate);
    write_file(key_path, "key", server_key);
    const struct hl_tls_files files = {
        .cert = cert_path, .cert_option = "CERT", .key = key_path, .key_option = "KEY"};
    cr_assert_eq(hl_tls_open(&tls, &files, NULL, why, sizeof(why)), HL_OK, "%s", why);
    loop_begin();
    seat = hl_tls_seat_new(tls, &loop, &wheel, 10000);
    cr_assert_not_null(seat);
}

static void end(void)
{
    hl_tls_seat_close(seat);
    hl_tls_stop(tls);
    loop_end();
    hl_tls_seat_free(seat);
    hl_tls_free(tls);
    unlink(cert_path);
    unlink(key_path);
    rmdir(directory);
}

TestSuite(tls_session, .init = begin, .fini = end, .timeout = 60);

/* ---- the peer ---- */

static struct peer {
    pthread_t thread;
    int fd;
    mbedtls_ssl_context ssl;
    mbedtls_ssl_config config;
    void (*talk)(struct peer *peer);
    size_t received;
    bool is_wrong, saw_end;
    atomic_bool is_done;
} peer;

static int send_bytes(void *arg, const unsigned char *p, size_t n)
{
    const struct peer *p_ = arg;
    ssize_t sent = send(p_->fd, p, n, MSG_NOSIGNAL);
    return sent < 0 ? MBEDTLS_ERR_NET_SEND_FAILED : (int)sent;
}

static int receive_bytes(void *arg, unsigned char *p, size_t n)
{
    const struct peer *p_ = arg;
    ssize_t got = read(p_->fd, p, n);
    return got < 0 ? MBEDTLS_ERR_NET_RECV_FAILED : (int)got;
}

static void *peer_main(void *arg)
{
    struct peer *p = arg;
    mbedtls_ssl_init(&p->ssl);
    mbedtls_ssl_config_init(&p->config);
    mbedtls_ssl_config_defaults(&p->config, MBEDTLS_SSL_IS_CLIENT, MBEDTLS_SSL_TRANSPORT_STREAM,
        MBEDTLS_SSL_PRESET_DEFAULT);
    mbedtls_ssl_conf_authmode(&p->config, MBEDTLS_SSL_VERIFY_NONE);
    mbedtls_ssl_conf_rng(&p->config, hl_tls_random, NULL);
    mbedtls_ssl_setup(&p->ssl, &p->config);
    mbedtls_ssl_set_bio(&p->ssl, p, send_bytes, receive_bytes, NULL);
    if (mbedtls_ssl_handshake(&p->ssl) == 0)
        p->talk(p);
    mbedtls_ssl_free(&p->ssl);
    mbedtls_ssl_config_free(&p->config);
    close(p->fd);
    atomic_store(&p->is_done, true);
    return NULL;
}

static void peer_send(struct peer *p, size_t n)
{
    static unsigned char bytes[MUCH];
    for (size_t i = 0; i < n; i++)
        bytes[i] = (unsigned char)pattern_at(i);
    for (size_t done = 0; done < n;) {
        int rc = mbedtls_ssl_write(&p->ssl, bytes + done, n - done);
        if (rc <= 0)
            return;
        done += (size_t)rc;
    }
}

static void peer_read_to_end(struct peer *p)
{
    unsigned char bytes[20000];
    int rc;
    while ((rc = mbedtls_ssl_read(&p->ssl, bytes, sizeof(bytes))) > 0) {
        for (int i = 0; i < rc; i++)
            p->is_wrong |= (char)bytes[i] != pattern_at(p->received + (size_t)i);
        p->received += (size_t)rc;
    }
    p->saw_end = rc == MBEDTLS_ERR_SSL_PEER_CLOSE_NOTIFY;
}

static void connect_peer(void (*talk)(struct peer *peer))
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof(a);
    int server = socket(AF_INET, SOCK_STREAM, 0);
    cr_assert_eq(bind(server, (struct sockaddr *)&a, n), 0);
    cr_assert_eq(listen(server, 1), 0);
    cr_assert_eq(getsockname(server, (struct sockaddr *)&a, &n), 0);
    peer.fd = socket(AF_INET, SOCK_STREAM, 0);
    cr_assert_eq(connect(peer.fd, (struct sockaddr *)&a, n), 0);
    int fd = accept4(server, NULL, NULL, SOCK_NONBLOCK);
    close(server);
    cr_assert_eq(hl_stream_init_tcp(&side.stream, &loop, &reader, on_event), 0);
    cr_assert_eq(uv_tcp_open(&side.stream.tcp, fd), 0);
    cr_assert_eq(hl_tls_accept(seat, HL_TLS_CALLERS, &side.stream), HL_OK);
    hl_stream_resume(&side.stream);
    peer.talk = talk;
    cr_assert_eq(pthread_create(&peer.thread, NULL, peer_main, &peer), 0);
}

static void finish(void)
{
    hl_stream_close(&side.stream);
    UNTIL(side.closed == 1 && atomic_load(&peer.is_done));
    pthread_join(peer.thread, NULL);
}

static uint64_t handshakes(void)
{
    return hl_counter_get(&hl_tls_seat_metrics(seat, HL_TLS_CALLERS)->done);
}

/* ---- what comes ---- */

static void send_much_and_end(struct peer *p)
{
    peer_send(p, MUCH);
    mbedtls_ssl_close_notify(&p->ssl);
    peer_read_to_end(p);
}

Test(tls_session, brings_what_the_peer_sent_and_its_end)
{
    connect_peer(send_much_and_end);
    UNTIL(side.ended == 1);
    cr_assert_eq(side.received, MUCH);
    cr_assert_not(side.is_wrong);
    cr_assert_eq(side.failed, 0);
    finish();
    cr_assert(peer.saw_end, "closing an orderly connection says so");
}

static void send_little_and_leave(struct peer *p)
{
    peer_send(p, 1000);
}

Test(tls_session, takes_an_end_without_close_notify_for_a_cut)
{
    connect_peer(send_little_and_leave);
    UNTIL(side.failed == 1);
    cr_assert_eq(side.received, 1000);
    cr_assert_eq(side.ended, 0);
    finish();
}

Test(tls_session, tells_a_paused_owner_of_the_end_when_it_reads_on)
{
    connect_peer(send_much_and_end);
    UNTIL(side.received > 0);
    hl_stream_pause(&side.stream);
    size_t received = side.received;
    loop_turns(20);
    cr_assert_eq(side.received, received, "nothing comes meanwhile");
    cr_assert_eq(side.ended, 0);
    hl_stream_resume(&side.stream);
    UNTIL(side.ended == 1);
    cr_assert_eq(side.received, MUCH);
    finish();
}

/* ---- what goes ---- */

static void read_all(struct peer *p)
{
    peer_read_to_end(p);
}

static char *make_pattern(size_t n)
{
    char *p = malloc(n);
    for (size_t i = 0; i < n; i++)
        p[i] = pattern_at(i);
    return p;
}

Test(tls_session, writes_of_any_size_arrive_and_end_with_close_notify)
{
    char *bytes = make_pattern(MUCH);
    connect_peer(read_all);
    UNTIL(handshakes() == 1);
    cr_assert_eq(hl_stream_write(&side.stream, bytes, 1), HL_OK);
    cr_assert_eq(hl_stream_write2(&side.stream, (struct hl_str){bytes + 1, 100},
                     (struct hl_str){bytes + 101, 200}),
        HL_OK);
    cr_assert_eq(hl_stream_write(&side.stream, bytes + 301, MUCH - 301), HL_OK);
    hl_stream_shutdown(&side.stream);
    cr_assert_eq(hl_stream_write(&side.stream, bytes, 1), HL_ERR_IO, "nothing follows the end");
    UNTIL(atomic_load(&peer.is_done));
    cr_assert_eq(peer.received, MUCH);
    cr_assert_not(peer.is_wrong);
    cr_assert(peer.saw_end);
    finish();
    free(bytes);
}

Test(tls_session, a_reset_is_no_end)
{
    connect_peer(read_all);
    UNTIL(handshakes() == 1);
    hl_stream_close_reset(&side.stream);
    UNTIL(side.closed == 1 && atomic_load(&peer.is_done));
    pthread_join(peer.thread, NULL);
    cr_assert_not(peer.saw_end);
}

/* ---- handshakes ---- */

Test(tls_session, may_be_closed_while_a_thread_has_its_handshake)
{
    for (int i = 0; i < 20; i++) {
        memset(&side, 0, sizeof(side));
        memset(&peer, 0, sizeof(peer));
        connect_peer(read_all);
        loop_turns((unsigned)i % 4);
        finish();
    }
}
