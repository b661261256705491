/* service.c - whether calls should come here now, and why not.
 * Thread: any.
 * Not here: what finds it out (app/readiness.c, store/), the answers (call.c, api/health.c). */
#include "run/service.h"

#include "app/readiness.h"
#include "config/config.h"
#include "dns/trust.h"
#include "store/gauges.h"
#include "store/store.h"

bool hl_service_speaks_tls(const struct hl_config *config)
{
    return config->tls_cert_file.n > 0;
}

struct hl_tls_files hl_service_tls_files(const struct hl_config *config)
{
    return (struct hl_tls_files){.cert = config->tls_cert_file.p,
        .cert_option = "HOOKLINE_TLS_CERT_FILE",
        .key = config->tls_key_file.p,
        .key_option = "HOOKLINE_TLS_KEY_FILE",
        .ca = config->tls_client_ca_file.n > 0 ? config->tls_client_ca_file.p : NULL,
        .ca_option = "HOOKLINE_TLS_CLIENT_CA_FILE"};
}

struct hl_tls_files hl_service_app_tls_files(const struct hl_config *config)
{
    bool is_of_system = config->app_ca_file.n == 0;
    return (struct hl_tls_files){.is_client = true,
        .cert = config->app_client_cert_file.n > 0 ? config->app_client_cert_file.p : NULL,
        .cert_option = "HOOKLINE_APP_CLIENT_CERT_FILE",
        .key = config->app_client_key_file.p,
        .key_option = "HOOKLINE_APP_CLIENT_KEY_FILE",
        .ca = is_of_system ? hl_trust_of_system() : config->app_ca_file.p,
        .ca_option = is_of_system ? "HOOKLINE_APP_CA_FILE is not set" : "HOOKLINE_APP_CA_FILE",
        .is_of_system = is_of_system};
}

bool hl_service_store_fails(const struct hl_service *service)
{
    return hl_counter_get(&hl_store_get_gauges(service->store)->is_failing) &&
           !hl_store_is_shared(service->store);
}

const char *hl_service_life(const struct hl_service *service, bool *is_alive)
{
    *is_alive = !hl_counter_get(&hl_store_get_gauges(service->store)->is_lost);
    return *is_alive ? "ok" : "the store cannot be reopened: restart this process, see the log";
}

/* Its server is gone, and will be back. */
static bool has_lost_store(const struct hl_service *service)
{
    return hl_counter_get(&hl_store_get_gauges(service->store)->is_failing) &&
           hl_store_is_shared(service->store) && !atomic_load(&service->is_opening);
}

/* Calls are taken, and wake it; a wake that takes longer than they wait is no sleep any more. */
static bool is_asleep(const struct hl_service *service)
{
    const struct hl_gate *gate = &service->connections.gate;
    return hl_gate_has_slept(gate) &&
           hl_gate_closed_for(gate) < service->config->app_wake_timeout_ms;
}

/* No app is behind it. */
static bool is_front(const struct hl_service *service)
{
    return service->config->role == HL_REPLICA_FRONT;
}

bool hl_service_misses_app(const struct hl_service *service)
{
    return !is_front(service) && !is_asleep(service) && !hl_readiness_is_ready(service->readiness);
}

static size_t list_bars(
    const struct hl_service *service, const char *problems[HL_SERVICE_PROBLEMS_MAX])
{
    size_t n = 0;
    if (atomic_load(&service->is_draining))
        problems[n++] = "draining: calls are still answered, send new ones elsewhere";
    if (atomic_load(&service->is_opening))
        problems[n++] = "the database has not been reached since the start: asynchronous calls and "
                        "tokens of service accounts are refused, see the log";
    if (hl_service_store_fails(service))
        problems[n++] = "the store is failing: asynchronous calls are refused, see the log";
    if (hl_counter_get(&hl_store_get_gauges(service->store)->is_full))
        problems[n++] = "the store is full: asynchronous calls are refused until space is free";
    if (is_front(service)) {
        if (has_lost_store(service))
            problems[n++] = "the database cannot be reached or refuses writes, and a front has "
                            "nothing else to take calls with";
        return n;
    }
    if (is_asleep(service))
        return n;
    if (!hl_readiness_is_ready(service->readiness))
        problems[n++] = hl_readiness_why(service->readiness);
    else if (hl_gate_is_shut(&service->connections.gate))
        problems[n++] = "the app has refused a connection: calls wait until it answers 2xx at "
                        "HOOKLINE_APP_HEALTH_PATH";
    return n;
}

size_t hl_service_problems(
    const struct hl_service *service, const char *problems[HL_SERVICE_PROBLEMS_MAX])
{
    size_t n = list_bars(service, problems);
    if (has_lost_store(service) && !is_front(service))
        problems[n++] = "the database cannot be reached or refuses writes: asynchronous calls may "
                        "be refused until it recovers, and finished runs are kept until then";
    return n;
}

const char *hl_service_not_ready(const struct hl_service *service)
{
    const char *problems[HL_SERVICE_PROBLEMS_MAX];
    return list_bars(service, problems) > 0 ? problems[0] : NULL;
}

const char *hl_service_state(const struct hl_service *service, bool *is_ready)
{
    const char *why = hl_service_not_ready(service);
    *is_ready = !why;
    if (why)
        return why;
    if (is_asleep(service))
        return hl_gate_is_asleep(&service->connections.gate) ? "ready: the app sleeps"
                                                             : "ready: the app is being woken";
    return has_lost_store(service) ? "degraded: store" : "ok";
}
