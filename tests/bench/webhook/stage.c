/* stage.c - see stage.h. */
#include "stage.h"

#include <mbedtls/md.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#define X50        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
#define WAIT_MS    5 /* a turn's: others' flags are looked at as often */
#define CALL_MAX   1024
#define SENT_FIELD "{\"t\":"

static void add_caller(struct stage *s);
static void on_call(struct wire_conn *c);
static void on_answer(struct wire_conn *c);
static void on_lost_caller(struct wire_conn *c);
static void on_webhook(struct wire_conn *c);
static void on_lost_sender(struct wire_conn *c);

static const struct wire_side app = {on_call, NULL}, caller = {on_answer, on_lost_caller},
                              receiver = {on_webhook, on_lost_sender};

struct stage *stage_new(int app_port, int receiver_port, int hookline_port, int callers)
{
    struct stage *s = calloc(1, sizeof *s);
    if (s) {
        s->owed = calloc(STAGE_DELAYS, sizeof *s->owed);
        s->delays_us = calloc(STAGE_DELAYS, sizeof *s->delays_us);
    }
    if (!s || !s->owed || !s->delays_us || (s->wire.epoll = epoll_create1(EPOLL_CLOEXEC)) < 0) {
        perror("the bench cannot begin");
        exit(1);
    }
    s->hookline_port = hookline_port;
    s->receiver_port = receiver_port;
    wire_listen(&s->wire, app_port, &app, s);
    wire_listen(&s->wire, receiver_port, &receiver, s);
    for (int i = 0; i < callers; i++)
        add_caller(s);
    return s;
}

bool stage_call(struct stage *s, const char *scheme, int port)
{
    char text[CALL_MAX];
    struct wire_conn *c = s->idle;
    if (!c)
        return false;
    s->idle = c->next;
    int n = snprintf(text, sizeof text,
        "POST /v4/p/a/run?webhookEndpoint=%s%%3A%%2F%%2F127.0.0.1%%3A%d%%2Fhook HTTP/1.1\r\n"
        "Host: 127.0.0.1:8080\r\n"
        "User-Agent: bench/1\r\n"
        "X-Webhook-Secret: " STAGE_SECRET "\r\n"
        "Content-Type: application/json\r\n"
        "Content-Length: 100\r\n"
        "\r\n" X50 X50,
        scheme, port);
    s->called++;
    wire_send(c, text, (size_t)n);
    return true;
}

static void on_call(struct wire_conn *c)
{
    char text[CALL_MAX], body[CALL_MAX];
    int n = snprintf(body, sizeof body, SENT_FIELD "%llu,\"x\":\"" X50 X50 X50 "\"}",
        (unsigned long long)wire_now_us());
    n = snprintf(text, sizeof text,
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", n,
        body);
    wire_send(c, text, (size_t)n);
}

static void on_answer(struct wire_conn *c)
{
    struct stage *s = c->self;
    if (strncmp(c->in + sizeof "HTTP/1.1", "200", 3) == 0)
        s->answered++;
    else if (s->refused++ == 0)
        fprintf(stderr, "an answer that is not 200:\n%s\n", c->in);
    c->next = s->idle;
    s->idle = c;
}

static void add_caller(struct stage *s)
{
    struct wire_conn *c = wire_connect(&s->wire, s->hookline_port, &caller, s);
    c->next = s->idle;
    s->idle = c;
}

/* hookline closes those that are idle for long; another one takes the place. */
static void on_lost_caller(struct wire_conn *c)
{
    struct stage *s = c->self;
    struct wire_conn **at = &s->idle;
    while (*at && *at != c)
        at = &(*at)->next;
    if (!*at) {
        fprintf(stderr, "hookline has closed the connection of a call\n");
        exit(1);
    }
    *at = c->next;
    add_caller(s);
}

/* A field's value as it stands in the head, or "". */
static const char *field(const struct wire_conn *c, const char *name, size_t *n)
{
    const char *at = strcasestr(c->in, name);
    at = at ? at + strlen(name) : "";
    *n = strcspn(at, "\r");
    return at;
}

