/* stranger.c - peers that speak another protocol than their port: TLS, HTTP/2 or the PROXY protocol to a port of
 * plain HTTP/1.1, plain HTTP to one of TLS.
 * Owns: those of this hour. Thread: the worker's.
 * Promise: one line at info for each peer and protocol in an hour, however often it tries; each try is in a
 * line of its own or in a count; memory is bounded.
 * Not here: what they are answered (http/refusal.c). */
#include "caller/stranger.h"

#include <string.h>

#include "base/compiler.h"
#include "base/log.h"

#define HOUR_MS (60 * 60 * 1000)

/* The first bytes of an HTTP/2 connection (RFC 9113 3.4), as far as they look like a head. */
static const struct hl_str preface = {"PRI * HTTP/2.0\r\n", 16};

/* HAProxy's PROXY protocol, what load balancers put before a connection's own bytes: of version 1 the beginning of its
 * line, of version 2 its signature, with and without the empty lines that a request may have before it. */
static const struct hl_str proxy_lines[] = {
    {"PROXY TCP", 9}, {"PROXY UNKNOWN", 13}, {"\r\n\r\n\0\r\nQUIT\n", 12}, {"\0\r\nQUIT\n", 8}};

enum hl_refusal_cause hl_stranger_find(struct hl_str bytes)
{
    /* A record of a handshake, of any version that there is (RFC 8446 5.1). */
    if (bytes.n >= 3 && bytes.p[0] == 0x16 && bytes.p[1] == 0x03 && (unsigned char)bytes.p[2] <= 4)
        return HL_REFUSAL_TLS_HANDSHAKE;
    if (hl_str_starts_with(bytes, preface))
        return HL_REFUSAL_HTTP2_PREFACE;
    for (size_t i = 0; i < HL_ARRAY_LEN(proxy_lines); i++)
        if (hl_str_starts_with(bytes, proxy_lines[i]))
            return HL_REFUSAL_PROXY_PROTOCOL;
    return HL_REFUSAL_NONE;
}

static const char *name_of(enum hl_refusal_cause cause)
{
    if (cause == HL_REFUSAL_TLS_HANDSHAKE)
        return "TLS";
    if (cause == HL_REFUSAL_PROXY_PROTOCOL)
        return "PROXY protocol";
    return cause == HL_REFUSAL_HTTP2_PREFACE ? "HTTP/2" : "HTTP in plain text";
}

static void say(const char *peer, enum hl_refusal_cause cause, uint64_t left_out)
{
    struct hl_log_field fields[4];
    size_t n = 0;
    fields[n++] = HL_LOG_TEXT("client", peer);
    fields[n++] = HL_LOG_TEXT("protocol", name_of(cause));
    if (left_out > 0)
        fields[n++] = HL_LOG_INT("left_out", left_out);
    fields[n] = (struct hl_log_field){.name = NULL};
    hl_log_write(HL_LOG_INFO, "a peer speaks another protocol than its port", fields);
}

static void say_counts(struct hl_strangers *strangers)
{
    bool is_said = hl_log_is_on(HL_LOG_INFO);
    for (size_t i = 0; i < strangers->n && is_said; i++)
        if (strangers->known[i].left_out > 0)
            say(strangers->known[i].peer, strangers->known[i].cause, strangers->known[i].left_out);
    if (strangers->left_out > 0)
        HL_LOG(INFO, "more peers speak another protocol than their port",
            HL_LOG_INT("left_out", strangers->left_out));
    strangers->n = 0;
    strangers->left_out = 0;
}

static void on_hour(struct hl_timer *timer)
{
    say_counts(HL_CONTAINER_OF(timer, struct hl_strangers, timer));
}

void hl_strangers_init(struct hl_strangers *strangers, struct hl_wheel *wheel)
{
    strangers->wheel = wheel;
    strangers->n = 0;
    strangers->left_out = 0;
    hl_timer_init(&strangers->timer, on_hour);
}

void hl_strangers_fini(struct hl_strangers *strangers)
{
    say_counts(strangers);
    hl_timer_fini(strangers->wheel, &strangers->timer);
}

void hl_strangers_note(
    struct hl_strangers *strangers, const char *peer, enum hl_refusal_cause cause)
{
    for (size_t i = 0; i < strangers->n; i++) {
        struct hl_stranger *known = &strangers->known[i];
        if (known->cause == cause && strcmp(known->peer, peer) == 0) {
            known->left_out++;
            return;
        }
    }
    if (strangers->n == HL_STRANGERS) {
        strangers->left_out++;
        return;
    }
    struct hl_stranger *one = &strangers->known[strangers->n++];
    *one = (struct hl_stranger){.cause = cause};
    hl_str_put(one->peer, sizeof(one->peer), peer);
    if (!hl_timer_is_armed(&strangers->timer))
        hl_timer_arm(strangers->wheel, &strangers->timer, HOUR_MS);
    if (hl_log_is_on(HL_LOG_INFO))
        say(peer, cause, 0);
}
