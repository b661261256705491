/* errand.c - see errand.h.
 * Promise: it is over within 30 s, whatever the app does; the name of its host is looked up for each, for the app may have
 * moved while nobody asked it.
 * Not here: when the app is asked, and what follows (sleep.c). */
#include "app/errand.h"

#include "app/cause.h"
#include "app/gate.h"
#include "app/request.h"
#include "base/compiler.h"
#include "config/config.h"

#define HEAD_MAX (64 * 1024)
#define MOST_MS  30000

static void on_resolved(struct hl_host *host, int status);
static void on_late(struct hl_timer *timer);
static void on_head(void *owner, const struct hl_head *head);
static void on_end(void *owner, enum hl_exchange_end how, int error);

static const struct hl_exchange_events events = {.head = on_head, .end = on_end};

void hl_errand_init(struct hl_errand *errand, uv_loop_t *loop, struct hl_wheel *wheel,
    struct hl_reader *reader, const struct hl_config *config)
{
    *errand = (struct hl_errand){.config = config, .loop = loop, .wheel = wheel, .reader = reader};
    hl_host_init(&errand->host, loop, &config->app_url, on_resolved);
    hl_timer_init(&errand->late, on_late);
}

static void end(struct hl_errand *errand, const char *why)
{
    hl_errand_forget(errand);
    errand->on_over(errand, why);
}

/* ---- one address ---- */

/* NULL: the unix: path. 0, or libuv's code. */
static int ask(struct hl_errand *errand, const struct sockaddr *address)
{
    const struct hl_app_request request = {.config = errand->config,
        .loop = errand->loop,
        .wheel = errand->wheel,
        .reader = errand->reader,
        .tls = errand->tls,
        .method = HL_METHOD_POST,
        .verb = "",
        .what = errand->what,
        .fields = HL_STR("Content-Length: 0\r\n"),
        .max_head = HEAD_MAX,
        .is_decoded = true,
        .events = &events,
        .owner = errand};
    int error = 0;
    errand->exchange = hl_app_request_begin(&request, address, &error);
    return errand->exchange ? 0 : error;
}

/* Said when the caller has returned. */
static void fail_soon(struct hl_errand *errand, struct hl_cause cause)
{
    errand->failed = hl_cause_text(cause);
    errand->is_refused = hl_gate_is_refusal(cause);
    hl_timer_arm(errand->wheel, &errand->late, 1);
}

/* A name may have addresses on which the app does not listen. `error`: libuv's, of the last one. */
static void ask_next(struct hl_errand *errand, int error)
{
    const struct hl_host_address *address;
    while ((address = hl_host_next(&errand->host, errand->tried)) != NULL) {
        errand->tried |= address->mark;
        error = ask(errand, (const struct sockaddr *)&address->socket);
        if (error == 0)
            return;
    }
    fail_soon(errand, hl_cause_of(error));
}

static void on_resolved(struct hl_host *host, int status)
{
    struct hl_errand *errand = HL_CONTAINER_OF(host, struct hl_errand, host);
    if (hl_timer_is_armed(&errand->late)) /* else it is not wanted any more */
        ask_next(errand, status != 0 ? status : UV_EAI_NONAME);
}

void hl_errand_begin(struct hl_errand *errand, struct hl_str what, struct hl_tls_seat *tls)
{
    errand->what = what;
    errand->tls = tls;
    errand->tried = 0;
    errand->status = 0;
    errand->is_refused = false;
    hl_timer_arm(errand->wheel, &errand->late, MOST_MS);
    int error = 0;
    if (errand->config->app_url.is_unix)
        error = ask(errand, NULL);
    else if (errand->host.is_literal)
        ask_next(errand, UV_EAI_NONAME);
    else if (!hl_host_resolve(&errand->host))
        error = UV_ENOMEM;
    if (error != 0)
        fail_soon(errand, hl_cause_of(error));
}

/* ---- what comes of it ---- */

static void on_head(void *owner, const struct hl_head *head)
{
    struct hl_errand *errand = owner;
    errand->status = head->status;
}

static void on_end(void *owner, enum hl_exchange_end how, int error)
{
    struct hl_errand *errand = owner;
    errand->exchange = NULL;
    if (how == HL_EXCHANGE_UNREACHABLE && !errand->config->app_url.is_unix) {
        ask_next(errand, error);
    } else if (how == HL_EXCHANGE_UNREACHABLE) {
        fail_soon(errand, hl_cause_of(error));
    } else if (how == HL_EXCHANGE_NO_MEMORY) {
        end(errand, "out of memory");
    } else if (how != HL_EXCHANGE_WHOLE || errand->status == 0) {
        end(errand, "the answer broke off");
    } else {
        bool is_good = errand->status >= 200 && errand->status <= 299;
        end(errand, is_good ? NULL : "its status is not 2xx");
    }
}

static void on_late(struct hl_timer *timer)
{
    struct hl_errand *errand = HL_CONTAINER_OF(timer, struct hl_errand, late);
    end(errand, errand->failed ? errand->failed : "no answer within 30 s");
}

void hl_errand_forget(struct hl_errand *errand)
{
    hl_timer_disarm(&errand->late);
    hl_exchange_drop(errand->exchange);
    errand->exchange = NULL;
    errand->failed = NULL;
}

void hl_errand_close(struct hl_errand *errand)
{
    hl_errand_forget(errand);
    hl_timer_fini(errand->wheel, &errand->late);
    hl_host_close(&errand->host);
}
