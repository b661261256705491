/* checker.c - the threads that look at signatures.
 * Owns: two threads, the checks that wait.
 * Promise: at most HL_CHECKER_MAX wait; the threads give way to the workers, so that a flood of bad
 * tokens takes the time that nobody else wants.
 * Not here: everything that can be told without the signature (seat.c). */
#include "auth/checker.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <syscall.h>
#include <unistd.h>

#include "auth/claims.h"
#include "auth/registry.h"
#include "auth/seat.h"
#include "auth/verify_key.h"
#include "store/account.h"
#include "store/op.h"
#include "store/operation.h"

/* ---- one token on its way to a thread that looks at its signature, and back ---- */

struct hl_check *hl_check_new(
    struct hl_str token, struct hl_jwt *jwt, struct hl_verify_key *const *keys, size_t n)
{
    struct hl_check *check = calloc(1, sizeof(*check) + token.n);
    if (!check)
        return NULL;
    check->msg.type = HL_AUTH_CHECKED;
    for (size_t i = 0; i < n; i++)
        check->keys[check->keys_n++] = hl_verify_key_hold(keys[i]);
    check->jwt = *jwt;
    check->token_n = token.n;
    memcpy(check->token, token.p, token.n);
    check->jwt.signed_part.p = check->token; /* a token begins with what is signed */
    jwt->claims = NULL;
    return check;
}

void hl_check_free(struct hl_check *check)
{
    if (!check)
        return;
    hl_jwt_fini(&check->jwt);
    for (size_t i = 0; i < check->keys_n; i++)
        hl_verify_key_release(check->keys[i]);
    explicit_bzero(check->token, check->token_n);
    free(check);
}

void hl_check_answer(struct hl_check *check, enum hl_check_result result)
{
    check->result = result;
    hl_mailbox_post(check->reply_to, &check->msg);
}

/* ---- accounts that are not known: what the store says goes into the registry before the check is answered, and an
 * account that is not there is remembered as revoked and is not asked for again ---- */

struct lookup {
    struct hl_list_accounts list;
    struct hl_id account;
    struct hl_check *check;
};

/* Which account is to be asked for. False: none. */
static bool find_unknown(
    const struct hl_lookups *lookups, const struct hl_check *check, struct hl_id *account)
{
    struct hl_claims claims;
    if (!lookups->store || !check->key->is_own ||
        hl_claims_read_own(check->jwt.claims, &claims) != HL_REFUSAL_NONE)
        return false;
    *account = claims.account;
    return !hl_id_is_nil(account) &&
           hl_registry_standing(lookups->registry, account) == HL_ACCOUNT_UNKNOWN;
}

/* The list goes from the newest to the oldest: the one before the next id is this one. */
static struct hl_id id_after(const struct hl_id *id)
{
    struct hl_id next = *id;
    for (size_t i = sizeof(next.b); i-- > 0 && ++next.b[i] == 0;)
        continue;
    return next;
}

bool hl_lookup_begin(struct hl_lookups *lookups, struct hl_check *check)
{
    struct hl_id account;
    if (!find_unknown(lookups, check, &account))
        return false;
    struct lookup *lookup = lookups->n < HL_LOOKUPS_MAX ? calloc(1, sizeof(*lookup)) : NULL;
    if (!lookup) {
        hl_check_answer(check, HL_CHECK_UNSURE);
        return true;
    }
    lookup->account = account;
    lookup->check = check;
    lookup->list = (struct hl_list_accounts){.m.msg.type = HL_STORE_LIST_ACCOUNTS,
        .m.reply_to = lookups->mail,
        .limit = 1,
        .before = id_after(&account)};
    if (hl_store_post(lookups->store, &lookup->list.m) != HL_OK) {
        free(lookup);
        hl_check_answer(check, HL_CHECK_UNSURE);
        return true;
    }
    lookups->n++;
    return true;
}

static bool is_there(const struct lookup *lookup)
{
    const struct hl_list_accounts *list = &lookup->list;
    return list->count == 1 && hl_id_eq(&list->rows[0].id, &lookup->account) &&
           list->rows[0].revoked_ms == 0;
}

