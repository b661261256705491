/* figures.h - what hookline counts and measures, all threads' together, at one moment: what /metrics writes, and the
 * dashboard shows and remembers. */
#ifndef HL_API_FIGURES_H
#define HL_API_FIGURES_H

#include "api/exposition.h"
#include "auth/auth.h"
#include "auth/seat.h"
#include "caller/metrics.h"
#include "tls/tls.h"

struct hl_api_view;

struct hl_figures {
    struct hl_worker_metrics workers; /* summed over all workers */
    const struct hl_store_gauges *store;
    const struct hl_sender_gauges *sender;
    const struct hl_app_gauges *app;
    const struct hl_sleep_gauges *sleep;
    struct hl_auth_figures auth;
    struct hl_auth_counts tokens;                  /* summed over all workers */
    struct hl_tls_metrics handshakes[HL_TLS_USES]; /* likewise; zeros without TLS */
    const struct hl_tracer_counts *traces;         /* NULL: there are none */
    bool has_tls, has_app_tls;
    int64_t certificate_expires_s;
    uint32_t connections_max;
    uint32_t app_slots, app_slots_in_use; /* 0 slots: there is no limit */
    uint64_t app_queue_age_ms;
    uint32_t followers;
    uint64_t log_lines_dropped;
    struct hl_process process;
    bool is_ready, is_gate_open;
    struct hl_str replica;   /* its name; empty: the store is this process's own */
    const char *role;        /* likewise; static */
    int64_t clock_offset_ms; /* by how much the clock of all replicas is ahead of the machine's */
    int64_t started_ms, now_ms; /* wall time */
};

/* Reads everything that the view leads to. What it points to belongs to the view. */
void hl_figures_collect(struct hl_figures *figures, const struct hl_api_view *view);

/* Calls that wait for the app: for its gate, or for a slot. */
static inline uint64_t hl_figures_waiting(const struct hl_worker_metrics *workers)
{
    return hl_counter_get(&workers->waiting_for_slot) + hl_counter_get(&workers->waiting_at_gate);
}

/* How long something has waited since the wall time in `since`; 0: nothing waits. */
uint64_t hl_figures_age_ms(int64_t now_ms, const struct hl_counter *since);

/* Adds one worker's figures to the sum. Any thread. */
void hl_figures_add(struct hl_worker_metrics *sum, const struct hl_worker_metrics *worker);

#endif
