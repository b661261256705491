/* checker.h - the threads that look at signatures, so that no loop has to, and see to it that the
 * account of a token is known. */
#ifndef HL_AUTH_CHECKER_H
#define HL_AUTH_CHECKER_H

#include <semaphore.h>

#include "auth/lookup.h"
#include "loop/mailbox.h"
#include "loop/thread.h"

struct hl_check;

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
    struct hl_registry *registry; /* set before it is started, as is `store` (lookup.h) */
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
