/* question.c - one question, its answers, and which of them counts (as in glibc: a server
 * that fails, refuses or knows nothing is passed over; the first in the order of resolv.conf that says
 * more is believed, also when another was faster: they need not know the same).
 * Thread: its owner's. */
#include "dns/question.h"

#include <errno.h>
#include <netdb.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* ---- a c-ares channel that asks one server: c-ares would go from server to server by itself, but takes the second
 * one's "no such name" for the answer while the first is merely slow ---- */

#define TRIES 4 /* the last of them reaches as far as any look-up */

static ares_socket_t on_open(int family, int type, int protocol, void *arg)
{
    (void)arg;
    return socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol);
}

static int on_close(ares_socket_t fd, void *arg)
{
    (void)arg;
    return close(fd);
}

/* A link-local server is on one of our links. */
static int on_connect(ares_socket_t fd, const struct sockaddr *to, ares_socklen_t n, void *arg)
{
    const struct hl_lane *lane = arg;
    struct sockaddr_in6 there;
    if (to->sa_family != AF_INET6 || n != sizeof(there))
        return connect(fd, to, n);
    memcpy(&there, to, sizeof(there));
    there.sin6_scope_id = lane->server.scope;
    return connect(fd, (const struct sockaddr *)&there, sizeof(there));
}

/* A datagram that is no answer (RFC 1035 4.1.1: QR), such as our own question sent back, is not read: c-ares
 * would take it for one without addresses. `from` is NULL of a stream. */
static ares_ssize_t on_receive(ares_socket_t fd, void *p, size_t cap, int flags,
    struct sockaddr *from, ares_socklen_t *from_n, void *arg)
{
    ssize_t n = recvfrom(fd, p, cap, flags, from, from_n);
    (void)arg;
    if (n < 0 || !from || (n > 2 && ((const unsigned char *)p)[2] & 0x80))
        return n;
    errno = EAGAIN;
    return -1;
}

static ares_ssize_t on_send(ares_socket_t fd, const struct iovec *pieces, int n, void *arg)
{
    struct msghdr message = {.msg_iov = (struct iovec *)pieces, .msg_iovlen = (size_t)n};
    (void)arg;
    return sendmsg(fd, &message, MSG_NOSIGNAL);
}

static const struct ares_socket_functions socket_functions = {.asocket = on_open,
    .aclose = on_close,
    .aconnect = on_connect,
    .arecvfrom = on_receive,
    .asendv = on_send};

static int set_server(struct hl_lane *lane)
{
    struct ares_addr_port_node node = {.family = AF_INET6};
    if (hl_ip_is_v4(&lane->server.ip)) {
        node.family = AF_INET;
        memcpy(&node.addr.addr4, lane->server.ip.b + 12, 4);
    } else {
        memcpy(&node.addr.addr6, lane->server.ip.b, 16);
    }
    return ares_set_servers_ports(lane->channel, &node);
}

/* All that it would read from files is said, so that it reads none. */
static int init_channel(ares_channel *channel, bool uses_tcp)
{
    struct in_addr nobody = {0};
    char lookups[] = "b";
    struct ares_options options = {
        .flags = ARES_FLAG_NOCHECKRESP | (uses_tcp ? ARES_FLAG_USEVC : 0),
        .timeout = uses_tcp ? HL_LANE_TCP_MS : HL_LANE_ANSWER_MS,
        .tries = TRIES,
        .ndots = 1,
        .servers = &nobody,
        .nservers = 1,
        .lookups = lookups};
    return ares_init_options(channel, &options,
        ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_NDOTS | ARES_OPT_SERVERS |
            ARES_OPT_DOMAINS | ARES_OPT_LOOKUPS | ARES_OPT_SORTLIST);
}

enum hl_err hl_lane_open(struct hl_lane *lane, const struct hl_dns_server *server, bool uses_tcp)
{
    *lane = (struct hl_lane){.server = *server};
    if (init_channel(&lane->channel, uses_tcp) != ARES_SUCCESS) {
        lane->channel = NULL;
        return HL_ERR_NOMEM;
    }
    ares_set_socket_functions(lane->channel, &socket_functions, lane);
    if (set_server(lane) == ARES_SUCCESS)
        return HL_OK;
    hl_lane_close(lane);
    return HL_ERR_NOMEM;
}

void hl_lane_close(struct hl_lane *lane)
{
    if (lane->channel)
        ares_destroy(lane->channel);
    lane->channel = NULL;
}

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
