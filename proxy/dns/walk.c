/* walk.c - looks for a name as glibc's getaddrinfo does, without waiting for each thing in turn.
 *
 * The candidates are the name itself and the name in each domain of the search list, in glibc's order
 * (its res_nsearch). Each is two questions, A and AAAA, which fail apart: one that is
 * answered is not lost with the other. The first candidate that has addresses is taken; one is passed
 * over when it has none, or when it was waited for as long as there is time (`hold_ms`).
 *
 * What another program does after a time-out is begun earlier here, and counts no earlier than its turn.
 * How long each thing is waited for is what resolv.conf says, if there is so much time.
 *
 * Thread: its owner's. Not here: sockets and timers (resolver.c), /etc/hosts (resolver.c, hosts.c). */
#include "dns/walk.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/str.h"
#include "dns/order.h"
#include "dns/resolv_conf.h"

#define NAME_MAX_BYTES 253
#define CANDIDATES_MAX (HL_DNS_SEARCH_MAX + 1)
#define FAMILIES       2

#define NEXT_CANDIDATE_MS 500
#define NEXT_LANE_MS      1000
#define HALF_HOLD_MS      2500
#define LEAST_MS          5000 /* there is time for it, whatever resolv.conf says */

struct candidate {
    char name[NAME_MAX_BYTES + 1];
    bool is_as_is; /* without a domain of the search list */
    bool is_begun;
    uint64_t begun_ms;
    struct hl_question questions[FAMILIES]; /* A, AAAA */
};

struct hl_walk {
    struct hl_resolv_conf conf;
    uint64_t until_ms;       /* for good */
    uint64_t hold_ms;        /* a candidate that is not heard of holds up those behind it */
    uint64_t half_hold_ms;   /* one family of it, the other one that is found */
    uint64_t server_hold_ms; /* a server, those behind it */
    uint64_t next_candidate_ms, next_lane_ms;
    uint64_t again_until_ms; /* servers that are being started are waited for */
    struct hl_lane lanes[HL_LANES_MAX];
    size_t lanes_n, lanes_max;
    size_t first_server;    /* "rotate" */
    uint64_t last_begun_ms; /* of the candidates */
    uint64_t again_ms;      /* when all of it begins anew; 0: it does not */
    size_t n;
    struct candidate candidates[CANDIDATES_MAX];
};

/* ---- candidates ---- */

static void add(struct hl_walk *walk, struct hl_str name, struct hl_str domain)
{
    struct candidate *c = &walk->candidates[walk->n];
    size_t n = name.n + (domain.n > 0 ? 1 + domain.n : 0);
    if (n > NAME_MAX_BYTES || walk->n == CANDIDATES_MAX)
        return;
    memcpy(c->name, name.p, name.n);
    if (domain.n > 0) {
        c->name[name.n] = '.';
        memcpy(c->name + name.n + 1, domain.p, domain.n);
    }
    c->is_as_is = domain.n == 0;
    walk->n++;
}

static void list_candidates(struct hl_walk *walk, struct hl_str name)
{
    const struct hl_resolv_conf *conf = &walk->conf;
    const struct hl_str none = {NULL, 0};
    bool is_absolute = name.n > 0 && name.p[name.n - 1] == '.', has_as_is = is_absolute;
    unsigned dots = 0;
    name.n -= is_absolute;
    for (size_t i = 0; i < name.n; i++)
        dots += name.p[i] == '.';
    if (is_absolute || dots >= conf->ndots) {
        add(walk, name, none);
        has_as_is = true;
    }
    for (size_t i = 0; i < conf->search_n && !is_absolute; i++) {
        bool is_root = conf->search[i].n == 0;
        if (!is_root || !has_as_is)
            add(walk, name, conf->search[i]);
        has_as_is |= is_root;
    }
    if (!has_as_is && (dots > 0 || conf->search_n == 0 || !conf->has_no_tld_query))
        add(walk, name, none);
}

