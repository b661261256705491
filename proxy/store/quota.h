/* quota.h - the limits of whoever calls as this process holds to them: what they are, and what is used of them. One
 * for each service account, and for each subject of tokens from outside where these have limits; shared by all
 * threads: atomics, and no lock.
 *
 * auth/ has them; the store borrows those of accounts with a max_running. */
#ifndef HL_STORE_QUOTA_H
#define HL_STORE_QUOTA_H

#include "base/err.h"
#include "base/id.h"
#include "base/limits.h"
#include "base/list.h"
#include "base/loan.h"
#include "base/permit.h"
#include "base/priority.h"
#include "loop/mailbox.h"

struct hl_key;
struct hl_lender;
struct hl_lender_desk;

/* Who is told that there may be room, once: whoever has asked for a place in vain. */
struct hl_quota_bell {
    struct hl_mailbox *box; /* gets `msg` */
    struct hl_msg msg;
    _Atomic bool is_rung; /* it is on its way; false again by who has taken it */
};

struct hl_quota {
    struct hl_id account;  /* nil: a subject's from outside */
    struct hl_quota *next; /* in a struct hl_quotas */
    bool is_listed;
    bool has_subject;                         /* the store's thread */
    uint64_t subject;                         /* likewise: the account as turns call it */
    _Atomic bool has_limits;                  /* on calls: without them a call looks no further */
    _Atomic uint32_t max_running, max_queued; /* 0: none */
    _Atomic uint64_t rate;                    /* count and window; 0: none */
    _Atomic unsigned max_priority;
    _Atomic uint32_t revision;
    _Atomic uint32_t running;           /* calls and runs inside the app, or on the way there */
    struct hl_quota_bell *_Atomic bell; /* NULL: nobody has asked in vain */
    struct hl_rate_window window;
    /* Where replicas share the limits (lender.h): the rate is borrowed, and `window` means nothing; of max_running
     * as many may be inside as permits are held. NULL: they do not. */
    struct hl_lender *lender;
    struct hl_loan loan;
    struct hl_permits permits;
    struct hl_quota_name {
        _Atomic uint32_t version; /* odd: it is being changed */
        _Atomic uint64_t halves[2];
    } name;               /* whose limits they are, to the lender */
    atomic_bool is_asked; /* `ask` is on its way to the store, or the lender is asked */
    struct hl_msg ask;    /* HL_STORE_BORROW */
    struct hl_quota_borrower {
        bool is_known;           /* by the store; then in a list of its */
        struct hl_list all, due; /* `due`: those that are to ask, or have asked */
        bool wants;
        uint32_t version; /* of the name that the next are about */
        uint32_t window_ms;
        struct hl_loan_book book;
        struct hl_loan_ask ask;
    } borrower; /* the store's thread */
    struct hl_quota_call {
        struct hl_msg msg;    /* HL_STORE_HOLD */
        atomic_bool is_out;   /* it is on its way to the store, or the lender is asked */
        atomic_bool wants;    /* for somebody who found no permit */
        atomic_bool must_say; /* another limit, or whose it is, whatever is being said just now */
    } permits_call;
    struct hl_quota_holder {
        bool is_known; /* by the store; then in a list of its */
        struct hl_list all,
            due;           /* `due`: those that are to speak, wait for an answer, or for others */
        uint32_t version;  /* of the name that was told, */
        struct hl_id name; /* which this is */
        bool is_farewell;  /* what is told is that it holds no more of the name before */
        bool is_for_runs;  /* queued ones want some */
        bool has_queued;   /* some were queued when that was asked last */
        uint32_t reserved; /* places taken for those that the claim under way may bring */
        struct hl_permit_book book;
        struct hl_permit_ask ask;
    } holder; /* the store's thread */
};

/* Those that have, or had, a max_running: the store asks them before it hands out a run. Only grows; any
 * thread reads. */
struct hl_quotas {
    struct hl_quota *_Atomic first;
};
/* One thread at a time. Harmless when it is there. */
void hl_quotas_add(struct hl_quotas *quotas, struct hl_quota *quota);

/* All zero is one that nothing is known of. Limits of an earlier revision change nothing, unless they
 * overrule; one thread at a time. */
void hl_quota_set(struct hl_quota *quota, const struct hl_limits *limits);
/* It is somebody else's from now on, with these limits and nothing used. Whoever is inside is counted on. */
void hl_quota_renew(struct hl_quota *quota, struct hl_limits limits);
/* Rate and max_running are of what the lender has under that name, from now on; nothing for NULL. Before others know of
 * it, or when it has been renewed; one thread at a time. */
