/* service.h - what all workers share, and whether calls should come here now. */
#ifndef HL_RUN_SERVICE_H
#define HL_RUN_SERVICE_H

#include <stdatomic.h>

#include "app/limiter.h"
#include "app/pool_group.h"
#include "tls/tls.h"

struct hl_journals;
struct hl_tracer;
struct hl_worker;

#define HL_INNER_PASS_NAME   "X-Run-Inner-Pass"
#define HL_INNER_PASS_DIGITS 32

/* Made before the workers, gone after them. */
struct hl_service {
    const struct hl_config *config;
    struct hl_store *store;
    struct hl_auth *auth;
    struct hl_tls *tls; /* NULL: neither listeners nor the app speak it */
    /* What this process's own requests to its TLS listener carry (HL_INNER_PASS_NAME): they go over
     * loopback in plain text. */
    char inner_pass[HL_INNER_PASS_DIGITS];
    struct hl_tracer *tracer; /* NULL: there are no traces */
    struct hl_readiness *readiness;
    struct hl_journals *journals;    /* of streams that are kept while they come */
    const struct hl_app_gauges *app; /* the process that we started, if we did */
    const struct hl_sleep_gauges *sleep;
    struct hl_pool_group connections;
    struct hl_limiter limiter;
    struct hl_limiter_seat **seats;
    struct hl_worker **workers;
    uint32_t worker_count;
    struct hl_visits **visits; /* of each worker, where the app's output is read; else NULL */
    /* the control thread's, for FINISHes that want its words; or NULL */
    struct hl_mailbox *failures;
    _Atomic bool is_draining;
    _Atomic bool has_accepted;      /* runs while the app slept, and left them to other replicas' */
    _Atomic bool is_opening;        /* what the store keeps is not known yet (hl_store_standing) */
    uint32_t jobs;                  /* bulk work that is carried out here; the control thread's */
    struct hl_mailbox *inquiries;   /* the control thread's, for HL_WORKER_INQUIRY; NULL: no one */
    _Atomic uint64_t memory_left;   /* of the memory store's size: for bodies on their way there */
    _Atomic uint32_t recent_total;  /* entries in all workers' lists of recent runs */
    _Atomic uint64_t full_noted_ms; /* HOOKLINE_MAX_CONNECTIONS reached: last said so; 0: never */
    /* On the worker's thread, its last act. */
    void (*on_worker_end)(struct hl_service *service, uint32_t index);
};

/* The files of listeners' and of the app's TLS. They are the settings' own. */
struct hl_tls_files hl_service_tls_files(const struct hl_config *config);
struct hl_tls_files hl_service_app_tls_files(const struct hl_config *config);
/* Its listeners do. */
bool hl_service_speaks_tls(const struct hl_config *config);

/* What /healthz says: a line, static; `*is_alive`: whether with 200. Any thread. */
const char *hl_service_life(const struct hl_service *service, bool *is_alive);

/* The store takes nothing until it could be opened anew. Any thread. */
bool hl_service_store_fails(const struct hl_service *service);

/* Its app should be ready, and is not: a front has none, and one that sleeps need not be. Any thread. */
bool hl_service_misses_app(const struct hl_service *service);

/* Why the service does not take calls now, in words, or NULL: it does. Any thread. */
const char *hl_service_not_ready(const struct hl_service *service);

/* What /readyz says: a line, static; `*is_ready`: whether with 200. All replicas lose their server at
 * once, and calls that need it not go on: they stay ready. Any thread. */
const char *hl_service_state(const struct hl_service *service, bool *is_ready);

/* One of each: some are mutually exclusive, but they are read one after the other while they change. */
#define HL_SERVICE_PROBLEMS_MAX 6
/* Of the descriptors held back (net/listener.h), so many are for each loop with listeners. */
#define HL_SERVICE_RESERVE 4

/* All that is wrong, the gravest first, and last what does not keep calls away; returns how many. Any
 * thread. */
size_t hl_service_problems(
    const struct hl_service *service, const char *problems[HL_SERVICE_PROBLEMS_MAX]);

#endif
