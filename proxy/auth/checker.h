/* checker.h - the threads that verify signatures, so that no loop has to, and that make sure the
 * account of a token is known. */
#ifndef HL_AUTH_CHECKER_H
#define HL_AUTH_CHECKER_H

#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>

#include "auth/jwt.h"
#include "auth/key_set.h"
#include "loop/mailbox.h"
#include "loop/slot.h"
#include "loop/thread.h"

struct hl_msg;
struct hl_str;
struct hl_verify_key;

/* ---- one token on its way to a thread that looks at its signature, and back ---- */

enum hl_check_result {
    HL_CHECK_OPEN, /* not looked at; the keys may be others now */
    HL_CHECK_GOOD,
    HL_CHECK_BAD,
    HL_CHECK_UNSURE, /* the signature is right; nobody could say whether its account is good */
};

/* One allocation. A message: who has it owns it. */
struct hl_check {
    struct hl_msg msg; /* HL_AUTH_CHECKED */
    struct hl_mailbox *reply_to;
    struct hl_slot_name from;
    enum hl_check_result result;
    uint64_t looked_at; /* of one that is parked: the version of the keys among which it is not */
    /* a reference each: any of them may have signed it */
    struct hl_verify_key *keys[HL_KEYS_TRIED_MAX];
    size_t keys_n;             /* 0: no such key is known */
    struct hl_verify_key *key; /* of `keys`, the one that did: HL_CHECK_GOOD, HL_CHECK_UNSURE */
    struct hl_jwt jwt;         /* owned; read from `token` below */
    size_t token_n;
    char token[];
};

/* Copies the token, takes what `jwt` owns, takes a reference to each of the `n` keys. NULL: out of
 * memory, and `jwt` is still the caller's. */
struct hl_check *hl_check_new(
    struct hl_str token, struct hl_jwt *jwt, struct hl_verify_key *const *keys, size_t n);
void hl_check_free(struct hl_check *check); /* NULL-safe */
/* Sends it back; it is gone. */
void hl_check_answer(struct hl_check *check, enum hl_check_result result);

/* ---- accounts that this process does not know: another one that shares the store may have made
 * them. They are asked for when the signature of a token that names one has been found right, so that
 * nobody else's token costs a question ---- */

#define HL_LOOKUPS_MAX 64 /* questions under way; beyond it nobody can say */

/* Of one thread, which reads `mail` and gives messages of type HL_STORE_LIST_ACCOUNTS to
 * hl_lookup_end. */
struct hl_lookups {
    struct hl_registry *registry;
    struct hl_store *store; /* NULL: what is not in the registry is nowhere */
    struct hl_mailbox *mail;
    size_t n; /* under way: each is answered */
};

/* True: the check is taken, and is answered as GOOD or UNSURE when it is known which; false: its
 * account is known, or it has none. Its signature is right. */
bool hl_lookup_begin(struct hl_lookups *lookups, struct hl_check *check);
/* Takes the message. */
void hl_lookup_end(struct hl_lookups *lookups, struct hl_msg *msg);

#define HL_CHECKER_THREADS 2
#define HL_CHECKER_MAX                                                                             \
    256 /* tokens that wait, about 0.2 s of work with a key each; beyond it 503 */

struct hl_checker_bench {
    struct hl_thread thread;
    struct hl_mailbox mail; /* struct hl_check, and replies to lookups */
    sem_t wake;
    struct hl_lookups lookups;
    struct hl_checker *checker;
    bool is_started, has_wake;
};

struct hl_checker {
    struct hl_registry *registry; /* set before it is started, as is `store` (checker.h) */
    struct hl_store *store;
    struct hl_checker_bench benches[HL_CHECKER_THREADS];
    _Atomic uint32_t waiting;
    _Atomic uint32_t next;
    _Atomic bool stops;
};

/* 0 or an errno value; then hl_checker_stop is still to be called. */
int hl_checker_start(struct hl_checker *checker);
/* Joins the threads; what they had not begun is freed. Harmless when it was never started. */
void hl_checker_stop(struct hl_checker *checker);
/* When nobody posts to it any more. */
void hl_checker_fini(struct hl_checker *checker);

/* Any thread. True: it is taken, and comes back to its `reply_to`. False: too many wait. */
bool hl_checker_submit(struct hl_checker *checker, struct hl_check *check);

#endif