static void begin(struct hl_walk *walk, struct candidate *c, uint64_t now_ms)
{
    static const int families[FAMILIES] = {AF_INET, AF_INET6};
    c->is_begun = true;
    c->begun_ms = walk->last_begun_ms = now_ms;
    for (size_t i = 0; i < FAMILIES; i++) {
        c->questions[i].name = c->name;
        c->questions[i].family = families[i];
    }
    if (walk->conf.has_no_aaaa)
        c->questions[1].state = HL_QUESTION_EMPTY;
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* How long getaddrinfo waits for one candidate that nobody answers for (res_send's send_dg). */
static uint64_t glibc_ms(const struct hl_resolv_conf *conf)
{
    uint64_t seconds = 0;
    for (size_t i = 0; i < conf->servers_n; i++) {
        uint64_t one = ((uint64_t)conf->timeout_s << i) / (i > 0 ? conf->servers_n : 1);
        seconds += one > 0 ? one : 1;
    }
    return seconds * 1000 * (conf->attempts > 0 ? conf->attempts : 1);
}

/* However little time there is, half of it is left for what is found. */
static void set_times(struct hl_walk *walk, uint64_t now_ms, uint64_t limit_ms)
{
    uint64_t most_ms = lesser(limit_ms, HL_WALK_MAX_MS), one_ms = glibc_ms(&walk->conf);
    walk->next_candidate_ms = lesser(NEXT_CANDIDATE_MS, most_ms / 10);
    walk->next_lane_ms = lesser(NEXT_LANE_MS, most_ms / 5);
    walk->half_hold_ms = lesser(HALF_HOLD_MS, most_ms / 2);
    walk->hold_ms = lesser(one_ms, most_ms / 2);
    walk->server_hold_ms = lesser(walk->conf.timeout_s * UINT64_C(1000), most_ms / 2);
    uint64_t all_ms = one_ms + walk->n * walk->next_candidate_ms;
    walk->until_ms = now_ms + lesser(all_ms > LEAST_MS ? all_ms : LEAST_MS, most_ms);
    walk->again_until_ms = now_ms + lesser(LEAST_MS, most_ms);
}

struct hl_walk *hl_walk_new(
    const struct hl_resolv_conf *conf, struct hl_str name, uint64_t now_ms, uint64_t limit_ms)
{
    struct hl_walk *walk = calloc(1, sizeof(*walk));
    if (!walk)
        return NULL;
    walk->conf = *conf;
    for (size_t i = 0; i < conf->search_n; i++)
        walk->conf.search[i].p = walk->conf.text + (conf->search[i].p - conf->text);
    list_candidates(walk, name);
    set_times(walk, now_ms, limit_ms);
    /* One server is asked from a second socket, too: some routers answer one question of a socket. */
    walk->lanes_max = conf->servers_n > 1 ? conf->servers_n : 2;
    walk->first_server = conf->rotates ? (size_t)(now_ms % conf->servers_n) : 0;
    return walk;
}

static void close_lanes(struct hl_walk *walk)
{
    for (size_t i = 0; i < walk->lanes_n; i++)
        hl_lane_close(&walk->lanes[i]);
    walk->lanes_n = 0;
}

void hl_walk_free(struct hl_walk *walk)
{
    if (!walk)
        return;
    close_lanes(walk);
    free(walk);
}

struct hl_lane *hl_walk_lanes(struct hl_walk *walk, size_t *n)
{
    *n = walk->lanes_n;
    return walk->lanes;
}

/* ---- asking ---- */

typedef bool each_fn(
    struct hl_walk *walk, struct candidate *c, struct hl_question *q, uint64_t now);

/* Of the open questions that are asked: whether the function has changed something of any. */
static bool for_each(struct hl_walk *walk, uint64_t now_ms, each_fn *fn)
{
    bool is_any = false;
    for (size_t i = 0; i < walk->n; i++)
        for (size_t k = 0; walk->candidates[i].is_begun && k < FAMILIES; k++) {
            struct hl_question *q = &walk->candidates[i].questions[k];
            if (q->state == HL_QUESTION_OPEN)
                is_any |= fn(walk, &walk->candidates[i], q, now_ms);
        }
    return is_any;
}

static bool ask(struct hl_walk *walk, struct candidate *c, struct hl_question *q, uint64_t now_ms)
{
    bool is_asked = false;
    (void)c;
    for (size_t i = 0; i < walk->lanes_n; i++) {
        if (q->replies[i].state != HL_REPLY_NONE)
            continue;
        hl_question_ask(q, &walk->lanes[i], i, now_ms);
        is_asked = true;
    }
    return is_asked;
}

static bool judge(struct hl_walk *walk, struct candidate *c, struct hl_question *q, uint64_t now_ms)
{
    bool is_last = now_ms >= walk->until_ms;
    struct hl_patience patience = {.now_ms = now_ms, .hold_ms = is_last ? 0 : walk->server_hold_ms};
    (void)c;
    hl_question_judge(
        q, walk->lanes_n, walk->conf.servers_n == 1, walk->lanes_n < walk->lanes_max, patience);
    return q->state != HL_QUESTION_OPEN;
}

static uint64_t lane_due_ms(const struct hl_walk *walk, const struct candidate *c)
{
    return c->begun_ms + walk->lanes_n * walk->next_lane_ms;
}

static bool wants_lane(
    struct hl_walk *walk, struct candidate *c, struct hl_question *q, uint64_t now_ms)
{
    return hl_question_is_idle(q, walk->lanes_n) || now_ms >= lane_due_ms(walk, c);
}

/* False: it was not needed, or there is no memory for it, and then those that are open have to do. */
static bool open_lane(struct hl_walk *walk, uint64_t now_ms)
{
    if (walk->lanes_n == walk->lanes_max || !for_each(walk, now_ms, wants_lane))
        return false;
    size_t server = (walk->first_server + walk->lanes_n) % walk->conf.servers_n;
    if (hl_lane_open(
            &walk->lanes[walk->lanes_n], &walk->conf.servers[server], walk->conf.uses_tcp) == HL_OK)
        walk->lanes_n++;
    else
        walk->lanes_max = walk->lanes_n;
    return true;
}

/* ---- choosing ---- */

enum standing {
    FOUND,
    FOUND_HALF, /* the other family is not heard of yet */
    OPEN,
    NONE,    /* the next one is looked at */
    TROUBLE, /* the rest of the search list is not */
};

/* The server that has given addresses of the one family has answered for the other one too, though with
 * nothing that helps: no other server is waited for. */
static bool is_given_up(const struct hl_question *open, const struct hl_question *found)
{
    return found->state == HL_QUESTION_FOUND && open->replies[found->lane].state == HL_REPLY_BAD;
}

/* A server that fails for one domain may know the next; one that refuses or is silent is not asked for
 * more domains, but for the name itself. */
static enum standing stand(const struct candidate *c)
{
    unsigned found = 0, open = 0, troubled = 0;
    for (size_t i = 0; i < FAMILIES; i++) {
        const struct hl_question *q = &c->questions[i], *other = &c->questions[1 - i];
        found += q->state == HL_QUESTION_FOUND;
        open += q->state == HL_QUESTION_OPEN && !is_given_up(q, other);
        troubled += q->state == HL_QUESTION_REFUSED || q->state == HL_QUESTION_SILENT;
    }
    if (found > 0)
        return open > 0 ? FOUND_HALF : FOUND;
    if (open > 0)
        return OPEN;
    return troubled > 0 ? TROUBLE : NONE;
}

static size_t after_trouble(const struct hl_walk *walk, size_t i)
{
    if (walk->candidates[i].is_as_is && i == 0)
        return 1;
    size_t last = walk->n - 1;
    return walk->candidates[last].is_as_is && i < last ? last : walk->n;
}

struct choice {
    struct candidate *found;
    bool is_over;   /* nothing can be found any more */
    bool has_begun; /* another candidate */
};

static void begin_next(struct hl_walk *walk, uint64_t now_ms, struct choice *choice)
{
    for (size_t i = 0; i < walk->n; i++) {
        if (walk->candidates[i].is_begun)
            continue;
        if (now_ms >= walk->last_begun_ms + walk->next_candidate_ms) {
            begin(walk, &walk->candidates[i], now_ms);
            choice->has_begun = true;
        }
        return;
    }
}

static struct choice choose(struct hl_walk *walk, uint64_t now_ms)
{
    struct choice choice = {.is_over = true};
    bool is_last = now_ms >= walk->until_ms;
    for (size_t i = 0; i < walk->n;) {
        struct candidate *c = &walk->candidates[i];
        if (!c->is_begun && !is_last) {
            begin(walk, c, now_ms);
            return (struct choice){.has_begun = true};
        }
        enum standing standing = c->is_begun ? stand(c) : NONE;
        uint64_t hold_ms = standing == FOUND_HALF ? walk->half_hold_ms : walk->hold_ms;
        bool has_waited = is_last || now_ms >= c->begun_ms + hold_ms;
        if (standing == FOUND || (standing == FOUND_HALF && has_waited))
            return (struct choice){.found = c};
        if ((standing == OPEN || standing == FOUND_HALF) && !has_waited) {
            choice.is_over = false;
            begin_next(walk, now_ms, &choice);
            return choice;
        }
        choice.is_over &= standing != OPEN;
        i = standing == NONE ? i + 1 : after_trouble(walk, i);
    }
    choice.is_over |= is_last;
    return choice;
}

/* ---- its end ---- */

static void say_why(const struct hl_walk *walk, struct hl_walk_end *end)
{
    bool has_failed = false, is_silent = false, is_empty = false;
    for (size_t i = 0; i < walk->n * FAMILIES; i++) {
        const struct candidate *c = &walk->candidates[i / FAMILIES];
        enum hl_question_state state = c->questions[i % FAMILIES].state;
        if (!c->is_begun) {
            is_silent |= i == 0; /* there was no time to ask */
            continue;
        }
        has_failed |= state == HL_QUESTION_FAILED || state == HL_QUESTION_REFUSED;
        is_silent |= state == HL_QUESTION_SILENT || state == HL_QUESTION_OPEN;
        is_empty |= state == HL_QUESTION_EMPTY;
    }
    end->is_absent = !has_failed && !is_silent;
    end->why = has_failed  ? "dns_failed"
               : is_silent ? "dns_failed: no name server answers"
               : is_empty  ? "dns_failed: the name has no address"
                           : "dns_failed: there is no such name";
}

static enum hl_walk_state conclude(
    const struct hl_walk *walk, const struct candidate *found, struct hl_walk_end *end)
{
    struct hl_ip all[FAMILIES * HL_QUESTION_ADDRESSES];
    size_t n = 0;
    if (!found) {
        say_why(walk, end);
        return HL_WALK_ENDED;
    }
    /* Of a name with very many, some of each family. */
    for (size_t i = 0; i < FAMILIES; i++) {
        size_t others = found->questions[1 - i].n, half = HL_QUESTION_ADDRESSES / 2;
        size_t most = HL_QUESTION_ADDRESSES - (others < half ? others : half);
        size_t mine = found->questions[i].n < most ? found->questions[i].n : most;
        memcpy(all + n, found->questions[i].addresses, mine * sizeof(*all));
        n += mine;
    }
    hl_order_addresses(all, n);
    memcpy(end->addresses, all, n * sizeof(*all));
    end->n = n;
    return HL_WALK_FOUND;
}

/* ---- name servers that are just being started ---- */

/* Nobody listens at any of them. getaddrinfo gives up then; here there is time left, and a delivery's few
 * attempts would be over before they are back. */
static bool waits_for_servers(struct hl_walk *walk, uint64_t now_ms)
{
    for (size_t i = 0; i < walk->lanes_n; i++)
        if (!walk->lanes[i].is_dead)
            return false;
    if (walk->again_ms == 0)
        walk->again_ms = now_ms + walk->next_lane_ms;
    return walk->lanes_n > 0 && walk->again_ms < walk->again_until_ms;
}

static void begin_again(struct hl_walk *walk)
{
    close_lanes(walk);
    walk->again_ms = 0;
    for (size_t i = 0; i < walk->n; i++) {
        walk->candidates[i].is_begun = false;
        memset(walk->candidates[i].questions, 0, sizeof(walk->candidates[i].questions));
    }
}

static void earlier(uint64_t *due_ms, uint64_t at_ms, uint64_t now_ms)
{
    if (at_ms > now_ms && at_ms < *due_ms)
        *due_ms = at_ms;
}

/* When time alone changes something. */
static uint64_t next_due(const struct hl_walk *walk, uint64_t now_ms)
{
    uint64_t due_ms = walk->until_ms;
    earlier(&due_ms, walk->last_begun_ms + walk->next_candidate_ms, now_ms);
    for (size_t i = 0; i < walk->lanes_n; i++)
        earlier(&due_ms, walk->lanes[i].asked_ms + walk->server_hold_ms, now_ms);
    for (size_t i = 0; i < walk->n; i++) {
        const struct candidate *c = &walk->candidates[i];
        if (!c->is_begun)
            continue;
        earlier(&due_ms, c->begun_ms + walk->hold_ms, now_ms);
        earlier(&due_ms, c->begun_ms + walk->half_hold_ms, now_ms);
        if (walk->lanes_n < walk->lanes_max)
            earlier(&due_ms, lane_due_ms(walk, c), now_ms);
        for (size_t k = 0; k < FAMILIES * walk->lanes_n; k++)
            earlier(&due_ms,
                c->questions[k % FAMILIES].replies[k / FAMILIES].asked_ms + walk->server_hold_ms,
                now_ms);
    }
    return due_ms;
}

enum hl_walk_state hl_walk_step(
    struct hl_walk *walk, uint64_t now_ms, uint64_t *due_ms, struct hl_walk_end *end)
{
    struct choice choice;
    bool has_changed;
    do {
        has_changed = for_each(walk, now_ms, ask);
        for_each(walk, now_ms, judge);
        has_changed |= open_lane(walk, now_ms);
        choice = choose(walk, now_ms);
        has_changed |= choice.has_begun;
        if (choice.is_over && now_ms < walk->until_ms && waits_for_servers(walk, now_ms)) {
            *due_ms = walk->again_ms;
            if (now_ms < walk->again_ms)
                return HL_WALK_ON;
            begin_again(walk);
            has_changed = true;
        } else if (choice.found || choice.is_over) {
            return conclude(walk, choice.found, end);
        }
    } while (has_changed);
    *due_ms = next_due(walk, now_ms);
    return HL_WALK_ON;
}