void hl_lookup_end(struct hl_lookups *lookups, struct hl_msg *msg)
{
    struct lookup *lookup = HL_CONTAINER_OF(msg, struct lookup, list.m.msg);
    enum hl_err err = lookup->list.m.rc;
    if (!err && is_there(lookup))
        err = hl_registry_admit(lookups->registry, &lookup->account, &lookup->list.rows[0].limits);
    else if (!err)
        hl_registry_revoke(lookups->registry, &lookup->account);
    hl_check_answer(lookup->check, err ? HL_CHECK_UNSURE : HL_CHECK_GOOD);
    hl_operation_clear(&lookup->list.m);
    free(lookup);
    lookups->n--;
}

/* A loop that leaves nothing of a core to others still gives a hundred checks a second at this
 * niceness; at 5 its p99 grew tenfold under a flood (tests/bench/proxy/run.sh flood). */
#define NICENESS 19

static void wake(void *arg)
{
    struct hl_checker_bench *bench = arg;
    sem_post(&bench->wake);
}

static bool find_signer(struct hl_check *check)
{
    for (size_t i = 0; i < check->keys_n && !check->key; i++)
        if (hl_verify(check->keys[i], &check->jwt))
            check->key = check->keys[i];
    return check->key != NULL;
}

static void check_one(struct hl_checker_bench *bench, struct hl_check *check)
{
    atomic_fetch_sub(&bench->checker->waiting, 1);
    if (atomic_load(&bench->checker->stops))
        hl_check_free(check);
    else if (!find_signer(check))
        hl_check_answer(check, HL_CHECK_BAD);
    else if (!hl_lookup_begin(&bench->lookups, check))
        hl_check_answer(check, HL_CHECK_GOOD);
}

static void check_all(struct hl_checker_bench *bench)
{
    struct hl_msg *next;
    for (struct hl_msg *msg = hl_mailbox_take(&bench->mail); msg; msg = next) {
        next = msg->next;
        if (msg->type == HL_STORE_LIST_ACCOUNTS)
            hl_lookup_end(&bench->lookups, msg);
        else
            check_one(bench, HL_CONTAINER_OF(msg, struct hl_check, msg));
    }
}

static void bench_main(void *arg)
{
    struct hl_checker_bench *bench = arg;
    setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICENESS);
    while (!atomic_load(&bench->checker->stops) || bench->lookups.n > 0) {
        sem_wait(&bench->wake); /* EINTR too only means another look */
        check_all(bench);
    }
}

int hl_checker_start(struct hl_checker *checker)
{
    for (unsigned i = 0; i < HL_CHECKER_THREADS; i++) {
        struct hl_checker_bench *bench = &checker->benches[i];
        char name[16] = "auth-0";
        name[5] = (char)('0' + i);
        bench->checker = checker;
        sem_init(&bench->wake, 0, 0);
        hl_mailbox_init(&bench->mail, wake, bench);
        bench->lookups = (struct hl_lookups){
            .registry = checker->registry, .store = checker->store, .mail = &bench->mail};
        bench->has_wake = true;
        int err = hl_thread_start(&bench->thread, name, bench_main, bench);
        if (err)
            return err;
        bench->is_started = true;
    }
    return 0;
}

void hl_checker_stop(struct hl_checker *checker)
{
    atomic_store(&checker->stops, true);
    for (unsigned i = 0; i < HL_CHECKER_THREADS; i++) {
        struct hl_checker_bench *bench = &checker->benches[i];
        if (!bench->is_started)
            continue;
        sem_post(&bench->wake);
        hl_thread_join(&bench->thread);
        check_all(bench);
        bench->is_started = false;
    }
}

void hl_checker_fini(struct hl_checker *checker)
{
    for (unsigned i = 0; i < HL_CHECKER_THREADS; i++)
        if (checker->benches[i].has_wake)
            sem_destroy(&checker->benches[i].wake);
}

bool hl_checker_submit(struct hl_checker *checker, struct hl_check *check)
{
    if (atomic_fetch_add(&checker->waiting, 1) >= HL_CHECKER_MAX) {
        atomic_fetch_sub(&checker->waiting, 1);
        return false;
    }
    unsigned turn = atomic_fetch_add(&checker->next, 1);
    hl_mailbox_post(&checker->benches[turn % HL_CHECKER_THREADS].mail, &check->msg);
    return true;
}