/* hookline's own scheme: v1, and in hex the HMAC of `id.timestamp.body`. */
static bool is_signed(const struct wire_conn *c)
{
    static const char secret[] = STAGE_SECRET;
    size_t id_n, at_n, signature_n;
    const char *id = field(c, "\r\nX-Request-Id: ", &id_n);
    const char *at = field(c, "\r\nX-Service-Webhook-Timestamp: ", &at_n);
    const char *signature = field(c, "\r\nX-Service-Webhook-Signature: v1,", &signature_n);
    char text[WIRE_IN_MAX + 128], hex[65];
    unsigned char mac[32];
    int n = snprintf(text, sizeof text, "%.*s.%.*s.%s", (int)id_n, id, (int)at_n, at, c->body);
    mbedtls_md_hmac(mbedtls_md_info_from_type(MBEDTLS_MD_SHA256), (const unsigned char *)secret,
        sizeof secret - 1, (const unsigned char *)text, (size_t)n, mac);
    for (size_t i = 0; i < sizeof mac; i++)
        snprintf(hex + 2 * i, 3, "%02x", mac[i]);
    return signature_n == 64 && memcmp(hex, signature, 64) == 0;
}

static void answer(struct wire_conn *c)
{
    static const char text[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    wire_send(c, text, sizeof text - 1);
}

static void on_webhook(struct wire_conn *c)
{
    struct stage *s = c->self;
    const char *sent = strstr(c->body, SENT_FIELD);
    s->last_us = wire_now_us();
    if (s->received++ % STAGE_SIGNED_EACH == 0) {
        s->checked++;
        s->forged += !is_signed(c);
    }
    if (sent && s->times && s->delays_n < STAGE_DELAYS)
        s->delays_us[s->delays_n++] =
            (uint32_t)(s->last_us - strtoull(sent + sizeof SENT_FIELD - 1, NULL, 10));
    if (s->latency_us == 0 && !s->holds) {
        answer(c);
        return;
    }
    s->owed[(s->owed_first + s->owed_n++) % STAGE_DELAYS] =
        (struct owed){c, s->last_us + s->latency_us};
}

/* Whoever is owed an answer and goes does not get it. */
static void on_lost_sender(struct wire_conn *c)
{
    struct stage *s = c->self;
    for (size_t i = 0; i < s->owed_n; i++) {
        struct owed *o = &s->owed[(s->owed_first + i) % STAGE_DELAYS];
        o->conn = o->conn == c ? NULL : o->conn;
    }
}

static void pay(struct stage *s)
{
    struct owed *first = &s->owed[s->owed_first];
    s->owed_first = (s->owed_first + 1) % STAGE_DELAYS;
    s->owed_n--;
    if (first->conn)
        answer(first->conn);
}

void stage_release(struct stage *s)
{
    s->holds = false;
    while (s->owed_n > 0)
        pay(s);
}

void stage_turn(struct stage *s, int wait_ms)
{
    uint64_t now = wire_now_us();
    while (!s->holds && s->owed_n > 0 && s->owed[s->owed_first].at_us <= now)
        pay(s);
    if (!s->holds && s->owed_n > 0) {
        uint64_t left_ms = (s->owed[s->owed_first].at_us - now + 999) / 1000;
        wait_ms = left_ms < (uint64_t)wait_ms ? (int)left_ms : wait_ms;
    }
    wire_turn(&s->wire, wait_ms);
}

bool stage_run(struct stage *s, double seconds, const uint64_t *count, uint64_t goal)
{
    uint64_t end = wire_now_us() + (uint64_t)(seconds * 1e6);
    while (*count < goal && wire_now_us() < end)
        stage_turn(s, WAIT_MS);
    return *count >= goal;
}

void stage_run_for(struct stage *s, double seconds)
{
    static const uint64_t nothing;
    stage_run(s, seconds, &nothing, 1);
}

static int compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

uint32_t stage_delay(struct stage *s, double share)
{
    if (s->delays_n == 0)
        return 0;
    qsort(s->delays_us, s->delays_n, sizeof *s->delays_us, compare);
    return s->delays_us[(size_t)(share * (double)(s->delays_n - 1))];
}
