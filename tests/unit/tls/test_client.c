/* test_client.c - a stream that speaks TLS as a client, with one of ours as its server: whose certificate it takes,
 * what it says of others, and sessions that are taken up again. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "certificates.h"
#include "loop_fixture.h"
#include "tls/tls.h"

/* Which has issued app_certificate. */
static const char ca_cert[] = "-----BEGIN CERTIFICATE-----\n"
                              "MIIBcDCCARegAwIBAgIUddWe75LYX48hSfvkx0FgWlEHMK8wCgYIKoZIzj0EAwIw\n"
                              "DTELMAkGA1UEAwwCY2EwIBcNMjYxMTI3MTIzNDEzWhgPMjEyNjExMDMxMjM0MTNa\n"
                              "MA0xCzAJBgNVBAMMAmNhMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEtbDHVdPA\n"
                              "CdHyM+DAemSKffbD96sLO0Q4nhOe3xF4Uuw1W3Ct8SG0UaLx93+tiMP/R7QZFhFv\n"
                              "97KcFYq9SmK/S6NTMFEwHQYDVR0OBBYEFNrfpqgcxbNFz8CsV/NtN6629B9PMB8G\n"
                              "A1UdIwQYMBaAFNrfpqgcxbNFz8CsV/NtN6629B9PMA8GA1UdEwEB/wQFMAMBAf8w\n"
                              "CgYIKoZIzj0EAwIDRwAwRAIgK6WfYglZPjT4dIGalvTl290AFKmdxH1yL5FHP0sn\n"
                              "To0CIGF9ervxvG+f58aF3dyL3d8ArFVwbPmMBH1Y6Q/9Looi\n"
                              "-----END CERTIFICATE-----\n";

/* Which has issued nothing. */
static const char strange_ca[] =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIBfTCCASOgAwIBAgIUU3pBaa2tCbbjeInAtYc/39ghbMMwCgYIKoZIzj0EAwIw\n"
    "EzERMA8GA1UEAwwIc3RyYW5nZXIwIBcNMjYxMTI3MTIzNDEzWhgPMjEyNjExMDMx\n"
    "MjM0MTNaMBMxETAPBgNVBAMMCHN0cmFuZ2VyMFkwEwYHKoZIzj0CAQYIKoZIzj0D\n"
    "AQcDQgAECryJ4K6hufDIn3Q1ai5P/dZeDN5jL9BhhqwHGjBndYXCqSzOQp7srEkE\n"
    "vPa6FFr7MdInfot8evVRK70ktvdNyKNTMFEwHQYDVR0OBBYEFNQpqCeOK3G/nLpX\n"
    "nEzEb7VkmmudMB8GA1UdIwQYMBaAFNQpqCeOK3G/nLpXnEzEb7VkmmudMA8GA1Ud\n"
    "EwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDSAAwRQIgIoLFFzzVCoyJBeKf3iVjvBor\n"
    "l0Y0sMPM3HcJxIf1aVECIQCtKsA8NYZ/gbzXox07NNPAXg3qv8/W6LXEW13/bjhW\n"
    "1w==\n"
    "-----END CERTIFICATE-----\n";

static struct hl_tls *tls;
static struct hl_tls_seat *seat;
static char directory[] = "/tmp/hl-tls-XXXXXX", cert[64], key[64], ca[64];
static int listener = -1;
static struct sockaddr_in address;

static struct side {
    struct hl_stream stream;
    char bytes[64];
    size_t n;
    unsigned connected, ended, failed, closed;
    int error; /* of connected */
} client, server;

static void on_event(struct hl_stream *stream, const struct hl_stream_event *event)
{
    struct side *side = HL_CONTAINER_OF(stream, struct side, stream);
    switch (event->kind) {
    case HL_STREAM_CONNECTED:
        side->connected++;
        side->error = event->error;
        break;
    case HL_STREAM_DATA:
        cr_assert_leq(event->n, sizeof(side->bytes) - side->n);
        memcpy(side->bytes + side->n, event->p, event->n);
        side->n += event->n;
        break;
    case HL_STREAM_EOF:
        side->ended++;
        break;
    case HL_STREAM_FAILED:
        side->failed++;
        break;
    case HL_STREAM_CLOSED:
        side->closed++;
        break;
    default:
        break;
    }
}

static void write_file(char *path, const char *name, const char *text)
{
    snprintf(path, sizeof(cert), "%s/%s", directory, name);
    FILE *f = fopen(path, "w");
    cr_assert_not_null(f);
    fputs(text, f);
    fclose(f);
}