void hl_quota_share(struct hl_quota *quota, struct hl_lender *lender, const struct hl_id *name);
/* Whose they are just now. False: that is being changed. `*version`: another one, if it has become somebody else's. */
bool hl_quota_read_name(const struct hl_quota *quota, struct hl_id *name, uint32_t *version);
struct hl_rate hl_quota_rate(const struct hl_quota *quota);
enum hl_priority hl_quota_max_priority(const struct hl_quota *quota);

/* How a limit stands that is in the way of a call. */
struct hl_quota_hit {
    uint32_t max;
    uint32_t window_s; /* RATE; else 0 */
    uint32_t wait_s;   /* RATE: until there is more, rounded up, at least 1; else 0 */
};
/* MAX_RUNNING, MAX_QUEUED or RATE; by CLOCK_MONOTONIC. */
struct hl_quota_hit hl_quota_look(
    const struct hl_quota *quota, enum hl_limit limit, uint64_t now_ms);

static inline bool hl_quota_has_limits(const struct hl_quota *quota)
{
    return quota && atomic_load_explicit(&quota->has_limits, memory_order_relaxed);
}

/* One more inside the app. False: there is no place. Each that was taken is left once, whatever the
 * limits are by then. */
HL_MUST_CHECK bool hl_quota_enter(struct hl_quota *quota);
/* The same; where there is no place `bell` rings as soon as there may be one. */
HL_MUST_CHECK bool hl_quota_enter_or_wait(struct hl_quota *quota, struct hl_quota_bell *bell);
/* Others may have a permit for one more: hl_quota_await. By CLOCK_MONOTONIC. */
bool hl_quota_may_have_more(const struct hl_quota *quota, uint64_t now_ms);
/* How many more may go in, as far as is known here: below 0 where there are too many. */
int64_t hl_quota_room(const struct hl_quota *quota);
void hl_quota_leave(struct hl_quota *quota);

enum hl_quota_count {
    HL_QUOTA_OVER, /* it is too soon */
    HL_QUOTA_COUNTED,
    HL_QUOTA_UNKNOWN, /* the lender has to say so: hl_quota_await, or hl_quota_count_anyway */
};
/* One more call, by CLOCK_MONOTONIC. */
HL_MUST_CHECK enum hl_quota_count hl_quota_count(struct hl_quota *quota, uint64_t now_ms);
/* Where the lender has to say how that limit stands, RATE or MAX_RUNNING: it is asked, and the desk's bell rings when it
 * is to be tried once more. False: it may be tried at once. */
HL_MUST_CHECK bool hl_quota_await(
    struct hl_quota *quota, enum hl_limit limit, struct hl_lender_desk *desk);
/* The same of who does not wait: it counts, and who shares the rate hears of it later. */
void hl_quota_count_anyway(struct hl_quota *quota);
/* It did not count after all. */
void hl_quota_uncount(struct hl_quota *quota, uint64_t now_ms);

/* --- who is blocked by one ----------------------------------------------------------------------- */

/* Subjects whose queued runs may not start for now, because their accounts' quota of calls inside the app is used up.
 * Found out when a run of theirs has its turn, and forgotten when something may have ended; meanwhile others pass. The
 * store's thread owns it. */
struct hl_quota_blocked {
    struct hl_quotas *_Atomic *quotas; /* borrowed; NULL: nobody has any */
    struct hl_quota_bell *bell; /* borrowed: rings when one that is blocked may start again */
    uint64_t *subjects;
    size_t n, cap;
    uint64_t queued[HL_PRIORITIES]; /* of theirs */
};

void hl_quota_blocked_fini(struct hl_quota_blocked *b);
/* All may start again, as far as is known. */
void hl_quota_blocked_forget(struct hl_quota_blocked *b);
bool hl_quota_blocked_has(const struct hl_quota_blocked *b, uint64_t subject);
/* The first of them; NULL: nobody has, or had, a max_running. */
static inline struct hl_quota *hl_quota_blocked_first(struct hl_quotas *quotas)
{
    return quotas ? atomic_load(&quotas->first) : NULL;
}
/* What its account's runs are queued under. `key` hashes subjects. */
uint64_t hl_quota_blocked_subject(struct hl_quota *quota, const struct hl_key *key);
/* The same by any key; the other one is always given that of `key`. */
uint64_t hl_quota_subject_by(const struct hl_quota *quota, const struct hl_key *key);
/* May a run of the subject start? OK: `*place` is where it has a place then, NULL: its account has no such
 * limit. BUSY: it may not, and is blocked now. NOMEM. `key` hashes subjects. */
HL_MUST_CHECK enum hl_err hl_quota_blocked_ask(struct hl_quota_blocked *b, const struct hl_key *key,
    uint64_t subject, struct hl_quota **place);

#endif
