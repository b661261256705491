/* question.c - one question, its answers, and which of them counts (as in glibc: a server
 * that fails, refuses or knows nothing is passed over; the first in the order of resolv.conf that says
 * more is believed, also when another was faster: they need not know the same).
 * Thread: its owner's. */
#include "dns/question.h"

#include <netdb.h>
#include <string.h>

#define ASKS_MAX                                                                                   \
    2 /* of one server that answers with a fault, as "attempts" of resolv.conf is by default */

#define HEADER_SIZE 12

/* A server that is no one's: it would have to ask others, and does not (glibc's "referred query"). */
static bool is_lame(const unsigned char *answer, int n)
{
    static const unsigned char none[2];
    return n >= HEADER_SIZE && !(answer[2] & 0x04) && !(answer[3] & 0x80) &&
           memcmp(answer + 6, none, 2) == 0 && memcmp(answer + 10, none, 2) == 0;
}

static int parse_v4(struct hl_ip *out, size_t *n, const unsigned char *answer, int length)
{
    struct ares_addrttl found[HL_QUESTION_ADDRESSES];
    int count = HL_QUESTION_ADDRESSES;
    int status = ares_parse_a_reply(answer, length, NULL, found, &count);
    struct sockaddr_in address = {.sin_family = AF_INET};
    for (int i = 0; status == ARES_SUCCESS && i < count; i++) {
        address.sin_addr = found[i].ipaddr;
        *n += hl_ip_from_sockaddr((struct sockaddr *)&address, &out[*n]);
    }
    return status;
}

static int parse_v6(struct hl_ip *out, size_t *n, const unsigned char *answer, int length)
{
    struct ares_addr6ttl found[HL_QUESTION_ADDRESSES];
    int count = HL_QUESTION_ADDRESSES;
    int status = ares_parse_aaaa_reply(answer, length, NULL, found, &count);
    struct sockaddr_in6 address = {.sin6_family = AF_INET6};
    for (int i = 0; status == ARES_SUCCESS && i < count; i++) {
        memcpy(&address.sin6_addr, &found[i].ip6addr, sizeof(address.sin6_addr));
        *n += hl_ip_from_sockaddr((struct sockaddr *)&address, &out[*n]);
    }
    return status;
}

/* The addresses of an answer, unless a lane before has given some. */
static int take_addresses(struct hl_reply *reply, const unsigned char *answer, int length)
{
    struct hl_question *q = reply->question;
    struct hl_ip found[HL_QUESTION_ADDRESSES];
    size_t n = 0, lane = (size_t)(reply - q->replies);
    int status = q->family == AF_INET ? parse_v4(found, &n, answer, length)
                                      : parse_v6(found, &n, answer, length);
    if (status != ARES_SUCCESS || n == 0)
        return status == ARES_SUCCESS ? ARES_ENODATA : status;
    if (q->n == 0 || lane < q->lane) {
        memcpy(q->addresses, found, n * sizeof(*found));
        q->n = n;
        q->lane = lane;
    }
    return status;
}

static void set(struct hl_reply *reply, int state, enum hl_question_state meaning)
{
    reply->state = state;
    reply->meaning = meaning;
}

static void take(struct hl_reply *reply, int status, const unsigned char *answer, int n)
{
    if (status == ARES_SUCCESS)
        status = take_addresses(reply, answer, n);
    switch (status) {
    case ARES_SUCCESS:
        set(reply, HL_REPLY_ANSWERED, HL_QUESTION_FOUND);
        break;
    case ARES_ENODATA:
        set(reply, is_lame(answer, n) ? HL_REPLY_BAD : HL_REPLY_ANSWERED, HL_QUESTION_EMPTY);
        break;
    case ARES_ENOTFOUND:
    case ARES_EBADNAME:
        set(reply, HL_REPLY_ANSWERED, HL_QUESTION_ABSENT);
        break;
    case ARES_ESERVFAIL:
        set(reply, HL_REPLY_BAD, HL_QUESTION_FAILED);
        break;
    case ARES_ECONNREFUSED:
        reply->lane->is_dead = !reply->lane->has_answered;
        set(reply, HL_REPLY_BAD, HL_QUESTION_SILENT);
        break;
    case ARES_ETIMEOUT:
        set(reply, HL_REPLY_BAD, HL_QUESTION_SILENT);
        break;
    default:
        set(reply, HL_REPLY_BAD, HL_QUESTION_REFUSED);
    }
}