static void begin_trusting(const char *authorities)
{
    char why[512] = "";
    socklen_t n = sizeof(address);
    cr_assert_not_null(mkdtemp(directory));
    write_file(cert, "cert", app_certificate);
    write_file(key, "key", server_key);
    write_file(ca, "ca", authorities);
    const struct hl_tls_files own = {
        .cert = cert, .cert_option = "CERT", .key = key, .key_option = "KEY"};
    const struct hl_tls_files app = {.is_client = true, .ca = ca, .ca_option = "CA"};
    cr_assert_eq(hl_tls_open(&tls, &own, &app, why, sizeof(why)), HL_OK, "%s", why);
    loop_begin();
    seat = hl_tls_seat_new(tls, &loop, &wheel, 10000);
    cr_assert_not_null(seat);
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    address =
        (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    cr_assert_eq(bind(listener, (struct sockaddr *)&address, n), 0);
    cr_assert_eq(listen(listener, 8), 0);
    cr_assert_eq(getsockname(listener, (struct sockaddr *)&address, &n), 0);
}

static void begin(void)
{
    begin_trusting(ca_cert);
}

static void end(void)
{
    close(listener);
    hl_tls_seat_close(seat);
    hl_tls_stop(tls);
    loop_end();
    hl_tls_seat_free(seat);
    hl_tls_free(tls);
    unlink(cert);
    unlink(key);
    unlink(ca);
    rmdir(directory);
}

TestSuite(tls_client, .init = begin, .fini = end, .timeout = 60);

static void begin_client_of(struct hl_tls_seat *from, enum hl_tls_use use, const char *host)
{
    memset(&client, 0, sizeof(client));
    cr_assert_eq(hl_stream_init_tcp(&client.stream, &loop, &reader, on_event), 0);
    cr_assert_eq(hl_tls_connect(from, use, &client.stream, host), HL_OK);
    cr_assert_eq(hl_stream_connect_tcp(&client.stream, (struct sockaddr *)&address), 0);
}

static void begin_client(const char *host)
{
    begin_client_of(seat, HL_TLS_APP, host);
}

static int accept_one(void)
{
    int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    cr_assert_geq(fd, 0);
    return fd;
}

/* The client has begun: until it is connected, or not. */
static void serve(struct hl_tls_seat *to)
{
    memset(&server, 0, sizeof(server));
    cr_assert_eq(hl_stream_init_tcp(&server.stream, &loop, &reader, on_event), 0);
    cr_assert_eq(uv_tcp_open(&server.stream.tcp, accept_one()), 0);
    cr_assert_eq(hl_tls_accept(to, HL_TLS_CALLERS, &server.stream), HL_OK);
    hl_stream_resume(&server.stream);
    UNTIL(client.connected == 1);
}

static void shake_hands(const char *host)
{
    begin_client(host);
    serve(seat);
}

static void close_both(void)
{
    hl_stream_close(&client.stream);
    hl_stream_close(&server.stream);
    UNTIL(client.closed == 1 && server.closed == 1);
}

static uint64_t count(const struct hl_counter *counter)
{
    return hl_counter_get(counter);
}

static void talk(void)
{
    hl_stream_resume(&client.stream);
    cr_assert_eq(hl_stream_write(&client.stream, "ask", 3), HL_OK);
    UNTIL(server.n == 3);
    cr_assert_eq(hl_stream_write(&server.stream, "answer", 6), HL_OK);
    UNTIL(client.n == 6);
    cr_assert_arr_eq(client.bytes, "answer", 6);
}

Test(tls_client, talks_both_ways_and_to_an_end_that_is_said)
{
    shake_hands("app.test");
    cr_assert_eq(client.error, 0, "%s", hl_tls_error_text(client.error));
    talk();
    hl_stream_shutdown(&server.stream);
    UNTIL(client.ended == 1);
    cr_assert_eq(client.failed, 0);
    close_both();
}

Test(tls_client, takes_an_end_without_close_notify_for_a_cut)
{
    shake_hands("127.0.0.1");
    cr_assert_eq(client.error, 0, "%s", hl_tls_error_text(client.error));
    hl_stream_resume(&client.stream);
    hl_stream_close_reset(&server.stream);
    UNTIL(client.failed == 1);
    cr_assert_eq(client.ended, 0);
    close_both();
}

Test(tls_client, takes_up_a_session_again_at_the_place_that_gave_it)
{
    const struct hl_tls_metrics *m = hl_tls_seat_metrics(seat, HL_TLS_APP);
    for (unsigned i = 0; i < 3; i++) {
        shake_hands("app.test");
        cr_assert_eq(client.error, 0);
        cr_assert_eq(count(&m->done), i + 1);
        cr_assert_eq(count(&m->resumed), i);
        talk(); /* before the first answer a server has given its session in any version */
        close_both();
    }
    cr_assert_eq(count(&m->failed), 0);
}

Test(tls_client, says_that_a_certificate_is_for_another_host)
{
    static const char *const others[] = {"other.test", "127.0.0.2", "::1", "x.app.test"};
    for (size_t i = 0; i < HL_ARRAY_LEN(others); i++) {
        shake_hands(others[i]);
        cr_assert_eq(
            client.error, HL_TLS_FAULT_NAME, "%s: %s", others[i], hl_tls_error_text(client.error));
        close_both();
    }
    cr_assert_eq(count(&hl_tls_seat_metrics(seat, HL_TLS_APP)->failed), HL_ARRAY_LEN(others));
}

static void begin_with_strangers(void)
{
    begin_trusting(strange_ca);
}

TestSuite(tls_client_of_others, .init = begin_with_strangers, .fini = end, .timeout = 60);

Test(tls_client_of_others, says_that_a_certificate_is_of_a_strange_ca)
{
    shake_hands("app.test");
    cr_assert_eq(client.error, HL_TLS_FAULT_UNTRUSTED, "%s", hl_tls_error_text(client.error));
    close_both();
}

static void close_client(void)
{
    hl_stream_close(&client.stream);
    UNTIL(client.closed == 1);
}

Test(tls_client, says_that_a_server_speaks_no_tls)
{
    static const char answer[] = "HTTP/1.1 400 Bad Request\r\n\r\n";
    begin_client("app.test");
    int fd = accept_one();
    cr_assert_eq(write(fd, answer, sizeof(answer) - 1), (ssize_t)sizeof(answer) - 1);
    UNTIL(client.connected == 1);
    cr_assert_eq(client.error, HL_TLS_FAULT_PLAIN);
    close_client();
    close(fd);
}

Test(tls_client, says_that_a_server_left_before_hands_were_shaken)
{
    begin_client("app.test");
    int fd = accept_one();
    shutdown(fd, SHUT_WR);
    UNTIL(client.connected == 1);
    cr_assert_eq(client.error, HL_TLS_FAULT_LEFT);
    close_client();
    close(fd);
}

Test(tls_client, says_that_nobody_listens)
{
    close(listener);
    begin_client("app.test");
    UNTIL(client.connected == 1);
    cr_assert_eq(client.error, UV_ECONNREFUSED);
    close_client();
    cr_assert_eq(count(&hl_tls_seat_metrics(seat, HL_TLS_APP)->failed), 0);
}

Test(tls_client, may_be_closed_at_any_step)
{
    for (unsigned i = 0; i < 20; i++) {
        begin_client("app.test");
        memset(&server, 0, sizeof(server));
        cr_assert_eq(hl_stream_init_tcp(&server.stream, &loop, &reader, on_event), 0);
        cr_assert_eq(uv_tcp_open(&server.stream.tcp, accept_one()), 0);
        cr_assert_eq(hl_tls_accept(seat, HL_TLS_CALLERS, &server.stream), HL_OK);
        hl_stream_resume(&server.stream);
        loop_turns(i % 6);
        close_both();
    }
}

/* ---- replicas ---- */

static void ask_replica(struct hl_tls_seat *from, struct hl_tls_seat *to)
{
    begin_client_of(from, HL_TLS_REPLICAS, NULL);
    serve(to);
}

/* A certificate for other names, of nobody who is trusted: of the same key. */
static void renew_certificate(void)
{
    int64_t before = hl_tls_expires_s(tls);
    write_file(cert, "cert", expired_certificate);
    UNTIL(hl_tls_expires_s(tls) != before);
}

Test(tls_client, takes_of_a_replica_its_own_certificate_alone_or_the_one_before)
{
    struct hl_tls *other;
    char why[512] = "", kept[64];
    write_file(kept, "kept", app_certificate);
    const struct hl_tls_files files = {.cert = kept,
        .cert_option = "CERT",
        .key = key,
        .key_option = "KEY",
        .ca = ca,
        .ca_option = "CA"};
    cr_assert_eq(hl_tls_open(&other, &files, NULL, why, sizeof(why)), HL_OK, "%s", why);
    struct hl_tls_seat *others = hl_tls_seat_new(other, &loop, &wheel, 10000);
    ask_replica(seat, others);
    cr_assert_eq(client.error, 0, "%s", hl_tls_error_text(client.error));
    UNTIL(hl_tls_is_twin(&server.stream));
    close_both();

    renew_certificate();
    ask_replica(seat, others);
    cr_assert_eq(client.error, 0, "%s", hl_tls_error_text(client.error));
    close_both();
    ask_replica(others, seat);
    cr_assert_eq(client.error, HL_TLS_FAULT_UNTRUSTED, "it does not know the new one yet");
    close_both();

    hl_tls_seat_close(others);
    loop_turns(2);
    hl_tls_stop(other);
    hl_tls_seat_free(others);
    hl_tls_free(other);
    unlink(kept);
}
