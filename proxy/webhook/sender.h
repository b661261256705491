/* sender.h - the delivery thread: takes leased deliveries from the store, sends them with libcurl
 * multi, reports each attempt's outcome.
 *
 * Thread: its own. Owns: the curl multi handle, retry timers, attempts in flight. Never touches the
 * database; reads body files. */
#ifndef HL_WEBHOOK_SENDER_H
#define HL_WEBHOOK_SENDER_H

#include "base/metric.h"

struct hl_config;
struct hl_store;
struct hl_direct;
struct hl_mailbox;
struct hl_tracer;

struct hl_sender;

struct hl_sender_gauges {
    struct hl_counter in_flight;
    struct hl_counter waiting_retry;
    struct hl_counter failing; /* destinations whose last attempts had no answer */
    struct hl_counter attempts_ok, attempts_retry, attempts_dead; /* by verdict */
    struct hl_histogram latency;                                  /* of attempts */
};

/* `tracer`: NULL, or what outlives it. `news`: who is told of destinations (news.h), until the thread has ended; or
 * NULL. */
struct hl_sender_parts {
    const struct hl_config *config;
    struct hl_store *store;
    struct hl_tracer *tracer;
    struct hl_mailbox *news;
};

/* Starts the thread and gives the store its first credit. `why`: one line on failure (a CA file that cannot be read
 * …). */
HL_MUST_CHECK enum hl_err hl_sender_start(
    struct hl_sender **out, const struct hl_sender_parts *parts, char *why, size_t why_len);
/* Any thread, before the stop: see direct.h. */
void hl_sender_send(struct hl_sender *sender, struct hl_direct *direct);
const struct hl_sender_gauges *hl_sender_get_gauges(const struct hl_sender *sender);

/* Takes no more leases, lets attempts in flight end for at most `grace_ms`, reports the rest as
 * ABANDONED, and ends the thread, whose last act `on_end` is (NULL: nobody is told). Does not wait:
 * join does. The store must be open until then. */
void hl_sender_stop(
    struct hl_sender *sender, uint64_t grace_ms, void (*on_end)(void *arg), void *arg);
/* The grace of a stop is over now. */
void hl_sender_cut(struct hl_sender *sender);
void hl_sender_join(struct hl_sender *sender);
/* After the store was closed: messages that it still posted are freed here. */
void hl_sender_free(struct hl_sender *sender);

#endif
