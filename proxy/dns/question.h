/* question.h - the query for a name's addresses of one family, sent to several servers. */
#ifndef HL_DNS_QUESTION_H
#define HL_DNS_QUESTION_H

#include <ares.h>

#include "dns/resolv_conf.h"

struct hl_question;

/* ---- the way to one name server: sockets of its own (c-ares), which many questions share ---- */

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

#define HL_LANES_MAX          HL_DNS_SERVERS_MAX
#define HL_QUESTION_ADDRESSES 32 /* of an answer with more the first ones are used */

enum hl_question_state {
    HL_QUESTION_OPEN,    /* an answer may still come, or another server is to be asked */
    HL_QUESTION_FOUND,   /* there are addresses */
    HL_QUESTION_EMPTY,   /* the name has none of this family */
    HL_QUESTION_ABSENT,  /* there is no such name */
    HL_QUESTION_FAILED,  /* SERVFAIL, of a server at least; and nothing better of any */
    HL_QUESTION_REFUSED, /* the same with another fault */
    HL_QUESTION_SILENT,  /* no server has said anything */
};

/* What one lane has of it. */
struct hl_reply {
    struct hl_question *question;
    struct hl_lane *lane;
    uint64_t asked_ms; /* monotonic */
    unsigned asks;
    enum { HL_REPLY_NONE, HL_REPLY_AWAITED, HL_REPLY_ANSWERED, HL_REPLY_BAD } state;
    enum hl_question_state meaning; /* ANSWERED, BAD */
};

struct hl_question {
    const char *name; /* absolute, without the last dot; borrowed */
    int family;
    enum hl_question_state state;
    struct hl_reply replies[HL_LANES_MAX];
    struct hl_ip addresses[HL_QUESTION_ADDRESSES]; /* of the first lane that has some */
    size_t n, lane;
};

/* Asks it of a lane, the `i`th. The question stays where it is until the lane is closed. */
void hl_question_ask(struct hl_question *q, struct hl_lane *lane, size_t i, uint64_t now_ms);

/* How long a server is waited for before another one is believed. */
struct hl_patience {
    uint64_t now_ms, hold_ms;
};

/* Sets `state` by the replies of the first `n` lanes. `is_one_server`: they all lead to it. `has_more`:
 * there is a lane that was not opened yet. */
void hl_question_judge(struct hl_question *q, size_t n, bool is_one_server, bool has_more,
    struct hl_patience patience);

/* It is open, and none of the `n` lanes has it any more: another one is to be asked. */
bool hl_question_is_idle(const struct hl_question *q, size_t n);

#endif