static void on_answer(void *arg, int status, int timeouts, unsigned char *answer, int n)
{
    struct hl_reply *reply = arg;
    (void)timeouts;
    if (status == ARES_EDESTRUCTION || status == ARES_ECANCELLED)
        return;
    if (answer)
        reply->lane->has_answered = true;
    take(reply, status, answer, n);
}

void hl_question_ask(struct hl_question *q, struct hl_lane *lane, size_t i, uint64_t now_ms)
{
    const int in = 1, a = 1, aaaa = 28; /* RFC 1035 3.2, RFC 3596 2.1 */
    struct hl_reply *reply = &q->replies[i];
    reply->question = q;
    reply->lane = lane;
    reply->asked_ms = now_ms;
    reply->asks++;
    reply->state = HL_REPLY_AWAITED;
    if (lane->asked_ms == 0)
        lane->asked_ms = now_ms;
    if (lane->is_dead)
        return;
    ares_query(lane->channel, q->name, in, q->family == AF_INET ? a : aaaa, on_answer, reply);
}

/* One that has never said anything is not waited for anew with each question. */
static bool is_still_awaited(const struct hl_reply *reply, struct hl_patience patience)
{
    uint64_t since = reply->lane->has_answered ? reply->asked_ms : reply->lane->asked_ms;
    return reply->state == HL_REPLY_AWAITED && patience.now_ms < since + patience.hold_ms;
}

/* The worst that was heard, SERVFAIL before silence: glibc goes on to the next domain after that alone. */
static enum hl_question_state sum_up(const struct hl_question *q, size_t n)
{
    enum hl_question_state state = HL_QUESTION_SILENT;
    for (size_t i = 0; i < n; i++) {
        enum hl_question_state one = q->replies[i].meaning;
        if (one == HL_QUESTION_FAILED)
            return one;
        if (one != HL_QUESTION_SILENT)
            state = HL_QUESTION_REFUSED;
    }
    return state;
}

/* Whoever has answered with a fault is asked once more when all have been asked. */
static bool may_ask_again(struct hl_question *q, size_t n)
{
    bool is_again = false;
    for (size_t i = 0; i < n; i++) {
        struct hl_reply *reply = &q->replies[i];
        if (reply->state != HL_REPLY_BAD || reply->meaning == HL_QUESTION_SILENT ||
            reply->asks >= ASKS_MAX)
            continue;
        reply->state = HL_REPLY_NONE;
        is_again = true;
    }
    return is_again;
}

static void bury_the_dead(struct hl_question *q, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (q->replies[i].state == HL_REPLY_AWAITED && q->replies[i].lane->is_dead)
            set(&q->replies[i], HL_REPLY_BAD, HL_QUESTION_SILENT);
}

void hl_question_judge(
    struct hl_question *q, size_t n, bool is_one_server, bool has_more, struct hl_patience patience)
{
    bool is_awaited = false, is_late = false;
    q->state = HL_QUESTION_OPEN;
    bury_the_dead(q, n);
    for (size_t i = 0; i < n && q->state == HL_QUESTION_OPEN; i++) {
        const struct hl_reply *reply = &q->replies[i];
        if (reply->state == HL_REPLY_NONE)
            return;
        if (is_still_awaited(reply, patience))
            is_awaited = true;
        else if (reply->state == HL_REPLY_AWAITED)
            is_late = true;
        else if (reply->state == HL_REPLY_ANSWERED && (!is_awaited || is_one_server))
            q->state = reply->meaning;
        if (is_awaited && !is_one_server)
            return;
    }
    if (q->state != HL_QUESTION_OPEN || is_awaited || has_more)
        return;
    if ((!is_one_server && may_ask_again(q, n)) || is_late)
        return;
    q->state = sum_up(q, n);
}

bool hl_question_is_idle(const struct hl_question *q, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (q->replies[i].state != HL_REPLY_BAD)
            return false;
    return q->state == HL_QUESTION_OPEN;
}
