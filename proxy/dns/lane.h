/* lane.h - the way to one name server: sockets of its own (c-ares), which many questions share. */
#ifndef HL_DNS_LANE_H
#define HL_DNS_LANE_H

#include <ares.h>

#include "dns/resolv_conf.h"

struct hl_lane {
    ares_channel channel; /* NULL: it is not open */
    struct hl_dns_server server;
    uint64_t asked_ms; /* when it was first asked something; 0: it was not */
    bool has_answered; /* whatever */
    bool is_dead; /* nobody listens there: a question that was asked beside may never hear of it */
};

/* c-ares asks again after HL_LANE_ANSWER_MS, then after twice that. Over TCP it waits once: as long as any
 * look-up lasts, or, where UDP has led to it, for HL_LANE_ANSWER_MS. */
#define HL_LANE_ANSWER_MS 2000
#define HL_LANE_TCP_MS    30000

/* NOMEM: it is not open. */
HL_MUST_CHECK enum hl_err hl_lane_open(
    struct hl_lane *lane, const struct hl_dns_server *server, bool uses_tcp);
/* Ends the questions that it was asked without an answer. Harmless when it is not open. */
void hl_lane_close(struct hl_lane *lane);

#endif
